// The rest of what the command line does, by the public interface.
#include <gtest/gtest.h>
#include <xflow/check.h>
#include <xflow/generate.h>
#include <xflow/model.h>
#include <xflow/profile.h>
#include <xflow/report.h>
#include <xflow/text.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>

#include "tests/api/relu_model.h"

namespace xflow {
namespace {

std::filesystem::path fresh_folder(const char* name) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

TEST(Generate, FindsRules) {
  GenerateOptions options;
  options.operators = {"relu", "transpose"};
  options.max_operators = 2;
  options.out = fresh_folder("generate");
  const auto summary = generate(options);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_GT(summary->graphs, 0U);
  EXPECT_GT(summary->enumerating, Seconds(0));
  EXPECT_GT(summary->proving, Seconds(0));
  EXPECT_TRUE(std::filesystem::exists(options.out + "/generated.rules"));
  const auto job = generator_job(options.out);
  ASSERT_TRUE(job);
  ASSERT_TRUE(*job);
  EXPECT_EQ((*job)->operators, options.operators);
  EXPECT_EQ((*job)->max_operators, 2U);
  EXPECT_FALSE(*generator_job(fresh_folder("no_job")));
}

TEST(Generate, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(generator_preset("vit").error().message, "unknown preset 'vit'; there are cnn, transformer, rnn and all");
  EXPECT_FALSE(generator_preset("cnn")->empty());
  const std::vector<std::string> operators = generator_operators();
  EXPECT_TRUE(std::ranges::is_sorted(operators));
  GenerateOptions options;
  options.jobs = 0;
  EXPECT_EQ(generate(options).error().message, "jobs must be at least 1");
}

// Does every task in this thread, and counts them.
class CountingWorkers final : public GeneratorWorkers {
 public:
  explicit CountingWorkers(const GenerateOptions& options) : worker_(*GeneratorWorker::make(options)) {}
  Result<void> run(const std::vector<std::string>& tasks, const GeneratorTask& /*work*/,
                   const std::function<Result<void>(std::size_t, std::string)>& done) override {
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      XFLOW_TRY(std::string result, worker_.run(tasks[k]));
      XFLOW_CHECK(done(k, std::move(result)));
      ++count;
    }
    return {};
  }
  std::size_t width() const override { return 1; }
  std::size_t count = 0;

 private:
  GeneratorWorker worker_;
};

TEST(Generate, LetsOthersDoTheWork) {
  GenerateOptions options;
  options.operators = {"relu", "transpose"};
  options.max_operators = 2;
  options.out = fresh_folder("generate_alone");
  ASSERT_TRUE(generate(options));
  GenerateOptions shared = options;
  shared.out = fresh_folder("generate_shared");
  CountingWorkers workers(shared);
  const auto summary = generate(shared, &workers);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_GT(workers.count, 0U);
  const auto text = [](const std::string& path) {
    std::ifstream file(path);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  EXPECT_EQ(text(options.out + "/generated.rules"), text(shared.out + "/generated.rules"));
}

std::string written(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(Models, SayWhatTheyHold) {
  const auto info = inspect_model(written(fresh_folder("models") / "m.onnx", relu_model()));
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->ir_version, 8);
  ASSERT_EQ(info->operator_sets.size(), 1U);
  EXPECT_EQ(info->operator_sets[0].domain, "ai.onnx");
  EXPECT_EQ(info->operator_sets[0].version, 13);
  ASSERT_EQ(info->inputs.size(), 1U);
  EXPECT_EQ(info->inputs[0].name, "x");
  EXPECT_EQ(info->nodes, 1U);
  ASSERT_EQ(info->operators.size(), 1U);
  EXPECT_EQ(info->operators[0].first, "Relu");
  EXPECT_TRUE(info->opaque.empty());
  EXPECT_EQ(inspect_model("/nowhere/m.onnx").error().code, ErrorCode::unreadable);
}

TEST(Check, ComparesModels) {
  const std::filesystem::path at = fresh_folder("check");
  const std::string a = written(at / "a.onnx", relu_model());
  std::string other = relu_model();
  other.replace(other.find("Relu"), 4, "Sqrt");
  const std::string b = written(at / "b.onnx", other);
  CheckOptions options;
  options.runs = 2;
  const auto same = check_files(a, a, options);
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_TRUE(same->equal);
  ASSERT_EQ(same->outputs.size(), 1U);
  EXPECT_TRUE(same->outputs[0].agrees);
  EXPECT_EQ(same->outputs[0].error, 0);
  EXPECT_EQ(same->runs.size(), 2U);
  const auto different = check_files(a, b, options);
  ASSERT_TRUE(different) << different.error().text();
  EXPECT_FALSE(different->equal);
  EXPECT_FALSE(different->outputs[0].agrees);
  EXPECT_TRUE(different->difference.starts_with("output 'y' is ")) << different->difference;
  EXPECT_FALSE(different->outputs[0].reason.empty());
}

constexpr std::string_view kProfile =
    "xflow profile 1\ndevice npu\nmodel NPU 7\nlibrary vendor 2.1\nthreads 1\nroofline launch 5000\nroofline bandwidth 400000000000\n"
    "roofline peak float32 10000000000000\n";

TEST(Profile, IsReadMergedAndWritten) {
  const std::filesystem::path at = fresh_folder("profile");
  auto profile = Profile::read(written(at / "npu.xprof", std::string(kProfile)));
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->kernels(), 0U);
  EXPECT_EQ(profile->text(), kProfile);
  Profile copy = *profile;
  EXPECT_EQ(*copy.merge(*profile), 0U);
  EXPECT_EQ(copy.prune({.with_interference = true, .refused = false, .only = ""}), 0U);
  ASSERT_TRUE(copy.write(at / "copy.xprof"));
  EXPECT_EQ(Profile::read(at / "copy.xprof")->text(), kProfile);
  EXPECT_FALSE(profile->describe().empty());
  EXPECT_EQ(copy.add_to_costs("").error().code, ErrorCode::io);
  OptimizeOptions elsewhere;
  elsewhere.device.name = "profile:" + (at / "npu.xprof").string();
  EXPECT_EQ(Profile::of_costs(elsewhere).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Profile::record({at}, elsewhere).error().text(), at.string() + ": no .onnx files in the folder");
}

TEST(Profile, SaysWhereItCannotBeRead) {
  const auto none = Profile::read("/nowhere/cpu.xprof");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::io);
}

TEST(Text, IsMadeSafeForTerminals) {
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\nb\\x1b[31m");
  EXPECT_EQ(printable_lines("a\nb\x1b"), "a\nb\\x1b");
  EXPECT_EQ(printable_json("[\n\"\x7f\"]"), "[\n\"\\u007f\"]");
}

TEST(Errors, OfExceptionsAreSentences) {
  Error error;
  try {
    throw std::bad_alloc();
  } catch (...) {
    error = error_of_exception();
  }
  EXPECT_EQ(error, (Error{ErrorCode::limit, "out of memory", ""}));
}

TEST(Reports, MayNotTakeThePlaceOfTheModel) {
  const std::filesystem::path at = fresh_folder("reports");
  const auto refused = check_report_path(at / "m.onnx", at / "m.onnx", at / "out.onnx", "", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the report would overwrite the model that is read");
  EXPECT_TRUE(check_report_path(at / "report.json", at / "m.onnx", at / "out.onnx", "", {}));
  EXPECT_TRUE(is_standard_output("-"));
  EXPECT_FALSE(is_standard_output(at / "out.onnx"));
}

TEST(InputShapes, AreRead) {
  const auto shape = parse_input_shape("x:1,3,48");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->input, "x");
  EXPECT_EQ(shape->dims, (std::vector<std::int64_t>{1, 3, 48}));
  EXPECT_EQ(parse_input_shape("x").error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace xflow
