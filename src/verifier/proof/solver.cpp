#include "src/verifier/proof/solver.h"

#include <algorithm>
#include <utility>

#include "src/verifier/algebra/piecewise.h"
#include "src/verifier/algebra/ranges.h"
#include "src/verifier/faults.h"
#include "src/verifier/proof/queries.h"

namespace xflow::verifier {

using ir::Poly;
using ir::SymbolId;
using ir::SymbolInfo;
using ir::SymbolKind;
using ops::Atom;
using ops::Condition;
using ops::Relation;

ops::Atom negation(const ops::Atom& atom) {
  switch (atom.relation) {
    case Relation::at_least_zero:
      return {Poly(broken(Fault::solver_negation_off_by_one) ? -2 : -1) - atom.poly, Relation::at_least_zero};
    case Relation::zero:
      return {atom.poly, Relation::not_zero};
    case Relation::not_zero:
      break;
  }
  return {atom.poly, Relation::zero};
}

// Z3 takes long to find models with real products, so a witness is searched first.
constexpr int kAttempts = 12;

Solver::Solver(const ir::Symbols& symbols, std::uint64_t resource_limit, Deadline deadline)
    : symbols_(symbols), resource_limit_(resource_limit), deadline_(std::move(deadline)), witness_(symbols) {}
Solver::~Solver() = default;

void Solver::assume(const Atom& fact) {
  if (broken(Fault::solver_facts_are_lost)) return;
  facts_.push_back(fact);
  if (queries_to_z3_) queries_to_z3_->assume(fact);
}

Queries& Solver::z3() {
  if (!queries_to_z3_) {
    queries_to_z3_ = std::make_unique<Queries>(symbols_, elements_, resource_limit_, deadline_);
    for (const Atom& f : facts_) queries_to_z3_->assume(f);
  }
  return *queries_to_z3_;
}

bool Solver::has_witness(std::span<const Atom> condition, int attempts) {
  if (elements_.empty()) return witness_.exists(facts_, condition, attempts);
  Condition all(condition.begin(), condition.end());
  const Ranges known(symbols_, {facts_, condition});
  for (const Atom& a : condition) {
    for (const SymbolId s : symbols_.all_symbols(a.poly)) {
      const SymbolInfo& info = symbols_.info(s);
      const auto ranges = info.kind == SymbolKind::element ? elements_.find(info.tensor) : elements_.end();
      if (ranges == elements_.end()) continue;
      for (const Ranges::Elements& of_some : ranges->second) {
        const auto range = of_some.at(symbols_, info.arguments);
        const auto holds = [&](const Atom& c) { return known.holds(c); };
        if (!range || !std::all_of(range->conditions.begin(), range->conditions.end(), holds)) continue;
        all.push_back(ops::at_least(Poly(s), range->low));
        all.push_back(ops::less_than(Poly(s), range->end));
      }
    }
  }
  return witness_.exists(facts_, all, attempts);
}

void Solver::note_answers(std::vector<std::size_t>* noted) {
  stop_answers();
  noted_ = noted;
}

void Solver::replay_answers(const std::vector<std::size_t>& noted) {
  stop_answers();
  replayed_ = noted;
}

void Solver::stop_answers() {
  question_ = 0;
  noted_ = nullptr;
  replayed_.reset();
}

// True if bounds from the other atoms make an atom false: a linear combination of the conditions is
// negative.
bool Solver::obviously_contradictory(std::span<const Atom> condition) const {
  const Ranges ranges(symbols_, {facts_, condition});
  return std::any_of(condition.begin(), condition.end(), [&](const Atom& a) {
    const auto negative = [&] { return ranges.at_least_zero(Poly(broken(Fault::solver_zero_is_negative) ? 0 : -1) - a.poly); };
    const auto positive = [&] { return ranges.at_least_zero(a.poly - Poly(broken(Fault::solver_zero_is_positive) ? 0 : 1)); };
    switch (a.relation) {
      case Relation::at_least_zero:
        return negative();
      case Relation::zero:
        return negative() || positive();
      case Relation::not_zero:
        break;
    }
    return ranges.at_least_zero(a.poly) && (ranges.at_least_zero(-a.poly) || broken(Fault::solver_not_zero_is_negative));
  });
}

bool Solver::contradictory(std::span<const Atom> condition, Effort effort) {
  const std::size_t question = question_++;
  if (replayed_ && !std::binary_search(replayed_->begin(), replayed_->end(), question)) return false;
  if (replayed_ && broken(Fault::solver_believes_records)) return true;
  // The answer no is always safe.
  if (has_witness(condition)) return false;
  bool result = obviously_contradictory(condition);
  if (!result) {
    ++queries_;
    result = z3().contradictory(condition, false) ||
             (effort == Effort::full && !has_witness(condition, kAttempts) && z3().contradictory(condition, true));
  }
  if (result && noted_ != nullptr) noted_->push_back(question);
  return result;
}

bool Solver::implies(std::span<const Atom> condition, const Atom& goal, Effort effort) {
  std::vector<Atom> all(condition.begin(), condition.end());
  all.push_back(broken(Fault::solver_goal_is_not_negated) ? goal : negation(goal));
  return contradictory(all, effort);
}

bool Solver::implies_one_of(std::span<const Atom> condition, std::span<const Condition> goals, Effort effort) {
  ++queries_;
  return z3().implies_one_of(condition, goals, false) || (effort == Effort::full && z3().implies_one_of(condition, goals, true));
}

bool Solver::vanishes(std::span<const Atom> condition, std::span<const Indicator> indicators, Effort effort) {
  std::size_t hash = indicators.size();
  const auto mix = [&](std::span<const Atom> list) {
    for (const Atom& a : list) hash = hash * 1000003 + a.poly.hash() * 3 + static_cast<std::size_t>(a.relation);
  };
  mix(condition);
  for (const Indicator& i : indicators) mix(i.condition);
  const auto same = [](std::span<const Atom> a, std::span<const Atom> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Atom& x, const Atom& y) { return x.relation == y.relation && x.poly == y.poly; });
  };
  const bool real = effort == Effort::full;
  std::vector<Vanishing>& known = vanishing_[hash];
  for (const Vanishing& v : known) {
    const bool equal = v.real == real && same(v.condition, condition) &&
                       std::equal(v.indicators.begin(), v.indicators.end(), indicators.begin(), indicators.end(),
                                  [&](const Indicator& x, const Indicator& y) {
                                    return x.coefficient == y.coefficient && same(x.condition, y.condition);
                                  });
    if (equal) return v.answer;
  }
  const bool answer = !differs_at_a_witness(condition, indicators) && vanishes_by_search(condition, indicators, real) &&
                      !broken(Fault::solver_sums_stay_open);
  known.push_back({{condition.begin(), condition.end()}, {indicators.begin(), indicators.end()}, real, answer});
  return answer;
}

bool Solver::differs_at_a_witness(std::span<const Atom> condition, std::span<const Indicator> indicators) {
  for (const Indicator& i : indicators) {
    Condition all(condition.begin(), condition.end());
    all.insert(all.end(), i.condition.begin(), i.condition.end());
    if (!has_witness(all)) continue;
    std::optional<ir::Rational> sum = ir::Rational(0);
    for (const Indicator& j : indicators) {
      const auto holds = witness_.holds(j.condition);
      if (!holds) return false;
      if (*holds && sum) sum = ir::add(*sum, j.coefficient);
    }
    if (!sum) return false;
    if (!(*sum == ir::Rational(0))) return true;
  }
  return false;
}

bool Solver::vanishes_by_search(std::span<const Atom> condition, std::span<const Indicator> indicators, bool full) {
  ++queries_;
  return z3().vanishes(condition, indicators, false) || (full && z3().vanishes(condition, indicators, true));
}

bool Solver::is_zero(std::span<const Atom> condition, std::span<const RealClause> clauses, const RealExpr& value) {
  // The condition is ignored: most of these queries are about one variable.
  if (is_zero_by_cases(value, clauses)) return true;
  ++queries_;
  return z3().is_zero(condition, clauses, value);
}

std::optional<Solver::Model> Solver::model(std::span<const Atom> condition, std::span<const SymbolId> wanted) {
  constexpr std::size_t kUndecided = 2;
  if (z3().undecided_models() >= kUndecided) return std::nullopt;
  ++queries_;
  return z3().model(condition, wanted);
}

}  // namespace xflow::verifier
