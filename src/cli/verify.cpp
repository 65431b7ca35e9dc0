#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "src/cli/command.h"
#include "src/cli/duration_text.h"
#include "src/cli/rule_arguments.h"
#include "src/rules/rule_set.h"
#include "src/verifier/checker/records.h"
#include "src/verifier/checker/replay.h"
#include "src/verifier/counterexample/explain_rule.h"
#include "src/verifier/guards/infer.h"
#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::cli {
namespace {

using verifier::RuleDecision;
using verifier::Verdict;

struct VerifyArguments {
  std::vector<std::string> rules;
  int jobs = 1;
  bool json = false;
  bool explain = false;
  bool infer = false;
  bool no_records = false;
  std::string timeout;
  std::string replay;
  verifier::Options options;
};

// "5s", "500ms", "2m".
Result<std::chrono::duration<double>> read_timeout(std::string_view text) {
  const auto seconds = read_seconds(text);
  if (!seconds || *seconds == 0)
    return fail(ErrorCode::invalid_argument, fmt::format("timeout '{}' is not of the form 5s, 500ms or 2m", text));
  return std::chrono::duration<double>(*seconds);
}

std::vector<std::string> texts(const std::vector<rules::Guard>& guards) {
  std::vector<std::string> list;
  list.reserve(guards.size());
  for (const rules::Guard& g : guards) list.push_back(rules::print(g));
  return list;
}

// What stands behind the time in the line of a rule. `guards`: of its own those that a proved rule needs, those that an unknown one lacks.
std::string reasons(const RuleDecision& d, const std::vector<std::string>& guards) {
  if (d.verdict == Verdict::proved) return guards.empty() ? std::string() : fmt::format("where {}", fmt::join(guards, " and "));
  if (d.decision.counterexample) return d.decision.counterexample->summary();
  const std::string open = d.choice.empty() ? d.decision.open : fmt::format("for {}: {}", d.choice, d.decision.open);
  return guards.empty() ? open : fmt::format("{}; it is proved where {}", open, fmt::join(guards, " and "));
}

std::string summary(const std::vector<RuleDecision>& decisions) {
  const auto count = [&](Verdict v) {
    return std::count_if(decisions.begin(), decisions.end(), [&](const RuleDecision& d) { return d.verdict == v; });
  };
  std::string text = fmt::format("{} of {} rules proved", count(Verdict::proved), decisions.size());
  for (const Verdict v : {Verdict::refuted, Verdict::unknown, Verdict::ill_typed, Verdict::timeout})
    if (count(v) > 0) text += fmt::format(", {} {}", count(v), verifier::name(v));
  return text;
}

nlohmann::ordered_json to_json(const verifier::Counterexample& c) {
  nlohmann::ordered_json json;
  json["text"] = c.to_string();
  json["choice"] = c.choice;
  json["integers"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : c.integers) json["integers"][name] = value;
  json["tensors"] = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < c.tensors.size(); ++k) {
    nlohmann::ordered_json tensor{{"name", c.tensors[k].first}};
    if (k < c.shapes.size()) tensor["shape"] = c.shapes[k];
    tensor["value"] = c.tensors[k].second;
    json["tensors"].push_back(tensor);
  }
  json["output"] = c.output_name;
  json["index"] = c.index;
  json["source"] = c.source_value;
  json["target"] = c.target_value;
  return json;
}

nlohmann::ordered_json to_json(const rules::Rule& rule, const RuleDecision& d, const std::vector<std::string>& guards) {
  nlohmann::ordered_json json;
  json["rule"] = rule.name;
  json["place"] = rules::place_text(rule.file, rule.place);
  json["hash"] = rule.hash.to_string();
  json["verdict"] = verifier::name(d.verdict);
  json["microseconds"] = d.microseconds;
  json["instances"] = d.instances;
  json["numbers"] = rules::name(rule.float_class);
  json["number_effects"] = rule.number_effects;
  json["guards"] = texts(rule.guards);
  json["needed_guards"] = d.verdict == Verdict::proved ? guards : std::vector<std::string>();
  json["missing_guards"] = d.verdict == Verdict::unknown ? guards : std::vector<std::string>();
  json["choice"] = d.choice;
  json["open"] = d.decision.open;
  json["counterexample"] = d.decision.counterexample ? to_json(*d.decision.counterexample) : nlohmann::ordered_json();
  return json;
}

// Replays the record of a proof where there is one that is accepted, decides otherwise.
RuleDecision decide_one(const rules::Rule& rule, const verifier::RuleRecord* record, const verifier::Options& options) {
  if (record != nullptr) {
    const auto start = std::chrono::steady_clock::now();
    if (verifier::replay(rule, *record, options)) {
      RuleDecision replayed;
      replayed.rule = rule.name;
      replayed.verdict = replayed.decision.verdict = Verdict::proved;
      replayed.instances = record->instances.size();
      replayed.microseconds = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count());
      return replayed;
    }
  }
  return verifier::decide(rule, options);
}

// In the order of the rules; what was found does not depend on the number of threads.
std::vector<RuleDecision> decisions_of(const VerifyArguments& a, const SelectedRules& selected,
                                       std::vector<std::vector<std::string>>& guards) {
  const std::vector<rules::Rule>& rules = selected.rules;
  std::vector<RuleDecision> decisions(rules.size());
  guards.resize(rules.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t k = next++; k < rules.size(); k = next++) {
      const verifier::Options options = a.options.started();
      decisions[k] = decide_one(rules[k], selected.records.find(rules[k].hash), options);
      if (decisions[k].verdict == Verdict::proved) guards[k] = texts(verifier::needed_guards(rules[k], options));
      if (decisions[k].verdict == Verdict::unknown) guards[k] = texts(verifier::missing_value_guards(rules[k], options));
    }
  };
  std::vector<std::thread> threads;
  for (int k = 1; k < a.jobs; ++k) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  return decisions;
}

ExitCode decide_all(const VerifyArguments& a, const SelectedRules& selected) {
  const std::vector<rules::Rule>& rules = selected.rules;
  std::vector<std::vector<std::string>> all_guards;
  const std::vector<RuleDecision> decisions = decisions_of(a, selected, all_guards);
  nlohmann::ordered_json json;
  json["rules"] = nlohmann::ordered_json::array();
  bool all_proved = true;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const RuleDecision& d = decisions[k];
    all_proved = all_proved && d.verdict == Verdict::proved;
    const std::vector<std::string>& guards = all_guards[k];
    if (a.json) {
      json["rules"].push_back(to_json(rules[k], d, guards));
      continue;
    }
    std::string line = fmt::format("  {:<44} {:<9} {:>7.1f} ms  {:<8}  {}", d.rule, verifier::name(d.verdict),
                                   static_cast<double>(d.microseconds) / 1000, rules::name(rules[k].float_class), reasons(d, guards));
    line.erase(line.find_last_not_of(' ') + 1);
    print(line + "\n");
    if (d.decision.counterexample) print(fmt::format("    replay: {}\n", d.decision.counterexample->to_string()));
  }
  json["summary"] = summary(decisions);
  print((a.json ? json.dump(2) : summary(decisions)) + "\n");
  return all_proved ? ExitCode::done : ExitCode::negative;
}

// The one rule that was asked for.
Result<rules::Rule> only(std::vector<rules::Rule> rules, std::string_view option) {
  if (rules.size() == 1) return std::move(rules.front());
  return fail(ErrorCode::invalid_argument, fmt::format("{} takes one rule, found {}; give its name", option, rules.size()));
}

ExitCode replay_one(const VerifyArguments& a, const rules::Rule& rule) {
  std::string text = a.replay;
  std::error_code error;
  if (std::filesystem::is_regular_file(text, error)) {
    const auto content = rules::read_rule_file(text);
    if (!content) return report(content.error());
    text = *content;
  }
  const auto replayed = verifier::replay_counterexample(rule, text);
  if (!replayed) return report(replayed.error());
  print(fmt::format("{}: {}\n", rule.name, replayed->text));
  return replayed->different ? ExitCode::negative : ExitCode::done;
}

ExitCode infer_one(const VerifyArguments& a, const rules::Rule& rule) {
  const auto inference = verifier::infer_guards(rule, a.options);
  if (!inference) return report(inference.error());
  print(fmt::format("{}: {}", rule.name, verifier::to_string(*inference)));
  if (inference->proved) print(rules::print(inference->rule));
  return inference->proved ? ExitCode::done : ExitCode::negative;
}

ExitCode run(VerifyArguments& a) {
  a.options.refute_first = true;
  if (!a.timeout.empty()) {
    const auto timeout = read_timeout(a.timeout);
    if (!timeout) return report(timeout.error());
    a.options.timeout = *timeout;
  }
  auto selected = select_rules(a.rules, !a.no_records && a.replay.empty() && !a.explain && !a.infer);
  if (!selected) return report(selected.error());
  if (!a.replay.empty()) {
    const auto rule = only(std::move(selected->rules), "--replay");
    return rule ? replay_one(a, *rule) : report(rule.error());
  }
  if (a.explain) {
    const auto rule = only(std::move(selected->rules), "--explain");
    if (!rule) return report(rule.error());
    const std::string text = verifier::explain_rule(*rule, a.options);
    print(text);
    return text.starts_with(rule->name + ": proved") ? ExitCode::done : ExitCode::negative;
  }
  if (a.infer) {
    const auto rule = only(std::move(selected->rules), "--infer-guards");
    return rule ? infer_one(a, *rule) : report(rule.error());
  }
  return decide_all(a, *selected);
}

}  // namespace

void add_verify(CLI::App& app, Command& command) {
  auto a = std::make_shared<VerifyArguments>();
  CLI::App* sub = app.add_subcommand("verify", "Decide rules for all shapes: proved, refuted by a counterexample, or unknown");
  sub->add_option("RULES", a->rules, "files of rules, folders of *.rules files, or names of rules: of the files, else of shipped ones")
      ->required();
  sub->add_option("--jobs", a->jobs, "rules decided at a time")->capture_default_str()->check(CLI::Range(1, 1024));
  sub->add_flag("--no-records", a->no_records, "decide anew also what has a record of its proof: NAME.proofs beside NAME.rules");
  sub->add_option("--timeout", a->timeout, "stop deciding a rule after this time, as 5s, 500ms or 2m; its verdict is 'timeout'");
  sub->add_flag("--json", a->json, "all that was found, as JSON");
  CLI::Option* explain = sub->add_flag("--explain", a->explain, "of one rule: what both sides compute, why it is equal, what that assumes");
  CLI::Option* infer = sub->add_flag("--infer-guards", a->infer, "of one rule: the weakest guards under which it is proved");
  infer->excludes(explain);
  sub->add_option("--replay", a->replay, "of one rule: evaluate a counterexample, given as text or in a file")
      ->excludes(explain)
      ->excludes(infer);
  sub->footer(examples({"xflow verify my.rules", "xflow verify substitutions --jobs 2", "xflow verify --explain merge-matmuls-sharing-lhs",
                        "xflow verify --explain my-rule my.rules", "xflow verify --replay 'x = 0; z = 1' my-rule my.rules"}));
  sub->callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
