// The calls of the C interface: results, errors, cancellation, progress.
#include "tests/capi/calls.h"

#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

namespace xflow {
namespace {

// 100 states, and the predicted time decides.
Owned<xflow_options> few_states() {
  Owned<xflow_options> options(xflow_options_new());
  EXPECT_EQ(xflow_options_set_device(options.get(), "cpu", nullptr), XFLOW_STATUS_OK);
  EXPECT_EQ(xflow_options_set_max_states(options.get(), 100, nullptr), XFLOW_STATUS_OK);
  EXPECT_EQ(xflow_options_set_gate(options.get(), false, nullptr), XFLOW_STATUS_OK);
  return options;
}

std::string written(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

// A text of a handle.
template <typename Handle>
std::string text_of(const Handle* handle, xflow_status (*format)(const Handle*, xflow_buffer**, xflow_error**)) {
  const auto text = returned<xflow_buffer>([&](auto to, auto error) { return format(handle, to, error); });
  EXPECT_EQ(text.status, XFLOW_STATUS_OK) << text.text();
  EXPECT_EQ(format(handle, nullptr, nullptr), XFLOW_STATUS_OK) << "the text is not wanted";
  return string_of(text.value.get());
}

TEST(COptimize, GivesAFasterModelAndAReport) {
  const std::string model = erf_model();
  const auto options = few_states();
  const Owned<xflow_context> context(xflow_context_new());
  Owned<xflow_report> report;
  const auto result = returned<xflow_buffer>([&](auto to, auto error) {
    xflow_report* stored = nullptr;
    const auto status = xflow_optimize(context.get(), model.data(), model.size(), options.get(), to, &stored, error);
    report.reset(stored);
    return status;
  });
  ASSERT_EQ(result.status, XFLOW_STATUS_OK) << result.text();
  EXPECT_NE(string_of(result.value.get()), model);
  EXPECT_TRUE(xflow_report_improved(report.get()));
  EXPECT_STREQ(xflow_report_reason(report.get()), "");
  EXPECT_EQ(std::string(xflow_report_device(report.get())).substr(0, 3), "cpu");
  EXPECT_EQ(xflow_report_nodes_before(report.get()), 3U);
  EXPECT_LT(xflow_report_nodes_after(report.get()), 3U);
  EXPECT_GT(xflow_report_nanoseconds_before(report.get()), xflow_report_nanoseconds_after(report.get()));
  EXPECT_GT(xflow_report_states(report.get()), 0U);
  EXPECT_NE(text_of(report.get(), &xflow_report_text).find("result      a cheaper model\n"), std::string::npos);
  const std::string html = text_of(report.get(), &xflow_report_html);
  EXPECT_EQ(html.substr(0, 15), "<!DOCTYPE html>");
  const std::string json = text_of(report.get(), &xflow_report_json);
  const auto parsed = returned<xflow_report>([&](auto to, auto error) { return xflow_report_parse(json.c_str(), to, error); });
  ASSERT_EQ(parsed.status, XFLOW_STATUS_OK) << parsed.text();
  EXPECT_EQ(text_of(parsed.value.get(), &xflow_report_json), json);
  // No result is wanted.
  EXPECT_EQ(xflow_optimize(context.get(), model.data(), model.size(), options.get(), nullptr, nullptr, nullptr), XFLOW_STATUS_OK);
}

// The sizes that a model declares for its first input.
std::vector<std::int64_t> declared_sizes(const std::string& model) {
  std::vector<std::int64_t> sizes;
  const auto document = onnx_io::Document::parse(model);
  EXPECT_TRUE(document);
  if (document)
    for (const onnx_io::Dimension& dim : document->main().inputs[0].type.dims) sizes.push_back(dim.value);
  return sizes;
}

TEST(CFixedShapes, AreThoseOfTheResult) {
  using onnx_io::testing::float_info, onnx_io::testing::node;
  onnx_io::testing::GraphParts parts;
  parts.nodes = {node("Relu", "first", {"x"}, {"a"}), node("Relu", "second", {"a"}, {"y"})};
  parts.inputs = {float_info("x", {-1, 4})};
  parts.outputs = {float_info("y", {-1, 4})};
  const std::string model = onnx_io::testing::model_of(parts);
  const std::int64_t dims[] = {7, 4};
  const auto options = few_states();
  ASSERT_EQ(xflow_options_add_fixed_shape(options.get(), "x", dims, 2, nullptr), XFLOW_STATUS_OK);
  const auto optimized = returned<xflow_buffer>(
      [&](auto to, auto error) { return xflow_optimize(nullptr, model.data(), model.size(), options.get(), to, nullptr, error); });
  ASSERT_EQ(optimized.status, XFLOW_STATUS_OK) << optimized.text();
  EXPECT_EQ(declared_sizes(string_of(optimized.value.get())), (std::vector<std::int64_t>{7, 4}));
  const Owned<xflow_options> simple(xflow_options_new());
  ASSERT_EQ(xflow_options_add_fixed_shape(simple.get(), "x", dims, 2, nullptr), XFLOW_STATUS_OK);
  const auto simplified = returned<xflow_buffer>(
      [&](auto to, auto error) { return xflow_simplify(nullptr, model.data(), model.size(), simple.get(), to, nullptr, error); });
  ASSERT_EQ(simplified.status, XFLOW_STATUS_OK) << simplified.text();
  EXPECT_EQ(declared_sizes(string_of(simplified.value.get())), (std::vector<std::int64_t>{7, 4}));
}

TEST(CFixedShapes, DoNotContradictTheModel) {
  const std::string model = relu_model();
  const std::int64_t dims[] = {3};
  for (const char* const input : {"x", "z"}) {
    const Owned<xflow_options> options(xflow_options_new());
    ASSERT_EQ(xflow_options_add_fixed_shape(options.get(), input, dims, 1, nullptr), XFLOW_STATUS_OK);
    const auto refused = returned<xflow_buffer>(
        [&](auto to, auto error) { return xflow_simplify(nullptr, model.data(), model.size(), options.get(), to, nullptr, error); });
    EXPECT_EQ(refused.status, XFLOW_STATUS_INVALID_ARGUMENT) << input;
    EXPECT_NE(refused.text().find(input), std::string::npos) << refused.text();
  }
}

TEST(COptimize, GivesTheOriginalWithoutAGain) {
  const std::string model = relu_model();
  const auto options = few_states();
  const auto result = returned<xflow_buffer>(
      [&](auto to, auto error) { return xflow_optimize(nullptr, model.data(), model.size(), options.get(), to, nullptr, error); });
  ASSERT_EQ(result.status, XFLOW_STATUS_OK) << result.text();
  EXPECT_EQ(string_of(result.value.get()), model);
}

TEST(COptimize, WritesAFile) {
  const auto at = capi_folder("c_optimize");
  const std::string input = written(at / "m.onnx", erf_model());
  const std::string output = at / "out.onnx";
  const auto options = few_states();
  const auto report = returned<xflow_report>(
      [&](auto to, auto error) { return xflow_optimize_file(nullptr, input.c_str(), output.c_str(), options.get(), to, error); });
  ASSERT_EQ(report.status, XFLOW_STATUS_OK) << report.text();
  EXPECT_TRUE(xflow_report_improved(report.value.get()));
  EXPECT_FALSE(bytes_of(output).empty());
  EXPECT_NE(bytes_of(output), erf_model());
}

TEST(COptimize, SaysWhyItFails) {
  const auto none =
      returned<xflow_report>([](auto to, auto error) { return xflow_optimize(nullptr, "no model", 8, nullptr, nullptr, to, error); });
  EXPECT_EQ(none.status, XFLOW_STATUS_UNREADABLE);
  EXPECT_NE(none.text(), "");
  const std::string output = capi_folder("c_optimize_errors") / "out.onnx";
  const auto nowhere = returned<xflow_report>(
      [&](auto to, auto error) { return xflow_optimize_file(nullptr, "/nowhere/m.onnx", output.c_str(), nullptr, to, error); });
  EXPECT_EQ(nowhere.status, XFLOW_STATUS_UNREADABLE);
  EXPECT_NE(nowhere.text().find("/nowhere/m.onnx"), std::string::npos) << nowhere.text();
  const auto text = returned<xflow_report>([](auto to, auto error) { return xflow_report_parse("{}", to, error); });
  EXPECT_EQ(text.status, XFLOW_STATUS_INVALID_ARGUMENT);

  const std::string model = relu_model();
  const auto fails = [&](const Owned<xflow_options>& options) {
    return returned<xflow_buffer>(
        [&](auto to, auto error) { return xflow_optimize(nullptr, model.data(), model.size(), options.get(), to, nullptr, error); });
  };
  auto options = few_states();
  ASSERT_EQ(xflow_options_set_device(options.get(), "abacus", nullptr), XFLOW_STATUS_OK);
  EXPECT_EQ(fails(options).status, XFLOW_STATUS_UNSUPPORTED);
  options = few_states();
  ASSERT_EQ(xflow_options_set_rules(options.get(), "rule wrong\n  source\n    y = 1 + x\n  target\n    y = x\n", nullptr), XFLOW_STATUS_OK);
  EXPECT_EQ(fails(options).status, XFLOW_STATUS_NOT_PROVED);
}

TEST(CSimplify, GivesASmallerModelAndAReport) {
  const std::string model = erf_model();
  Owned<xflow_simplify_report> report;
  const auto result = returned<xflow_buffer>([&](auto to, auto error) {
    xflow_simplify_report* stored = nullptr;
    const auto status = xflow_simplify(nullptr, model.data(), model.size(), nullptr, to, &stored, error);
    report.reset(stored);
    return status;
  });
  ASSERT_EQ(result.status, XFLOW_STATUS_OK) << result.text();
  EXPECT_LT(xflow_buffer_size(result.value.get()), model.size());
  EXPECT_TRUE(xflow_simplify_report_simplified(report.get()));
  EXPECT_STREQ(xflow_simplify_report_reason(report.get()), "");
  EXPECT_EQ(xflow_simplify_report_nodes_before(report.get()), 3U);
  EXPECT_LT(xflow_simplify_report_nodes_after(report.get()), 3U);
  EXPECT_NE(text_of(report.get(), &xflow_simplify_report_text), "");
  EXPECT_EQ(text_of(report.get(), &xflow_simplify_report_json).substr(0, 1), "{");

  const auto at = capi_folder("c_simplify");
  const std::string input = written(at / "m.onnx", relu_model());
  const std::string output = at / "out.onnx";
  const auto same = returned<xflow_simplify_report>(
      [&](auto to, auto error) { return xflow_simplify_file(nullptr, input.c_str(), output.c_str(), nullptr, to, error); });
  ASSERT_EQ(same.status, XFLOW_STATUS_OK) << same.text();
  EXPECT_FALSE(xflow_simplify_report_simplified(same.value.get()));
  EXPECT_STRNE(xflow_simplify_report_reason(same.value.get()), "");
  EXPECT_EQ(bytes_of(output), relu_model());
}

TEST(CSimplify, SaysWhyItFails) {
  const auto none = returned<xflow_simplify_report>(
      [](auto to, auto error) { return xflow_simplify(nullptr, "no model", 8, nullptr, nullptr, to, error); });
  EXPECT_EQ(none.status, XFLOW_STATUS_UNREADABLE);
  const auto at = capi_folder("c_simplify_errors");
  const std::string input = written(at / "m.onnx", relu_model());
  const auto io = returned<xflow_simplify_report>(
      [&](auto to, auto error) { return xflow_simplify_file(nullptr, input.c_str(), "/nowhere/out.onnx", nullptr, to, error); });
  EXPECT_EQ(io.status, XFLOW_STATUS_IO) << io.text();
  const Owned<xflow_options> options(xflow_options_new());
  ASSERT_EQ(xflow_options_set_numerics(options.get(), XFLOW_NUMERICS_ANY, nullptr), XFLOW_STATUS_OK);
  const std::string model = relu_model();
  const auto any = returned<xflow_buffer>(
      [&](auto to, auto error) { return xflow_simplify(nullptr, model.data(), model.size(), options.get(), to, nullptr, error); });
  EXPECT_EQ(any.text(), "numerics must be exact or rounding, found any");
}

TEST(CCheck, ComparesTwoModels) {
  const auto at = capi_folder("c_check");
  const std::string a = write_relu_model(at / "a.onnx");
  const std::string b = write_relu_model(at / "b.onnx", "Sqrt");
  const auto same =
      returned<xflow_check_report>([&](auto to, auto error) { return xflow_check_files(a.c_str(), a.c_str(), nullptr, to, error); });
  ASSERT_EQ(same.status, XFLOW_STATUS_OK) << same.text();
  EXPECT_TRUE(xflow_check_report_equal(same.value.get()));
  EXPECT_STREQ(xflow_check_report_difference(same.value.get()), "");
  const auto other =
      returned<xflow_check_report>([&](auto to, auto error) { return xflow_check_files(a.c_str(), b.c_str(), nullptr, to, error); });
  ASSERT_EQ(other.status, XFLOW_STATUS_OK) << other.text();
  EXPECT_FALSE(xflow_check_report_equal(other.value.get()));
  EXPECT_STRNE(xflow_check_report_difference(other.value.get()), "");
  EXPECT_NE(text_of(other.value.get(), &xflow_check_report_text).find("y"), std::string::npos);
  const auto none = returned<xflow_check_report>(
      [&](auto to, auto error) { return xflow_check_files(a.c_str(), "/nowhere/b.onnx", nullptr, to, error); });
  EXPECT_EQ(none.status, XFLOW_STATUS_UNREADABLE);
}

TEST(CVerify, DecidesTwoModels) {
  const auto at = capi_folder("c_verify");
  const std::string a = write_relu_model(at / "a.onnx");
  const std::string b = write_relu_model(at / "b.onnx", "Sqrt");
  const auto same =
      returned<xflow_proof>([&](auto to, auto error) { return xflow_verify_files(a.c_str(), a.c_str(), nullptr, to, error); });
  ASSERT_EQ(same.status, XFLOW_STATUS_OK) << same.text();
  EXPECT_EQ(xflow_proof_verdict(same.value.get()), XFLOW_VERDICT_PROVED);
  EXPECT_FALSE(xflow_proof_is_up_to_rounding(same.value.get()));
  EXPECT_STREQ(xflow_proof_difference(same.value.get()), "");
  EXPECT_NE(text_of(same.value.get(), &xflow_proof_text).find("proved"), std::string::npos);
  const auto other =
      returned<xflow_proof>([&](auto to, auto error) { return xflow_verify_files(a.c_str(), b.c_str(), nullptr, to, error); });
  ASSERT_EQ(other.status, XFLOW_STATUS_OK) << other.text();
  EXPECT_EQ(xflow_proof_verdict(other.value.get()), XFLOW_VERDICT_REFUTED);
  EXPECT_STRNE(xflow_proof_difference(other.value.get()), "");
  const auto none =
      returned<xflow_proof>([&](auto to, auto error) { return xflow_verify_files("/nowhere", a.c_str(), nullptr, to, error); });
  EXPECT_EQ(none.status, XFLOW_STATUS_UNREADABLE);
}

constexpr const char* kRules = R"(
rule right
  source
    y = relu(relu(x))
  target
    y = relu(x)

rule wrong
  source
    y = sub(x, z)
  target
    y = sub(z, x)
)";

TEST(CVerify, DecidesRules) {
  const Owned<xflow_context> context(xflow_context_new());
  for (xflow_context* const one : {context.get(), static_cast<xflow_context*>(nullptr)}) {
    const auto decided =
        returned<xflow_decisions>([&](auto to, auto error) { return xflow_verify_rules(one, kRules, nullptr, to, error); });
    ASSERT_EQ(decided.status, XFLOW_STATUS_OK) << decided.text();
    const xflow_decisions* const decisions = decided.value.get();
    ASSERT_EQ(xflow_decisions_size(decisions), 2U);
    EXPECT_STREQ(xflow_decisions_rule(decisions, 0), "right");
    EXPECT_EQ(xflow_decisions_verdict(decisions, 0), XFLOW_VERDICT_PROVED);
    EXPECT_STREQ(xflow_decisions_detail(decisions, 0), "");
    EXPECT_STREQ(xflow_decisions_rule(decisions, 1), "wrong");
    EXPECT_EQ(xflow_decisions_verdict(decisions, 1), XFLOW_VERDICT_REFUTED);
    EXPECT_NE(std::string(xflow_decisions_detail(decisions, 1)).find("x = "), std::string::npos) << xflow_decisions_detail(decisions, 1);
    EXPECT_STREQ(xflow_decisions_rule(decisions, 2), "");
    EXPECT_STREQ(xflow_decisions_detail(decisions, 2), "");
    EXPECT_EQ(xflow_decisions_verdict(decisions, 2), XFLOW_VERDICT_UNKNOWN);
  }
  const auto wrong = returned<xflow_decisions>([](auto to, auto error) { return xflow_verify_rules(nullptr, "rule", nullptr, to, error); });
  EXPECT_EQ(wrong.status, XFLOW_STATUS_SYNTAX);
  const auto shipped = returned<xflow_buffer>([](auto to, auto error) { return xflow_shipped_rules(to, error); });
  ASSERT_EQ(shipped.status, XFLOW_STATUS_OK);
  EXPECT_NE(string_of(shipped.value.get()).find("\nrule merge-matmuls-sharing-lhs\n"), std::string::npos);
}

TEST(CDevices, AreListed) {
  const auto listed = returned<xflow_devices>([](auto to, auto error) { return xflow_devices_list(to, error); });
  ASSERT_EQ(listed.status, XFLOW_STATUS_OK);
  const xflow_devices* const devices = listed.value.get();
  ASSERT_GE(xflow_devices_size(devices), 1U);
  EXPECT_STREQ(xflow_devices_name(devices, 0), "cpu");
  EXPECT_STRNE(xflow_devices_text(devices, 0), "");
  EXPECT_TRUE(xflow_devices_is_usable(devices, 0));
  const std::size_t end = xflow_devices_size(devices);
  EXPECT_STREQ(xflow_devices_name(devices, end), "");
  EXPECT_STREQ(xflow_devices_text(devices, end), "");
  EXPECT_FALSE(xflow_devices_is_usable(devices, end));
}

// What a progress callback saw; it may end the call.
struct Seen {
  std::vector<xflow_phase> phases;
  std::vector<std::string> texts;
  xflow_cancel* stop = nullptr;
};

void see(const xflow_progress* progress, void* user) {
  Seen& seen = *static_cast<Seen*>(user);
  seen.phases.push_back(xflow_progress_phase(progress));
  seen.texts.emplace_back(xflow_progress_text(progress));
  EXPECT_GE(xflow_progress_fraction(progress), 0);
  EXPECT_LE(xflow_progress_fraction(progress), 1);
  EXPECT_GE(xflow_progress_nanoseconds_before(progress), 0);
  EXPECT_GE(xflow_progress_nanoseconds_after(progress), 0);
  EXPECT_LT(xflow_progress_states(progress), 1'000'000U);
  xflow_cancel_stop(seen.stop);
}

TEST(CProgress, IsReported) {
  Seen seen;
  const auto options = few_states();
  ASSERT_EQ(xflow_options_set_progress(options.get(), &see, &seen, nullptr), XFLOW_STATUS_OK);
  const std::string model = erf_model();
  ASSERT_EQ(xflow_optimize(nullptr, model.data(), model.size(), options.get(), nullptr, nullptr, nullptr), XFLOW_STATUS_OK);
  ASSERT_FALSE(seen.phases.empty());
  for (const xflow_phase phase : seen.phases) EXPECT_LE(phase, XFLOW_PHASE_RUNNING);
  for (const std::string& text : seen.texts) EXPECT_NE(text, "");

  Seen checked;
  const Owned<xflow_options> check(xflow_options_new());
  ASSERT_EQ(xflow_options_set_progress(check.get(), &see, &checked, nullptr), XFLOW_STATUS_OK);
  const std::string a = write_relu_model(capi_folder("c_progress") / "a.onnx");
  ASSERT_EQ(xflow_check_files(a.c_str(), a.c_str(), check.get(), nullptr, nullptr), XFLOW_STATUS_OK);
  ASSERT_FALSE(checked.phases.empty());
  EXPECT_EQ(checked.phases.front(), XFLOW_PHASE_RUNNING_A);
  EXPECT_EQ(checked.phases.back(), XFLOW_PHASE_RUNNING_B);
  EXPECT_EQ(checked.texts.back(), "B in float, inputs 1 of 1");
}

TEST(CProgress, MayEndTheCall) {
  const Owned<xflow_cancel> cancel(xflow_cancel_new());
  Seen seen;
  seen.stop = cancel.get();
  const Owned<xflow_options> options(xflow_options_new());
  ASSERT_EQ(xflow_options_set_progress(options.get(), &see, &seen, nullptr), XFLOW_STATUS_OK);
  ASSERT_EQ(xflow_options_set_cancel(options.get(), cancel.get(), nullptr), XFLOW_STATUS_OK);
  const std::string a = write_relu_model(capi_folder("c_progress_stop") / "a.onnx");
  const auto stopped =
      returned<xflow_check_report>([&](auto to, auto error) { return xflow_check_files(a.c_str(), a.c_str(), options.get(), to, error); });
  EXPECT_EQ(stopped.status, XFLOW_STATUS_LIMIT);
  EXPECT_EQ(stopped.text(), "cancelled");
}

// Options with a token that another thread, or nobody yet, has raised.
Owned<xflow_options> with(const xflow_cancel* cancel) {
  Owned<xflow_options> options(xflow_options_new());
  EXPECT_EQ(xflow_options_set_cancel(options.get(), cancel, nullptr), XFLOW_STATUS_OK);
  return options;
}

TEST(CCancel, StopsEveryCall) {
  Owned<xflow_cancel> cancel(xflow_cancel_new());
  const auto options = with(cancel.get());
  std::thread([&] { xflow_cancel_stop(cancel.get()); }).join();
  cancel.reset();  // the options keep its state
  const std::string model = erf_model();
  const std::string a = write_relu_model(capi_folder("c_stop") / "a.onnx");
  const auto stopped = [](const auto& call) {
    xflow_error* error = nullptr;
    EXPECT_EQ(call(&error), XFLOW_STATUS_LIMIT);
    EXPECT_STREQ(xflow_error_text(error), "cancelled");
    xflow_error_free(error);
  };
  const xflow_options* const o = options.get();
  stopped([&](auto error) { return xflow_optimize(nullptr, model.data(), model.size(), o, nullptr, nullptr, error); });
  stopped([&](auto error) { return xflow_optimize_file(nullptr, a.c_str(), (a + ".out").c_str(), o, nullptr, error); });
  EXPECT_FALSE(std::filesystem::exists(a + ".out"));
  stopped([&](auto error) { return xflow_simplify(nullptr, model.data(), model.size(), o, nullptr, nullptr, error); });
  stopped([&](auto error) { return xflow_check_files(a.c_str(), a.c_str(), o, nullptr, error); });
  stopped([&](auto error) { return xflow_verify_files(a.c_str(), a.c_str(), o, nullptr, error); });
  stopped([&](auto error) { return xflow_verify_rules(nullptr, kRules, o, nullptr, error); });
  // Without the token the options are as before.
  ASSERT_EQ(xflow_options_set_cancel(options.get(), nullptr, nullptr), XFLOW_STATUS_OK);
  EXPECT_EQ(xflow_check_files(a.c_str(), a.c_str(), options.get(), nullptr, nullptr), XFLOW_STATUS_OK);
}

TEST(CCancel, FinishGivesTheResultSoFar) {
  const Owned<xflow_cancel> cancel(xflow_cancel_new());
  const auto options = with(cancel.get());
  xflow_cancel_finish(cancel.get());
  const auto decided =
      returned<xflow_decisions>([&](auto to, auto error) { return xflow_verify_rules(nullptr, kRules, options.get(), to, error); });
  ASSERT_EQ(decided.status, XFLOW_STATUS_OK) << decided.text();
  EXPECT_EQ(xflow_decisions_verdict(decided.value.get(), 0), XFLOW_VERDICT_TIMEOUT);
  EXPECT_STREQ(xflow_decisions_detail(decided.value.get(), 0), "cancelled");
  const std::string model = erf_model();
  const auto result = returned<xflow_buffer>(
      [&](auto to, auto error) { return xflow_optimize(nullptr, model.data(), model.size(), options.get(), to, nullptr, error); });
  EXPECT_EQ(result.status, XFLOW_STATUS_OK) << result.text();
}

const xflow_cancel* token_of_the_handler = nullptr;

TEST(CCancel, WorksInASignalHandler) {
  const Owned<xflow_cancel> cancel(xflow_cancel_new());
  token_of_the_handler = cancel.get();
  const auto before = std::signal(SIGUSR1, [](int /*signal*/) { xflow_cancel_stop(token_of_the_handler); });
  const auto options = with(cancel.get());
  ASSERT_EQ(xflow_options_set_progress(
                options.get(), [](const xflow_progress*, void*) { std::raise(SIGUSR1); }, nullptr, nullptr),
            XFLOW_STATUS_OK);
  const std::string a = write_relu_model(capi_folder("c_signal") / "a.onnx");
  const auto stopped =
      returned<xflow_check_report>([&](auto to, auto error) { return xflow_check_files(a.c_str(), a.c_str(), options.get(), to, error); });
  std::signal(SIGUSR1, before);
  token_of_the_handler = nullptr;
  EXPECT_EQ(stopped.text(), "cancelled");
}

TEST(CWarnings, ReachTheCallback) {
  std::vector<std::string> lines;
  const auto options = few_states();
  const auto at = capi_folder("c_warning");
  written(at / "costs", "no database");
  ASSERT_EQ(xflow_options_set_cost_database(options.get(), (at / "costs").c_str(), nullptr), XFLOW_STATUS_OK);
  ASSERT_EQ(xflow_options_set_warning(
                options.get(), [](const char* line, void* user) { static_cast<std::vector<std::string>*>(user)->emplace_back(line); },
                &lines, nullptr),
            XFLOW_STATUS_OK);
  const std::string model = relu_model();
  ASSERT_EQ(xflow_optimize(nullptr, model.data(), model.size(), options.get(), nullptr, nullptr, nullptr), XFLOW_STATUS_OK);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("costs"), std::string::npos) << lines[0];
}

TEST(CThreads, ShareOptionsAndHaveContextsOfTheirOwn) {
  const auto options = few_states();
  const std::string model = erf_model();
  std::vector<std::thread> threads;
  std::vector<std::string> results(3);
  for (std::string& result : results) {
    threads.emplace_back([&] {
      const Owned<xflow_context> context(xflow_context_new());
      xflow_buffer* buffer = nullptr;
      EXPECT_EQ(xflow_optimize(context.get(), model.data(), model.size(), options.get(), &buffer, nullptr, nullptr), XFLOW_STATUS_OK);
      result = string_of(buffer);
      xflow_buffer_free(buffer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_NE(results[0], model);
}

}  // namespace
}  // namespace xflow
