// Setters: what they refuse, and which call has which option.
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include "tests/capi/calls.h"
#include "tests/places.h"

namespace xflow {
namespace {

constexpr std::int64_t kDims[] = {2, 3};
constexpr const char* kRule = "rule relu-twice\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n";
using Setter = std::function<xflow_status(xflow_options*, xflow_error**)>;

// Each option with a value that it accepts.
const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> all = {
      {"add_shape", [](auto o, auto e) { return xflow_options_add_shape(o, "x", kDims, 2, e); }},
      {"add_fixed_shape", [](auto o, auto e) { return xflow_options_add_fixed_shape(o, "x", kDims, 2, e); }},
      {"add_input_file", [](auto o, auto e) { return xflow_options_add_input_file(o, "inputs.npz", e); }},
      {"allow_external", [](auto o, auto e) { return xflow_options_allow_external(o, "weights", e); }},
      {"set_external_data", [](auto o, auto e) { return xflow_options_set_external_data(o, "weights.bin", e); }},
      {"set_search_seconds", [](auto o, auto e) { return xflow_options_set_search_seconds(o, 0.5, e); }},
      {"set_max_states", [](auto o, auto e) { return xflow_options_set_max_states(o, 1, e); }},
      {"set_max_growth", [](auto o, auto e) { return xflow_options_set_max_growth(o, 0, 0, e); }},
      {"set_confidence", [](auto o, auto e) { return xflow_options_set_confidence(o, 0.9, e); }},
      {"set_numerics", [](auto o, auto e) { return xflow_options_set_numerics(o, XFLOW_NUMERICS_EXACT, e); }},
      {"set_rules", [](auto o, auto e) { return xflow_options_set_rules(o, kRule, e); }},
      {"skip_rule", [](auto o, auto e) { return xflow_options_skip_rule(o, "relu-twice", e); }},
      {"set_device", [](auto o, auto e) { return xflow_options_set_device(o, "cpu", e); }},
      {"set_priced_as", [](auto o, auto e) { return xflow_options_set_priced_as(o, "bf16", e); }},
      {"set_threads", [](auto o, auto e) { return xflow_options_set_threads(o, 1024, e); }},
      {"set_runner", [](auto o, auto e) { return xflow_options_set_runner(o, "false", e); }},
      {"set_cost_database", [](auto o, auto e) { return xflow_options_set_cost_database(o, "costs", e); }},
      {"set_gate", [](auto o, auto e) { return xflow_options_set_gate(o, false, e); }},
      {"set_gate_seconds", [](auto o, auto e) { return xflow_options_set_gate_seconds(o, 1, e); }},
      {"set_accept_smaller", [](auto o, auto e) { return xflow_options_set_accept_smaller(o, true, e); }},
      {"set_time_limit", [](auto o, auto e) { return xflow_options_set_time_limit(o, 1, e); }},
      {"set_max_memory", [](auto o, auto e) { return xflow_options_set_max_memory(o, 0, e); }},
      {"set_seed", [](auto o, auto e) { return xflow_options_set_seed(o, 2, e); }},
      {"set_runs", [](auto o, auto e) { return xflow_options_set_runs(o, 1, e); }},
      {"set_jobs", [](auto o, auto e) { return xflow_options_set_jobs(o, 1, e); }},
      {"set_cancel", [](auto o, auto e) { return xflow_options_set_cancel(o, nullptr, e); }},
      {"set_progress", [](auto o, auto e) { return xflow_options_set_progress(o, nullptr, nullptr, e); }},
      {"set_warning", [](auto o, auto e) { return xflow_options_set_warning(o, nullptr, nullptr, e); }},
  };
  return all;
}

TEST(COptions, NeedAHandle) {
  for (const auto& [name, setter] : setters()) {
    EXPECT_EQ(status_of_setter("options is NULL", [&set = setter](auto e) { return set(nullptr, e); }), XFLOW_STATUS_INVALID_ARGUMENT)
        << name;
    const Owned<xflow_options> options(xflow_options_new());
    EXPECT_EQ(status_of_setter("", [&, &set = setter](auto e) { return set(options.get(), e); }), XFLOW_STATUS_OK) << name;
  }
}

TEST(COptions, OfTextHaveACharacter) {
  using TextSetter = xflow_status (*)(xflow_options*, const char*, xflow_error**);
  const std::pair<TextSetter, const char*> texts[] = {
      {&xflow_options_add_input_file, "path"},    {&xflow_options_allow_external, "folder"}, {&xflow_options_set_external_data, "name"},
      {&xflow_options_skip_rule, "name"},         {&xflow_options_set_device, "name"},       {&xflow_options_set_runner, "command"},
      {&xflow_options_set_cost_database, "path"}, {&xflow_options_set_priced_as, "type"},
  };
  const Owned<xflow_options> options(xflow_options_new());
  for (const auto& [setter, argument] : texts) {
    const TextSetter set = setter;
    const auto refused = [&](const std::string& message, const char* text) {
      EXPECT_EQ(status_of_setter(message, [&options, text, set](auto e) { return set(options.get(), text, e); }),
                XFLOW_STATUS_INVALID_ARGUMENT);
    };
    refused(std::string(argument) + " is NULL", nullptr);
    refused(std::string(argument) + " is empty", "");
  }
}

TEST(COptions, AreInTheirRange) {
  const Owned<xflow_options> options(xflow_options_new());
  xflow_options* const o = options.get();
  const auto refused = [](const std::string& message, const auto& call) {
    EXPECT_EQ(status_of_setter(message, call), XFLOW_STATUS_INVALID_ARGUMENT);
  };
  const double inf = std::numeric_limits<double>::infinity();
  using SecondsSetter = xflow_status (*)(xflow_options*, double, xflow_error**);
  for (const SecondsSetter set : {&xflow_options_set_search_seconds, &xflow_options_set_gate_seconds, &xflow_options_set_time_limit}) {
    refused("seconds must be positive and finite, found 0", [&](auto e) { return set(o, 0, e); });
    refused("seconds must be positive and finite, found -1", [&](auto e) { return set(o, -1, e); });
    refused("seconds must be positive and finite, found inf", [&](auto e) { return set(o, inf, e); });
    refused("seconds must be positive and finite, found nan", [&](auto e) { return set(o, std::nan(""), e); });
  }
  refused("states must be at least 1, found 0", [&](auto e) { return xflow_options_set_max_states(o, 0, e); });
  refused("fraction must be at least 0 and finite, found -0.1", [&](auto e) { return xflow_options_set_max_growth(o, -0.1, 0, e); });
  refused("fraction must be at least 0 and finite, found inf", [&](auto e) { return xflow_options_set_max_growth(o, inf, 0, e); });
  refused("probability must be above 0.5 and below 1, found 0.5", [&](auto e) { return xflow_options_set_confidence(o, 0.5, e); });
  refused("probability must be above 0.5 and below 1, found 1", [&](auto e) { return xflow_options_set_confidence(o, 1, e); });
  refused("probability must be above 0.5 and below 1, found nan", [&](auto e) { return xflow_options_set_confidence(o, std::nan(""), e); });
  refused("numerics 3 is none of 0, 1, 2", [&](auto e) { return xflow_options_set_numerics(o, static_cast<xflow_numerics>(3), e); });
  refused("threads must be from 1 to 1024, found 0", [&](auto e) { return xflow_options_set_threads(o, 0, e); });
  refused("threads must be from 1 to 1024, found 1025", [&](auto e) { return xflow_options_set_threads(o, 1025, e); });
  refused("runs must be at least 1, found 0", [&](auto e) { return xflow_options_set_runs(o, 0, e); });
  refused("jobs must be at least 1, found -1", [&](auto e) { return xflow_options_set_jobs(o, -1, e); });
  for (const auto add : {&xflow_options_add_shape, &xflow_options_add_fixed_shape}) {
    refused("input is NULL", [&](auto e) { return add(o, nullptr, kDims, 2, e); });
    refused("dims is NULL", [&](auto e) { return add(o, "x", nullptr, 2, e); });
    const std::int64_t none[] = {2, 0};
    refused("size 0 is not positive", [&](auto e) { return add(o, "x", none, 2, e); });
    EXPECT_EQ(status_of_setter("", [&](auto e) { return add(o, "x", nullptr, 0, e); }), XFLOW_STATUS_OK) << "a scalar";
  }
  refused("text is NULL", [&](auto e) { return xflow_options_set_rules(o, nullptr, e); });
}

TEST(COptions, ThatAreRefusedStayAsTheyWere) {
  const Owned<xflow_options> options(xflow_options_new());
  EXPECT_EQ(xflow_options_set_threads(options.get(), 0, nullptr), XFLOW_STATUS_INVALID_ARGUMENT);
  // No option is set that a simplification lacks.
  const std::string model = relu_model();
  EXPECT_EQ(xflow_simplify(nullptr, model.data(), model.size(), options.get(), nullptr, nullptr, nullptr), XFLOW_STATUS_OK);
}

TEST(COptions, OfRulesAreParsed) {
  const Owned<xflow_options> options(xflow_options_new());
  const auto error_of = [&](const char* text) {
    xflow_error* error = nullptr;
    const xflow_status status = xflow_options_set_rules(options.get(), text, &error);
    std::string found = std::string(xflow_status_name(status)) + " " + xflow_error_where(error);
    xflow_error_free(error);
    return found;
  };
  EXPECT_EQ(error_of("rule a\n  sauce\n"), "syntax rules:2:3");
  EXPECT_EQ(error_of("rule a\n  source\n    y = rely(x)\n  target\n    y = x\n"), "ill_typed rules:3:9");
  EXPECT_EQ(error_of(kRule), "ok ");
}

// The columns of the table in docs/c.md.
const std::map<std::string, std::function<xflow_status(const xflow_options*, xflow_error**)>>& calls() {
  static const std::map<std::string, std::function<xflow_status(const xflow_options*, xflow_error**)>> all = {
      {"optimize", [](auto o, auto e) { return xflow_optimize_file(nullptr, "/nowhere/a", "/nowhere/b", o, nullptr, e); }},
      {"simplify", [](auto o, auto e) { return xflow_simplify_file(nullptr, "/nowhere/a", "/nowhere/b", o, nullptr, e); }},
      {"check_files", [](auto o, auto e) { return xflow_check_files("/nowhere/a", "/nowhere/b", o, nullptr, e); }},
      {"verify_files", [](auto o, auto e) { return xflow_verify_files("/nowhere/a", "/nowhere/b", o, nullptr, e); }},
      {"verify_rules", [](auto o, auto e) { return xflow_verify_rules(nullptr, "rule", o, nullptr, e); }},
  };
  return all;
}

// The rows of that table: an option and the calls that have it.
std::map<std::string, std::string> documented_options() {
  std::ifstream page(places::repository() + "/docs/c.md");
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(page, line);) {
    std::istringstream cells(line);
    std::string before, option, sets, having;
    if (!std::getline(cells, before, '|') || !std::getline(cells, option, '|') || !std::getline(cells, sets, '|') ||
        !std::getline(cells, having, '|'))
      continue;
    const auto begin = option.find('`');
    if (begin != std::string::npos && having != " calls ") rows[option.substr(begin + 1, option.rfind('`') - begin - 1)] = having + " ";
  }
  return rows;
}

TEST(COptions, BelongToTheCallsThatTheirPageNames) {
  const std::map<std::string, std::string> documented = documented_options();
  for (const auto& [option, setter] : setters()) {
    ASSERT_TRUE(documented.contains(option)) << option;
    const std::string& having = documented.at(option);
    const Owned<xflow_options> options(xflow_options_new());
    ASSERT_EQ(setter(options.get(), nullptr), XFLOW_STATUS_OK);
    for (const auto& [call, function] : calls()) {
      xflow_error* error = nullptr;
      EXPECT_NE(function(options.get(), &error), XFLOW_STATUS_OK);
      const bool refused = std::string(xflow_error_text(error)).find(" has no option '") != std::string::npos;
      EXPECT_EQ(refused, having != " all  " && having.find(" " + call) == std::string::npos)
          << option << ", " << call << ": " << xflow_error_text(error);
      xflow_error_free(error);
    }
  }
  EXPECT_EQ(documented.size(), setters().size());
}

TEST(COptions, ThatACallLacksAreNamed) {
  const Owned<xflow_options> options(xflow_options_new());
  ASSERT_EQ(xflow_options_set_gate(options.get(), true, nullptr), XFLOW_STATUS_OK);
  const std::string model = relu_model();
  const auto refused = returned<xflow_buffer>(
      [&](auto result, auto error) { return xflow_simplify(nullptr, model.data(), model.size(), options.get(), result, nullptr, error); });
  EXPECT_EQ(refused.status, XFLOW_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(refused.text(), "xflow_simplify has no option 'gate'");
}

}  // namespace
}  // namespace xflow
