// Brings expressions to normal form: to a fixpoint, from the outside in.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/verifier/algebra/algebra.h"
#include "src/verifier/algebra/ranges.h"
#include "src/verifier/proof/solver.h"

namespace xflow::verifier {

// A free output index that must be written in digits q * high + low, because an expression divides it by q.
struct SplitRequest {
  SymbolId index;
  Poly divisor;
};

class Normalizer {
 public:
  // `facts` hold everywhere, and the solver must have assumed them. Throws Stop after `step_limit` steps.
  Normalizer(Algebra& algebra, Solver& solver, std::vector<Atom> facts, std::uint64_t step_limit);

  Algebra& algebra() { return algebra_; }
  ir::Symbols& symbols() { return algebra_.symbols(); }
  Solver& solver() { return solver_; }
  // Throws Stop after the deadline, too.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }
  std::uint64_t steps() const { return steps_; }
  void step();

  // Simplifies the expression; the result is equal wherever `context` holds. Every term of the result has
  // the ranges of its binders among its conditions.
  Expression simplify(const Expression& expression, const Condition& context);

  // Simplifies the pieces of a maximum, where it does not matter how often a value of the body occurs.
  // Removes pieces with an empty range.
  std::vector<Piece> simplify_pieces(const std::vector<Piece>& pieces, const Condition& context);

  // Declares output indices that may be split into digits. simplify() records the first split that would
  // eliminate a division.
  void set_output_indices(std::vector<SymbolId> indices) { output_indices_ = std::move(indices); }
  const std::optional<SplitRequest>& split_request() const { return split_request_; }
  void clear_split_request() { split_request_.reset(); }

  // Replaces the divisions and maxima inside polynomials that the conditions decide. `by` receives symbol ->
  // value.
  void reduce_defined(const std::vector<Poly>& polys, const Condition& known, ir::Symbols::Substitution& by);

 private:
  enum class Step : std::uint8_t { none, changed, empty };

  // Makes one simplification of binders and conditions. `by` receives the substitution for everything in
  // their scope.
  Step scope_step(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& inner, const Condition& context,
                  ir::Symbols::Substitution& by);
  Step tidy_conditions(const std::vector<SymbolId>& binders, Condition& conditions, const Condition& context);
  // `is_final`: a second call would find nothing.
  Step tidy_all_conditions(const std::vector<SymbolId>& binders, Condition& conditions, const Condition& context, bool& is_final);
  bool eliminate_binder(std::vector<SymbolId>& binders, const Condition& conditions, ir::Symbols::Substitution& by);
  bool split_binder(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& polys, const Condition& known,
                    ir::Symbols::Substitution& by);
  // Merges two binders that occur only as q * high + low, with 0 <= low < q, into one binder.
  bool merge_binders(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& inner, const Condition& context,
                     ir::Symbols::Substitution& by);
  // Merges two binders of a maximum, where it does not matter how often a value occurs: they occur only as
  // c * high + low, and the values of this sum leave no gap.
  bool merge_sums(std::vector<SymbolId>& binders, Condition& conditions, const std::vector<Poly>& inner, const Condition& context,
                  ir::Symbols::Substitution& by);
  bool known_at_least_zero(const Poly& p, const Condition& context);
  // Finds a division floor(a / b) of an element of a tensor with -b <= a < b, and returns the condition
  // a >= 0, which decides it.
  std::optional<Atom> wrapped_division(const NormalTerm& term, const Condition& context) const;
  // The number of values of a binder that only its own range mentions; nullopt if it is not known to be at
  // least 0.
  std::optional<Poly> count(SymbolId binder, const Condition& conditions, const Condition& context) const;
  bool is_empty(const std::vector<SymbolId>& binders, const Condition& conditions, const Condition& context);

  // Rewrites one term. Simpler terms are appended to `work`, a final term to `done`.
  void simplify_term(NormalTerm term, const Condition& context, std::vector<NormalTerm>& work, std::vector<NormalTerm>& done);
  bool replace_unused_binder(NormalTerm& term, const Condition& context, std::vector<NormalTerm>& work);
  // Simplifies the factor where the booleans have the given values.
  Expression simplify_factor(const FactorPtr& factor, const Condition& context, KnownBooleans booleans);
  void simplify_piece(Piece piece, const Condition& context, std::vector<Piece>& work, std::vector<Piece>& done);
  // Finds an atom inside the factor that mentions none of the factor's own binders.
  std::optional<Atom> liftable(const Factor& factor) const;
  std::vector<NormalTerm> combine(std::vector<NormalTerm> terms);
  Condition joined(const Condition& a, const Condition& b) const;

  Algebra& algebra_;
  Solver& solver_;
  std::vector<Atom> facts_;
  std::uint64_t steps_ = 0;
  std::uint64_t step_limit_;
  Deadline deadline_;
  int nesting_ = 0;  // nesting of simplify(): 1 outside of functions and maxima
  std::vector<SymbolId> output_indices_;
  std::optional<SplitRequest> split_request_;
  struct EmptinessEntry {
    Condition condition;
    bool empty;
  };
  std::unordered_map<std::size_t, std::vector<EmptinessEntry>> emptiness_;
  // Conditions that are known to be tidy in a context, outside of functions and maxima.
  struct Tidied {
    Condition conditions;
    Condition context;
  };
  std::unordered_map<std::size_t, std::vector<Tidied>> tidied_;
};

}  // namespace xflow::verifier
