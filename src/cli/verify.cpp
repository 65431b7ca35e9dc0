#include "xflow/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xflow/text.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "src/cli/command.h"
#include "src/cli/duration_text.h"
#include "src/cli/print_options.h"
#include "src/cli/verify_models.h"

namespace xflow::cli {
namespace {

// A member of so many parts proves the larger ones (docs/proofs.md).
constexpr int kPartsOfProof = 3;

struct VerifyArguments {
  std::vector<std::string> rules;
  bool json = false;
  bool quiet = false;
  bool explain = false;
  bool infer = false;
  bool no_records = false;
  std::string timeout;
  std::string replay;
  VerifyOptions options;
  std::vector<std::string> shapes;  // of two models
  VerifyModelsOptions of_models;
};

// The text after the time in a rule's line: needed guards, counterexample or open case.
std::string reasons(const RuleDecision& d) {
  if (d.verdict == Verdict::proved)
    return d.needed_guards.empty() ? std::string() : fmt::format("where {}", fmt::join(d.needed_guards, " and "));
  if (d.counterexample) return d.counterexample->summary;
  const std::string open = d.choice.empty() ? d.open : fmt::format("for {}: {}", d.choice, d.open);
  return d.missing_guards.empty() ? open : fmt::format("{}; it is proved where {}", open, fmt::join(d.missing_guards, " and "));
}

std::string summary(const std::vector<RuleDecision>& decisions) {
  const auto count = [&](Verdict verdict) { return std::ranges::count(decisions, verdict, &RuleDecision::verdict); };
  std::string text = fmt::format("{} of {} rules proved", count(Verdict::proved), decisions.size());
  for (const Verdict v : {Verdict::refuted, Verdict::unknown, Verdict::ill_typed, Verdict::timeout})
    if (count(v) > 0) text += fmt::format(", {} {}", count(v), to_string(v));
  return text;
}

nlohmann::ordered_json to_json(const Counterexample& c) {
  nlohmann::ordered_json json;
  json["text"] = c.text;
  json["choice"] = c.choice;
  json["integers"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : c.integers) json["integers"][name] = value;
  json["tensors"] = nlohmann::ordered_json::array();
  for (const Counterexample::Tensor& t : c.tensors) {
    nlohmann::ordered_json tensor{{"name", t.name}};
    if (t.shape) tensor["shape"] = *t.shape;
    tensor["value"] = t.value;
    json["tensors"].push_back(tensor);
  }
  json["output"] = c.output;
  json["index"] = c.index;
  json["source"] = c.source_value;
  json["target"] = c.target_value;
  return json;
}

nlohmann::ordered_json to_json(const RuleInfo& rule, const RuleDecision& d) {
  nlohmann::ordered_json json;
  json["rule"] = rule.name;
  json["place"] = rule.place;
  json["hash"] = rule.hash;
  json["verdict"] = to_string(d.verdict);
  json["microseconds"] = std::llround(1e6 * d.time.count());
  json["instances"] = d.instances;
  json["numbers"] = to_string(rule.float_class);
  json["number_effects"] = rule.float_effects;
  json["guards"] = rule.guards;
  if (!rule.family.empty()) json["family"] = rule.family;
  json["needed_guards"] = d.needed_guards;
  json["missing_guards"] = d.missing_guards;
  json["choice"] = d.choice;
  json["open"] = d.open;
  json["counterexample"] = d.counterexample ? to_json(*d.counterexample) : nlohmann::ordered_json();
  return json;
}

// What follows for the family of rule `k`, if it is the last of its members: nothing for other rules.
std::string family_line(const RuleSet& rules, const std::vector<RuleDecision>& decided, std::size_t k) {
  const std::string& family = rules.rule(k).family;
  if (family.empty() || (k + 1 < rules.size() && rules.rule(k + 1).family == family)) return {};
  std::size_t first = k;
  while (first > 0 && rules.rule(first - 1).family == family) --first;
  for (std::size_t member = first; member <= k; ++member)
    if (decided[member].verdict != Verdict::proved) return {};
  // Without a member of three parts nothing follows.
  if (rules.rule(k).family_from + static_cast<int>(k - first) < kPartsOfProof) return {};
  return fmt::format("  {:<44} proved for each number from {}\n", family, rules.rule(k).family_from);
}

ExitCode decide_all(const VerifyArguments& a, const RuleSet& rules) {
  VerifyOptions options = a.options;
  const auto decided = [&] {
    ProgressLine line(a.quiet);
    options.progress = [&](std::size_t done, std::size_t all) { line.show(fmt::format("{} of {} rules decided", done, all)); };
    return verify(rules, options);
  }();
  if (!decided) return report(decided.error());
  nlohmann::ordered_json json;
  json["rules"] = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const RuleDecision& d = (*decided)[k];
    const RuleInfo& rule = rules.rule(k);
    if (a.json) json["rules"].push_back(to_json(rule, d));
    if (a.json || a.quiet) continue;
    std::string line = fmt::format("  {:<44} {:<9} {:>7.1f} ms  {:<8}  {}", d.rule, to_string(d.verdict), 1e3 * d.time.count(),
                                   to_string(rule.float_class), reasons(d));
    line.erase(line.find_last_not_of(' ') + 1);
    print(line + "\n");
    if (d.counterexample) print(fmt::format("    replay: {}\n", d.counterexample->text));
    print(family_line(rules, *decided, k));
  }
  json["summary"] = summary(*decided);
  if (!a.quiet) print((a.json ? printable_json(json.dump(2)) : summary(*decided)) + "\n");
  const bool all_proved = std::ranges::all_of(*decided, [](const RuleDecision& d) { return d.verdict == Verdict::proved; });
  return all_proved ? ExitCode::done : ExitCode::negative;
}

// Returns the argument itself, or the text of the file that it names.
Result<std::string> read_counterexample(const std::string& argument) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(argument, error)) return argument;
  std::ifstream file(argument);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) return fail(ErrorCode::unreadable, "cannot be read", argument);
  return text;
}

ExitCode replay_one(const VerifyArguments& a, const RuleSet& rule) {
  const auto text = read_counterexample(a.replay);
  if (!text) return report(text.error());
  const auto replayed = replay_counterexample(rule, *text);
  if (!replayed) return report(replayed.error());
  print(fmt::format("{}: {}\n", rule.rule(0).name, replayed->text));
  return replayed->different ? ExitCode::negative : ExitCode::done;
}

ExitCode explain_one(const VerifyArguments& a, const RuleSet& rule) {
  const auto explained = explain(rule, a.options);
  if (!explained) return report(explained.error());
  print(explained->text);
  return explained->proved ? ExitCode::done : ExitCode::negative;
}

ExitCode infer_one(const VerifyArguments& a, const RuleSet& rule) {
  const auto inferred = infer_guards(rule, a.options);
  if (!inferred) return report(inferred.error());
  print(inferred->text);
  if (inferred->proved) print(inferred->rule.text());
  return inferred->proved ? ExitCode::done : ExitCode::negative;
}

ExitCode run_two_models(VerifyArguments& a) {
  if (a.explain || a.infer || a.no_records || !a.replay.empty())
    return report({ErrorCode::invalid_argument, "--explain, --infer-guards, --replay and --no-records are for rules, not for models", {}});
  for (const std::string& text : a.shapes) {
    auto shape = parse_input_shape(text);
    if (!shape) return report(shape.error());
    a.of_models.shapes.push_back(*std::move(shape));
  }
  if (a.options.max_time) a.of_models.time_limit = *a.options.max_time;
  return verify_two_models(a.rules[0], a.rules[1], a.of_models, {a.quiet, a.json});
}

ExitCode run(VerifyArguments& a) {
  if (!a.timeout.empty()) {
    a.options.max_time = read_duration(a.timeout);
    if (!a.options.max_time || *a.options.max_time == Seconds(0))
      return report({ErrorCode::invalid_argument, fmt::format("timeout '{}' is not of the form 5s, 500ms or 2m", a.timeout), {}});
  }
  if (are_two_models(a.rules)) return run_two_models(a);
  if (!a.shapes.empty() || !a.of_models.allow_external.empty())
    return report({ErrorCode::invalid_argument, "--shape and --allow-external are for two models, not for rules", {}});
  const char* of_one = !a.replay.empty() ? "--replay" : a.explain ? "--explain" : a.infer ? "--infer-guards" : nullptr;
  const bool ignores_records = a.no_records || of_one != nullptr;
  const auto selected = select_rules(a.rules, ignores_records ? RuleSet::Records::ignored : RuleSet::Records::read);
  if (!selected) return report(selected.error());
  const RuleSet& rules = selected->rules;
  if (of_one == nullptr) return decide_all(a, rules);
  if (rules.size() != 1)
    return report({ErrorCode::invalid_argument, fmt::format("{} takes one rule, found {}; give its name", of_one, rules.size()), {}});
  if (!a.replay.empty()) return replay_one(a, rules);
  return a.explain ? explain_one(a, rules) : infer_one(a, rules);
}

}  // namespace

void add_verify(CLI::App& sub, Command& command) {
  auto a = std::make_shared<VerifyArguments>();
  sub.add_option("RULES", a->rules, "rules: files, folders or names (else shipped ones); or A.onnx B.onnx")->required();
  sub.add_option("--jobs", a->options.jobs, "number of rules decided at a time")->capture_default_str()->check(CLI::Range(1, 1024));
  sub.add_flag("--no-records", a->no_records, "decide all rules again instead of reading NAME.proofs");
  sub.add_option("--timeout", a->timeout, "time limit of a rule, or of two models (default 60s): 5s, 500ms, 2m");
  sub.add_flag("--json", a->json, "print JSON with all details");
  CLI::Option* explain = sub.add_flag("--explain", a->explain, "say what both sides of one rule compute and why they are equal");
  CLI::Option* infer = sub.add_flag("--infer-guards", a->infer, "find the weakest guards under which one rule is proved");
  infer->excludes(explain);
  sub.add_option("--replay", a->replay, "evaluate a counterexample of one rule, given as text or in a file")
      ->excludes(explain)
      ->excludes(infer);
  sub.add_option("--shape", a->shapes, "sizes of a dynamic input of the run: x:1,3,48,192 (repeat for each)")->take_all();
  add_seed(sub, a->of_models.seed, "seed of the inputs of the run");
  add_allow_external(sub, a->of_models.allow_external);
  add_quiet(sub, a->quiet);
  sub.get_option("--quiet")->excludes("--json");
  group(sub, "Decisions", {"--no-records", "--timeout", "--jobs", "--json", "--quiet"});
  group(sub, "One rule", {"--explain", "--infer-guards", "--replay"});
  group(sub, "Two models", {"--shape", "--seed", "--allow-external"});
  sub.footer(examples({"xflow verify my.rules", "xflow verify substitutions --jobs 2", "xflow verify --explain merge-matmuls-sharing-lhs",
                       "xflow verify --explain my-rule my.rules", "xflow verify --replay 'x = 0; z = 1' my-rule my.rules",
                       "xflow verify model.onnx faster.onnx"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
