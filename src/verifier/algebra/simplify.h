// Brings expressions to normal form, to a fixpoint and outside in.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/verifier/algebra/algebra.h"
#include "src/verifier/algebra/ranges.h"
#include "src/verifier/proof/solver.h"

namespace xflow::verifier {

// A free output index that has to be written as digits q * high + low, because it is divided by q somewhere.
struct SplitRequest {
  SymbolId index;
  Poly divisor;
};

class Normalizer {
 public:
  // `facts` hold everywhere; the solver has assumed them already. Throws Stop after `step_limit` steps.
  Normalizer(Algebra& algebra, Solver& solver, std::vector<Atom> facts, std::uint64_t step_limit);

  Algebra& algebra() { return algebra_; }
  ir::Symbols& symbols() { return algebra_.symbols(); }
  Solver& solver() { return solver_; }
  // Throws Stop after this time too.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }
  std::uint64_t steps() const { return steps_; }
  void step();

  // The expression as it is wherever `context` holds. Every term of the result has its binders' ranges among its conditions.
  Expression simplify(const Expression& expression, const Condition& context);

  // The same of pieces, of which it does not matter how often a value of the body occurs; those of an empty range go.
  std::vector<Piece> simplify_pieces(const std::vector<Piece>& pieces, const Condition& context);

  // Output indices may be split into digits: simplify notes the first one that would let a division vanish.
  void set_output_indices(std::vector<SymbolId> indices) { output_indices_ = std::move(indices); }
  const std::optional<SplitRequest>& split_request() const { return split_request_; }
  void clear_split_request() { split_request_.reset(); }

  // Replaces the divisions and maxima inside polynomials that the conditions decide. `by` receives symbol -> value.
  void reduce_defined(const std::vector<Poly>& polys, const Condition& known, ir::Symbols::Substitution& by);

 private:
  enum class Step : std::uint8_t { none, changed, empty };

  // One simplification of binders and conditions; `by` is what has to be replaced everywhere in their scope.
  Step scope_step(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& inner, const Condition& context,
                  ir::Symbols::Substitution& by);
  Step tidy_conditions(const std::vector<SymbolId>& binders, Condition& conditions, const Condition& context);
  // `is_final`: a second time it would find nothing.
  Step tidy_all_conditions(const std::vector<SymbolId>& binders, Condition& conditions, const Condition& context, bool& is_final);
  bool eliminate_binder(std::vector<SymbolId>& binders, const Condition& conditions, ir::Symbols::Substitution& by);
  bool split_binder(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& polys, const Condition& known,
                    ir::Symbols::Substitution& by);
  // Two binders that occur as q * high + low alone, with 0 <= low < q, are one binder.
  bool merge_binders(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& inner, const Condition& context,
                     ir::Symbols::Substitution& by);
  // The same for maxima, where it does not matter how often a value occurs: two binders that occur as c * high + low alone, whose values
  // leave no gap, are one binder.
  bool merge_sums(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& inner, const Condition& context,
                  ir::Symbols::Substitution& by);
  bool known_at_least_zero(const Poly& p, const Condition& context);
  // A division floor(a / b) of an element of a tensor with -b <= a < b: the condition a >= 0 decides it.
  std::optional<Atom> wrapped_division(const Term& term, const Condition& context) const;
  // The number of values of a binder that only its own range mentions; nothing where it is not known to be at least 0.
  std::optional<Poly> count(SymbolId binder, const Condition& conditions, const Condition& context) const;
  bool is_empty(const std::vector<SymbolId>& binders, const Condition& conditions, const Condition& context);

  // Rewrites one term into terms that are simpler, appended to `work`, or into a final one, appended to `done`.
  void simplify_term(Term term, const Condition& context, std::vector<Term>& work, std::vector<Term>& done);
  bool replace_unused_binder(Term& term, const Condition& context, std::vector<Term>& work);
  // Where the booleans have their values.
  Expression simplify_factor(const FactorPtr& factor, const Condition& context, KnownBooleans booleans);
  void simplify_piece(Piece piece, const Condition& context, std::vector<Piece>& work, std::vector<Piece>& done);
  // An atom inside the factor that uses none of the factor's own binders.
  std::optional<Atom> liftable(const Factor& factor) const;
  std::vector<Term> combine(std::vector<Term> terms);
  Condition joined(const Condition& a, const Condition& b) const;

  Algebra& algebra_;
  Solver& solver_;
  std::vector<Atom> facts_;
  std::uint64_t steps_ = 0;
  std::uint64_t step_limit_;
  Deadline deadline_;
  int nesting_ = 0;  // of simplify: 1 outside of functions and maxima
  std::vector<SymbolId> output_indices_;
  std::optional<SplitRequest> split_request_;
  struct EmptinessEntry {
    Condition condition;
    bool empty;
  };
  std::unordered_map<std::size_t, std::vector<EmptinessEntry>> emptiness_;
  // Conditions that are tidy in a context, outside of functions and maxima.
  struct Tidied {
    Condition conditions;
    Condition context;
  };
  std::unordered_map<std::size_t, std::vector<Tidied>> tidied_;
};

}  // namespace xflow::verifier
