#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/api/rule_set.h"
#include "src/generator/rules/derived_rules.h"
#include "src/support/exceptions.h"

namespace xflow {
namespace {

generator::DeriveLimits internal(const DeriveLimits& limits) {
  generator::DeriveLimits result;
  result.rounds = limits.rounds;
  result.terms = limits.terms;
  return result;
}

// Replaces x1, x2, ... in a term by the names of the rule's variables.
std::string with_names(const std::string& term, const std::vector<std::string>& names) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string text;
  for (std::size_t k = 0; k < term.size();) {
    std::size_t end = k;
    while (end < term.size() && is_word(term[end])) ++end;
    const std::string word = term.substr(k, end == k ? 1 : end - k);
    const bool is_input =
        word.size() > 1 && word[0] == 'x' && std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '9'; });
    text += is_input ? names[std::stoul(word.substr(1)) - 1] : word;
    k += word.size();
  }
  return text;
}

std::string place_of(const generator::RuleGoal& goal, const generator::Vocabulary& vocabulary) {
  const std::string inputs = goal.inputs_text(vocabulary);
  return goal.choice.empty() ? inputs : fmt::format("{}; {}", goal.choice, inputs);
}

Result<Derivation> derive_one(const RuleSet& goal, const RuleSet& means, const DeriveLimits& limits, bool from_source) {
  if (goal.size() != 1)
    return fail(ErrorCode::invalid_argument, fmt::format("one rule is derived at a time, found {}; give its name", goal.size()));
  // The rule to derive comes first, then the rules that can be used.
  std::vector<rules::Rule> all = goal.state().rules;
  std::ranges::copy_if(means.state().rules, std::back_inserter(all),
                       [&](const rules::Rule& rule) { return rule.hash != all[0].hash && rule.name != all[0].name; });
  if (all.size() == 1) return fail(ErrorCode::invalid_argument, fmt::format("cannot derive '{}': no other rules are given", all[0].name));
  generator::RuleSetDeriver deriver(all);
  if (const Error* error = deriver.not_a_goal(0)) return fail(*error);
  const std::vector<generator::RuleGoal>& goals = deriver.goals(0);
  const generator::RuleDerivation found =
      deriver.derive(0, internal(limits), from_source ? generator::Goal::rewrite : generator::Goal::equal, true);
  Derivation result;
  result.derived = found.derived;
  result.complete = !found.derived && found.answers.back().complete;
  for (const std::size_t rule : found.rules) result.rules.push_back(all[rule].name);
  result.cases.reserve(found.answers.size());
  for (std::size_t k = 0; k < found.answers.size(); ++k) {
    Derivation::Case& one = result.cases.emplace_back();
    one.place = place_of(goals[k], deriver.vocabulary());
    for (const generator::Deriver::Step& step : found.answers[k].steps)
      one.steps.push_back({all[step.rule].name, with_names(step.from, goals[k].names), with_names(step.to, goals[k].names)});
  }
  return result;
}

DerivedCounts counts_of(const std::vector<rules::Rule>& rules, const DeriveLimits& limits, const RuleProgress& progress) {
  DerivedCounts counts;
  generator::RuleSetDeriver deriver(rules);
  for (std::size_t k = 0; k < rules.size(); ++k) {
    if (progress) progress(k + 1, rules.size());
    if (deriver.not_a_goal(k) != nullptr) {
      ++counts.unsupported;
    } else if (deriver.derive(k, internal(limits)).derived) {
      ++counts.derived;
    } else {
      ++counts.not_derived;
    }
  }
  return counts;
}

MinimalRules minimal(const std::vector<rules::Rule>& rules, const DeriveLimits& limits, const RuleProgress& progress) {
  generator::RuleSetDeriver deriver(rules);
  const generator::MinimalRules found = generator::minimize(deriver, rules, internal(limits), progress);
  MinimalRules result;
  std::vector<rules::Rule> kept;
  kept.reserve(found.kept.size());
  for (const std::size_t k : found.kept) kept.push_back(rules[k]);
  result.kept = api::make_rule_set(std::move(kept));
  for (const generator::MinimalRules::Removed& removed : found.removed) {
    MinimalRules::Removed& one = result.removed.emplace_back();
    one.rule = rules[removed.rule].name;
    for (const std::size_t k : removed.by) one.by.push_back(rules[k].name);
  }
  for (const std::size_t k : found.no_goals) result.unsupported.push_back(deriver.not_a_goal(k)->text());
  return result;
}

}  // namespace

Result<Derivation> derive(const RuleSet& goal, const RuleSet& means, const DeriveLimits& limits, bool from_source) {
  return api::guarded<Derivation>([&] { return derive_one(goal, means, limits, from_source); });
}

Result<DerivedCounts> count_derived(const RuleSet& rules, const DeriveLimits& limits, const RuleProgress& progress) {
  return api::guarded<DerivedCounts>([&] { return counts_of(rules.state().rules, limits, progress); });
}

Result<MinimalRules> minimize(const RuleSet& rules, const DeriveLimits& limits, const RuleProgress& progress) {
  return api::guarded<MinimalRules>([&] { return minimal(rules.state().rules, limits, progress); });
}

}  // namespace xflow
