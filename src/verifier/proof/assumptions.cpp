#include "src/verifier/proof/assumptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/rules/instantiate.h"
#include "src/verifier/counterexample/explain.h"
#include "src/verifier/counterexample/refute.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::verifier {

using rules::Guard;

std::vector<std::string> variable_types(const rules::RuleInstance& instance) {
  std::vector<std::string> lines;
  lines.reserve(instance.variables.size());
  for (std::size_t k = 0; k < instance.variables.size(); ++k) {
    lines.push_back(fmt::format("{}: {}", instance.variable_names[k],
                                ir::to_string(instance.arena->symbols(), instance.arena->type(instance.variables[k]))));
  }
  return lines;
}

std::vector<std::string> assumptions(const rules::RuleInstance& instance) {
  const Readable readable(Names{instance.arena->symbols(), instance.variables, instance.variable_names}, {});
  std::vector<std::string> lines;
  lines.reserve(instance.facts.size());
  for (const rules::Fact& f : instance.facts) lines.push_back(fmt::format("{} ({})", readable.condition({f.atom}), f.reason));
  for (const rules::ValueFact& f : instance.value_facts) {
    const auto at = std::find(instance.variables.begin(), instance.variables.end(), f.value) - instance.variables.begin();
    std::string what;
    switch (f.kind) {
      case rules::ValueFact::Kind::nonzero:
        what = "no element is 0";
        break;
      case rules::ValueFact::Kind::positive:
        what = "every element is above 0";
        break;
      case rules::ValueFact::Kind::nonnegative:
        what = "no element is below 0";
        break;
      case rules::ValueFact::Kind::in_range:
        what = fmt::format("every element is at least {} and below {}", readable.poly(f.low), readable.poly(f.end));
        break;
    }
    lines.push_back(fmt::format("{}: {}", instance.variable_names[static_cast<std::size_t>(at)], what));
  }
  return lines;
}

bool is_typical(const rules::RuleInstance& instance) {
  const auto& outputs = instance.source.outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](ir::ValueId v) { return instance.arena->type(v).rank() >= 2; });
}

std::size_t typical_instance(const std::vector<rules::RuleInstance>& instances) {
  for (std::size_t k = 0; k < instances.size(); ++k)
    if (is_typical(instances[k])) return k;
  return instances.empty() ? 0 : instances.size() - 1;
}

Result<rules::Rule> with_guards(const rules::Rule& rule, std::vector<Guard> guards) {
  rules::Rule bare = rule;
  bare.guards = std::move(guards);
  XFLOW_TRY(std::vector<rules::Rule> rules, rules::parse_rules(rules::print(bare), rule.file));
  rules.front().place = rule.place;
  return std::move(rules.front());
}

std::optional<rules::Rule> with_small_ranks(const rules::Rule& rule) {
  std::vector<rules::Guard> guards = rule.guards;
  for (const std::string& name : rule.variables) {
    if (rule.names.at(name) != rules::NameKind::value || rule.declaration(name) != nullptr) continue;
    rules::Guard guard;
    guard.kind = rules::Guard::Kind::at_least;
    guard.arguments.resize(2);
    guard.arguments[0].number = ir::Real(kSmallRank);
    guard.arguments[1].kind = rules::Expression::Kind::call;
    guard.arguments[1].name = "rank";
    guard.arguments[1].arguments.resize(1);
    guard.arguments[1].arguments[0].kind = rules::Expression::Kind::name;
    guard.arguments[1].arguments[0].name = name;
    guards.push_back(std::move(guard));
  }
  if (guards.size() == rule.guards.size()) return std::nullopt;
  auto small = with_guards(rule, std::move(guards));
  if (!small) return std::nullopt;
  small->source = rule.source;  // with the source locations for messages
  small->target = rule.target;
  return *std::move(small);
}

bool enters_proof(const Guard& guard) {
  return guard.kind != Guard::Kind::is_constant && guard.kind != Guard::Kind::is_finite && guard.kind != Guard::Kind::uses_equal;
}

bool is_about_ranks(const Guard& guard) {
  const std::function<bool(const rules::Expression&)> ranks = [&](const rules::Expression& e) {
    if (e.kind == rules::Expression::Kind::number) return true;
    if (e.kind == rules::Expression::Kind::call) return e.name == "rank";
    const bool arithmetic = e.kind == rules::Expression::Kind::add || e.kind == rules::Expression::Kind::subtract ||
                            e.kind == rules::Expression::Kind::multiply || e.kind == rules::Expression::Kind::negate;
    return arithmetic && std::all_of(e.arguments.begin(), e.arguments.end(), ranks);
  };
  return guard.value.empty() && std::all_of(guard.arguments.begin(), guard.arguments.end(), ranks);
}

namespace {

// A guard that limits the number of choices is not tested, because deciding the excluded choices would take
// long.
constexpr std::size_t kChoices = 40;

// True if a few sizes show that a rule is wrong. Avoids a proof attempt.
bool is_obviously_wrong(rules::RuleInstance& instance, const Options& options) {
  constexpr std::size_t kSizes = 3;
  Concrete concrete(instance);
  Sampler sampler(instance, concrete, options.seed, options.z3_rlimit, options.deadline);
  const std::vector<Assignment> sizes = sampler.quick_assignments(kSizes);
  const auto has_no_type = [&](const Assignment& a) {
    return std::any_of(instance.obligations.begin(), instance.obligations.end(),
                       [&](const rules::Fact& o) { return concrete.holds(o.atom, a) == std::optional(false); });
  };
  if (std::any_of(sizes.begin(), sizes.end(), has_no_type)) return true;
  return Refuter(instance, concrete, options).try_all(sizes, Refuter::Purpose::agreement).counterexample.has_value();
}

bool is_proved_quickly(const rules::Rule& rule, Options options) {
  options.shrink = false;
  options.refute_first = true;
  auto instances = rules::instantiate(rule, kChoices, [&] { return is_over(options.deadline); });
  if (!instances) return false;
  for (std::size_t k = 0; k < instances->size(); k += instances->size() / 4 + 1)
    if (is_obviously_wrong((*instances)[k], options)) return false;
  instances->clear();
  return decide(rule, options).verdict == Verdict::proved;
}

}  // namespace

std::vector<Guard> needed_guards(const rules::Rule& rule, const Options& options) {
  std::vector<Guard> guards = rule.guards;
  for (std::size_t k = 0; k < guards.size();) {
    if (is_about_ranks(guards[k])) {
      ++k;
      continue;
    }
    std::vector<Guard> fewer = guards;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
    bool needed = enters_proof(guards[k]);
    if (needed) {
      const auto without = with_guards(rule, fewer);
      needed = !without || !is_proved_quickly(*without, options);
    }
    if (needed) {
      ++k;
    } else {
      guards = std::move(fewer);
    }
  }
  return guards;
}

}  // namespace xflow::verifier
