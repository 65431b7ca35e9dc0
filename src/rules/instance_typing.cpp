#include "src/rules/instance_typing.h"

#include <fmt/format.h>

#include <optional>

namespace xflow::rules {
namespace {

// The size of a broadcast with b, if an equation among the facts gives it.
std::optional<ir::Poly> broadcast_by(const std::vector<Fact>& facts, const ir::Poly& a, const ir::Poly& b) {
  for (const Fact& fact : facts) {
    if (fact.atom.relation != ops::Relation::zero) continue;
    const auto says = [&](const ir::Poly& p) { return fact.atom.poly == p || fact.atom.poly == -p; };
    if (says(a - b)) return a.is_constant() ? a : b;
    if (says(a - 1)) return b;
    if (says(b - 1)) return a;
  }
  return std::nullopt;
}

}  // namespace

Result<void> SourceTyping::require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) {
  XFLOW_CHECK(Typing::require_equal(a, b, what));
  if (!(a == b)) facts.push_back({ops::equal(a, b), fmt::format("typing of {}: {}", where_, what)});
  return {};
}

Result<void> SourceTyping::require_at_least_zero(const ir::Poly& a, std::string_view what) {
  XFLOW_CHECK(Typing::require_at_least_zero(a, what));
  const auto low = symbols().lower_bound(a);
  if (!low || *low < 0) facts.push_back({{a, ops::Relation::at_least_zero}, fmt::format("typing of {}: {}", where_, what)});
  return {};
}

Result<ir::Poly> SourceTyping::broadcast(const ir::Poly& a, const ir::Poly& b) {
  if (a == b || b.is_one()) return a;
  if (a.is_one()) return b;
  if (a.is_constant() && b.is_constant()) return Typing::broadcast(a, b);
  if (const auto known = broadcast_by(assumed_, a, b)) return *known;
  if (refine && refine()) {
    restart = true;
    return fail(ErrorCode::ill_typed, "a guard was used");
  }
  // Cases: the sizes are equal, or one of them is 1. A constant other than 1 cannot be 1.
  std::vector<ir::Poly> cases = {a - b};
  if (!a.is_constant()) cases.push_back(a - 1);
  if (!b.is_constant()) cases.push_back(b - 1);
  const std::size_t chosen =
      choices_.choose(fmt::format("broadcast {} ~ {} in {}", symbols().to_string(a), symbols().to_string(b), where_), cases.size());
  const std::string text = chosen == 0 ? fmt::format("{} = {}", symbols().to_string(a), symbols().to_string(b))
                                       : fmt::format("{} = 1", symbols().to_string(cases[chosen] + 1));
  assumed_.push_back({{cases[chosen], ops::Relation::zero}, fmt::format("choice of broadcasting in {}: {}", where_, text)});
  restart = true;
  return fail(ErrorCode::ill_typed, "an assumption was added");
}

Result<void> TargetTyping::require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) {
  XFLOW_CHECK(Typing::require_equal(a, b, what));
  if (!(a == b)) obligations.push_back({ops::equal(a, b), fmt::format("{} of the target expects {}", where_, what)});
  return {};
}

Result<void> TargetTyping::require_at_least_zero(const ir::Poly& a, std::string_view what) {
  XFLOW_CHECK(Typing::require_at_least_zero(a, what));
  const auto low = symbols().lower_bound(a);
  if (!low || *low < 0) {
    obligations.push_back({{a, ops::Relation::at_least_zero}, fmt::format("{} of the target expects {}", where_, what)});
  }
  return {};
}

Result<ir::Poly> TargetTyping::broadcast(const ir::Poly& a, const ir::Poly& b) {
  if (a == b || b.is_one()) return a;
  if (a.is_one()) return b;
  if (const auto known = broadcast_by(known_, a, b)) return *known;
  XFLOW_CHECK(require_equal(a, b, "dimensions that are equal, or 1"));
  return a.is_constant() ? a : b;
}

}  // namespace xflow::rules
