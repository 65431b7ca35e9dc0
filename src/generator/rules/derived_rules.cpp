#include "src/generator/rules/derived_rules.h"

#include <algorithm>
#include <numeric>

#include "src/generator/rules/rule_directions.h"

namespace xflow::generator {
namespace {

bool holds_for_some_values(const rules::Rule& rule) { return std::any_of(rule.guards.begin(), rule.guards.end(), is_about_values); }

}  // namespace

RuleSetDeriver::RuleSetDeriver(std::span<const rules::Rule> rules, std::size_t goals) : rules_(rules), entries_(rules.size()) {
  for (std::size_t k = 0; k < rules.size(); ++k) {
    entries_[k].goals = goals_of(deriver_.vocabulary(), rules[k], goals);
    if (holds_for_some_values(rules[k])) continue;
    const auto number = deriver_.add(rules[k]);
    if (!number) continue;
    entries_[k].number = *number;
    rule_of_.push_back(k);
  }
}

void RuleSetDeriver::enable(std::size_t rule, bool enabled) {
  entries_[rule].enabled = enabled;
  if (entries_[rule].number) deriver_.enable(*entries_[rule].number, enabled);
}

RuleDerivation RuleSetDeriver::derive(std::size_t rule, const DeriveLimits& limits, Goal goal, bool with_steps) {
  const Entry& entry = entries_[rule];
  if (entry.number) deriver_.enable(*entry.number, false);
  RuleDerivation result = generator::derive(deriver_, *entry.goals, limits, goal, with_steps);
  if (entry.number) deriver_.enable(*entry.number, entry.enabled);
  for (std::size_t& r : result.rules) r = rule_of_[r];
  for (Deriver::Answer& a : result.answers) {
    for (std::size_t& r : a.rules) r = rule_of_[r];
    for (Deriver::Step& s : a.steps) s.rule = rule_of_[s.rule];
  }
  return result;
}

namespace {

std::size_t operations(const rules::Term& term) {
  std::size_t count = term.kind == rules::Term::Kind::application && !term.operands.empty() ? 1 : 0;
  for (const rules::Term& t : term.operands) count += operations(t);
  return count;
}

}  // namespace

std::size_t operations(const std::vector<rules::Statement>& side) {
  return std::accumulate(side.begin(), side.end(), std::size_t{0},
                         [](std::size_t sum, const rules::Statement& s) { return sum + operations(s.term); });
}

MinimalRules minimize(RuleSetDeriver& deriver, std::span<const rules::Rule> rules, const DeriveLimits& limits,
                      const std::function<void(std::size_t, std::size_t)>& progress) {
  std::vector<std::size_t> order(rules.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return operations(rules[a].source) + operations(rules[a].target) < operations(rules[b].source) + operations(rules[b].target);
  });
  std::size_t seen = 0;
  const auto tell = [&] {
    if (progress) progress(++seen, 2 * rules.size());
  };
  MinimalRules result;
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < rules.size(); ++k) deriver.enable(k, false);
  for (const std::size_t k : order) {
    tell();
    if (deriver.not_a_goal(k) == nullptr) {
      RuleDerivation d = deriver.derive(k, limits);
      if (d.derived) {
        result.removed.push_back({k, std::move(d.rules)});
        continue;
      }
    } else {
      result.no_goals.push_back(k);
    }
    deriver.enable(k, true);
    kept.push_back(k);
  }
  for (const std::size_t k : std::vector<std::size_t>(kept.rbegin(), kept.rend())) {
    tell();
    if (deriver.not_a_goal(k) != nullptr) continue;
    deriver.enable(k, false);
    RuleDerivation d = deriver.derive(k, limits);
    bool needed = !d.derived;
    // All rules that it derived must be derived without it.
    std::vector<MinimalRules::Removed> removed = result.removed;
    for (MinimalRules::Removed& r : removed) {
      if (needed || std::find(r.by.begin(), r.by.end(), k) == r.by.end()) continue;
      RuleDerivation other = deriver.derive(r.rule, limits);
      needed = !other.derived;
      r.by = std::move(other.rules);
    }
    if (needed) {
      deriver.enable(k, true);
      continue;
    }
    result.removed = std::move(removed);
    result.removed.push_back({k, std::move(d.rules)});
    kept.erase(std::find(kept.begin(), kept.end(), k));
  }
  std::sort(kept.begin(), kept.end());
  std::sort(result.no_goals.begin(), result.no_goals.end());
  std::sort(result.removed.begin(), result.removed.end(), [](const auto& a, const auto& b) { return a.rule < b.rule; });
  result.kept = std::move(kept);
  return result;
}

}  // namespace xflow::generator
