// The value of a graph's output as one expression: operator semantics composed through the graph, down to
// reads of variables.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/ir/graph.h"
#include "src/verifier/algebra/algebra.h"

namespace xflow::verifier {

class Composer {
 public:
  // `solved` is substituted in every polynomial; it replaces symbols that the facts determine.
  Composer(Algebra& algebra, ir::Arena& arena, const ir::Symbols::Substitution& solved);

  // The element of `value` at `index`. Throws Stop for anything without a meaning over the reals (opaque
  // nodes, infinite literals outside of maxima).
  Expression element(ir::ValueId value, const std::vector<Poly>& index);

  // Rewrites a branch of a choice to an expression that is equal where its guard, a boolean, is 1.
  // set_branches() discards everything that was composed before.
  using Branch = std::function<Expression(const Expression& branch, const Expression& guard)>;
  void set_branches(Branch branch);

  // Demands (demands.h): what must hold for the element of `value` at `index` to have a value, and for a
  // runtime to compute all nodes of a graph. An index that is in range according to `known` adds no demand.
  // An index or divisor of the source that may have no value says nothing of others: it adds none, nor does
  // the same one in the target.
  using Known = std::function<bool(const Condition& condition, const Atom& atom)>;
  bool has_demands(ir::ValueId value);
  std::vector<Piece> demands(ir::ValueId value, const std::vector<Poly>& index);
  std::vector<Piece> demands_of_nodes(const ir::Graph& graph, const ir::Graph& source, const Known& known);

 private:
  struct Generic {
    std::vector<SymbolId> index;
    Expression expression;
  };
  struct GenericPieces {
    std::vector<SymbolId> index;
    std::vector<Piece> pieces;
  };
  // The node whose semantics is being converted.
  using Scope = const ir::Node&;
  using ExprNode = ops::ExprNode;

  Expression at(ir::ValueId value, const std::vector<Poly>& index);  // always composes it, without generic()
  std::vector<Piece> element_pieces(ir::ValueId value, const std::vector<Poly>& index);
  const Generic& generic(ir::ValueId value);
  const GenericPieces& generic_pieces(ir::ValueId value);
  std::vector<SymbolId> fresh_index(std::size_t rank);
  ops::Expr semantics(ir::ValueId value, const std::vector<Poly>& index);
  Expression leaf(ir::ValueId value, const std::vector<Poly>& index);

  Expression convert(const ops::Expr& e, Scope node);
  Expression convert_sum(const ExprNode& e, Scope node);
  // The sum over a range of constant length, element by element: its binder is a number in each of them, so
  // that conditions on it are decided before products are made.
  Expression unrolled(const ExprNode& e, std::int64_t extent, Scope node);
  Expression convert_apply(const ops::ExprNode& e, Scope node);
  Expression convert_cast(const ops::ExprNode& e, Scope node);
  Expression convert_literal(const ir::Real& value);
  std::vector<Piece> pieces(const ops::Expr& e, Scope node);
  Expression convert_select(const ExprNode& e, Scope node);
  std::vector<Piece> select_pieces(const ExprNode& e, Scope node);
  Poly resolve(const Poly& p, Scope node);
  // Splits index polynomials that mention elements of integer tensors computed by the graph into cases. The
  // cases exclude each other, and one of them holds. One case without conditions if no such tensor is read.
  struct Case {
    Condition condition;
    std::vector<Poly> values;
  };
  std::vector<Case> cases(const std::vector<Poly>& polys, Scope node);
  // The element of an integer value at `index` as index polynomials, case by case; nullopt if it is not
  // known to be one.
  std::optional<std::vector<Case>> element_cases(ir::ValueId value, const std::vector<Poly>& index);
  std::optional<std::vector<Case>> integer_cases(const ops::Expr& e, Scope node);
  std::optional<std::vector<Case>> applied_cases(const ExprNode& e, Scope node);
  // Of the smaller or the larger one of two integers, and of one of two by a comparison of integers.
  std::optional<std::vector<Case>> extreme_cases(const ExprNode& e, Scope node);
  std::optional<std::vector<Case>> chosen_cases(const ExprNode& e, Scope node);
  struct Truth {
    Condition condition;
    bool holds = false;
  };
  // Where a comparison of integers holds, and where not.
  std::optional<std::vector<Truth>> truth_cases(const ops::Expr& e, Scope node);
  // The cases of the polynomials of a condition.
  std::vector<Case> condition_cases(const Condition& condition, Scope node);
  // a < b or a = b of integers, one of which mentions an index, as a sum of conditions; nullopt otherwise.
  std::optional<Expression> compared(const ExprNode& e, Scope node);

  // Where an element is computed: for all binders that satisfy the conditions, if all guards are 1.
  struct Where {
    std::vector<SymbolId> binders;
    Condition conditions;
    std::vector<Expression> guards;
  };
  static std::string_view demand_of_power(const Expression& exponent);
  std::pair<std::string_view, std::size_t> demand_of(const ExprNode& e, Scope node) const;
  std::vector<SymbolId> elements_in(const ExprNode& e) const;
  bool has_demands(const ops::Expr& e, Scope node);
  // True if the expression or value may be a maximum of no numbers.
  bool may_be_of_nothing(const ops::Expr& e, Scope node);
  bool may_be_of_nothing(ir::ValueId value);
  // Adds the number of values that a maximum ranges over to `count`.
  void count_numbers(const ops::Expr& e, Scope node, const Where& where, Expression& count);
  Where under(const Where& where, const Condition& condition) const;
  Where within(const Where& where, const ExprNode& e, Scope node);  // `e`: a sum or maximum
  void demand(std::string name, std::vector<Expression> arguments, const Where& where, std::vector<Piece>& into) const;
  void collect(const ops::Expr& e, Scope node, const Where& where, std::vector<Piece>& into);
  void collect_maximum(const ops::Expr& e, Scope node, const Where& where, std::vector<Piece>& into);
  void collect_read(ir::ValueId operand, const std::vector<Poly>& indices, Scope node, const Where& where, std::vector<Piece>& into);
  // An operand whose elements are all divisors, or all indices of dimensions of this size.
  using Stopping = std::pair<ir::ValueId, std::optional<Poly>>;
  std::optional<Stopping> divisor_of(const ExprNode& e, Scope node);
  void note_valueless(const ops::Expr& e, Scope node);
  bool stops_alike(const std::optional<Stopping>& operand, Scope node) const;
  void collect_of_node(const ops::Expr& e, Scope node, const Where& where, const Known& known, std::vector<Piece>& into);
  void collect_indices(const ExprNode& e, Scope node, const Where& where, const Known& known, std::vector<Piece>& into);

  Algebra& algebra_;
  ir::Arena& arena_;
  const ir::Symbols::Substitution& solved_;
  // The first element of a value is composed for its own index, because most values are read once. The
  // second read makes a generic element, into which its index and all later indices are substituted.
  Branch branch_;
  std::unordered_set<ir::ValueId> read_;
  std::unordered_set<ir::ValueId> read_as_pieces_;
  std::unordered_map<ir::ValueId, Generic> generic_;
  std::unordered_map<ir::ValueId, GenericPieces> generic_pieces_;
  std::unordered_map<ir::ValueId, bool> has_demands_;
  std::unordered_map<ir::ValueId, bool> may_be_of_nothing_;
  std::unordered_map<ir::ValueId, GenericPieces> generic_demands_;
  ir::Symbols::Substitution unrolled_;       // the binders of sums that are written out, at the term of the moment
  int unrolled_terms_ = 0;                   // of all sums that were written out
  std::unordered_set<const ir::Node*> run_;  // the nodes of the source
  std::vector<Stopping> valueless_;          // operands of the source, elements of which may have no value
  int depth_ = 0;                            // nesting of integer tensors that are read by elements of others
};

// The number of an integer tensor in defined symbols `element`, and its inverse.
std::uint32_t tensor_number(ir::ValueId value);
std::optional<ir::ValueId> tensor_of(std::uint32_t number);
bool is_tensor_number(std::uint32_t number);  // false for the number of an operand

// The complement of a conjunction, as conjunctions that exclude each other.
std::vector<Condition> complement(const Condition& condition);
// The condition with `values` in place of its polynomials.
Condition with_values(const Condition& condition, const std::vector<Poly>& values);

}  // namespace xflow::verifier
