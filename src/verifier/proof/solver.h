// Decides the integer and real queries that remain after normalisation: by Z3 (queries.h) if no simpler
// method does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/poly.h"
#include "src/ir/rational.h"
#include "src/ops/expr.h"
#include "src/verifier/algebra/ranges.h"
#include "src/verifier/deadline.h"
#include "src/verifier/proof/witness.h"

namespace xflow::verifier {

// coefficient * [condition].
struct Indicator {
  ir::Rational coefficient;
  ops::Condition condition;
};

// A quantifier-free expression over the reals with integer conditions, for the scalar fallback.
struct RealNode;
using RealExpr = std::shared_ptr<const RealNode>;
struct RealNode {
  enum class Kind : std::uint8_t { literal, variable, sum, product, maximum, conditional } kind;
  ir::Rational literal;             // kind literal
  int variable = 0;                 // kind variable: a number chosen by the caller
  ops::Condition condition;         // kind conditional: condition ? arguments[0] : 0
  std::vector<RealExpr> arguments;  // kinds sum, product, maximum, conditional
};

// A fact about the variables of a real query: value REL 0. A clause is a disjunction of facts.
struct RealFact {
  enum class Relation : std::uint8_t { zero, not_zero, positive, at_least_zero } relation;
  RealExpr value;
};
using RealClause = std::vector<RealFact>;  // disjunction

class Queries;

// Quantifier-free integer arithmetic under facts. Products of symbols are first abstracted to integers that,
// if all factors are dimensions, are at least 1 and at least each factor. If that does not decide, some
// queries are repeated with real products. Queries are bounded by resource units; a deadline stops a query
// too, and its answer is then no. An object has one Z3 context and is used by one thread.
class Solver {
 public:
  Solver(const ir::Symbols& symbols, std::uint64_t resource_limit, Deadline deadline = {});
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  // Adds a fact for all later queries.
  void assume(const ops::Atom& fact);
  const std::vector<ops::Atom>& facts() const { return facts_; }

  // Assumes that the elements of an integer tensor are in the range, for all later queries.
  void assume_elements(std::uint32_t tensor, Ranges::Elements range) { elements_[tensor].push_back(std::move(range)); }
  const Ranges::ElementRanges& element_ranges() const { return elements_; }

  enum class Effort : std::uint8_t { linear, full };
  // True only if no integers satisfy the facts and `condition`.
  bool contradictory(std::span<const ops::Atom> condition, Effort effort);
  // True only if `goal` holds wherever the facts and `condition` hold.
  bool implies(std::span<const ops::Atom> condition, const ops::Atom& goal, Effort effort);
  // True only if one of `goals` (conjunctions) holds wherever the facts and `condition` hold.
  bool implies_one_of(std::span<const ops::Atom> condition, std::span<const ops::Condition> goals, Effort effort);
  // True only if the sum of the indicators is 0 wherever the facts and `condition` hold.
  bool vanishes(std::span<const ops::Atom> condition, std::span<const Indicator> indicators, Effort effort);
  // True only if `value` is 0 for all reals and integers that satisfy the facts, `condition` and `clauses`.
  bool is_zero(std::span<const ops::Atom> condition, std::span<const RealClause> clauses, const RealExpr& value);

  // Integers for `wanted` that satisfy the facts and `condition` with real products; nullopt if none are
  // found within the limit.
  using Model = std::map<ir::SymbolId, std::int64_t>;
  // Stops searching for models after a few that are not decided within the limit, because the next would
  // take as long.
  std::optional<Model> model(std::span<const ops::Atom> condition, std::span<const ir::SymbolId> wanted);

  std::uint64_t queries() const { return queries_; }

  // Numbers the queries of `contradictory` and `implies` from 0, starting at this call. `noted` receives the
  // numbers of those that hold. A replay of such a list does not ask the others: a "no" is never wrong, it
  // only proves less.
  void note_answers(std::vector<std::size_t>* noted);
  void replay_answers(const std::vector<std::size_t>& noted);
  void stop_answers();

 private:
  // Made at the first query: most instances of a rule need no query, and a context takes longer to make than
  // a query.
  Queries& z3();

  const ir::Symbols& symbols_;
  std::uint64_t resource_limit_;
  Deadline deadline_;
  std::vector<ops::Atom> facts_;
  Ranges::ElementRanges elements_;
  Witness witness_;
  // Sums of indicators that were queried before: the checker repeats the queries of the search.
  struct Vanishing {
    ops::Condition condition;
    std::vector<Indicator> indicators;
    bool real;
    bool answer;
  };
  std::unordered_map<std::size_t, std::vector<Vanishing>> vanishing_;
  // True if integers were found that satisfy the facts, the condition, and the ranges of the elements that
  // it mentions.
  bool has_witness(std::span<const ops::Atom> condition, int attempts = 1);
  bool vanishes_by_search(std::span<const ops::Atom> condition, std::span<const Indicator> indicators, bool real);
  // True if integers were found for which the sum of the indicators is not 0.
  bool differs_at_a_witness(std::span<const ops::Atom> condition, std::span<const Indicator> indicators);
  std::unique_ptr<Queries> queries_to_z3_;
  bool obviously_contradictory(std::span<const ops::Atom> condition) const;

  std::uint64_t queries_ = 0;
  std::size_t question_ = 0;
  std::vector<std::size_t>* noted_ = nullptr;
  std::optional<std::vector<std::size_t>> replayed_;
};

// The negation of an atom.
ops::Atom negation(const ops::Atom& atom);

}  // namespace xflow::verifier
