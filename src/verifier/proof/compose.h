// The value of a graph's output as one expression: operator semantics composed through the graph, down to reads of variables.
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
  // `solved` replaces symbols that the facts determine, in every polynomial.
  Composer(Algebra& algebra, ir::Arena& arena, const ir::Symbols::Substitution& solved);

  // The element of `value` at `index`. Throws Stop for what has no meaning over the reals (opaque nodes, infinite literals outside of
  // maxima).
  Expression element(ir::ValueId value, const std::vector<Poly>& index);

  // What a branch of a choice is where its guard, a boolean, is 1. What was composed before is forgotten.
  using Branch = std::function<Expression(const Expression& branch, const Expression& guard)>;
  void set_branches(Branch branch);

  // What has to hold for the element of `value` at `index` to have a value, and for a runtime to compute all nodes of a graph: demands, see
  // demands.h. An index of which `known` says that it is in range asks for nothing.
  using Known = std::function<bool(const Condition& condition, const Atom& atom)>;
  bool has_demands(ir::ValueId value);
  std::vector<Piece> demands(ir::ValueId value, const std::vector<Poly>& index);
  std::vector<Piece> demands_of_nodes(const ir::Graph& graph, const Known& known);

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

  Expression at(ir::ValueId value, const std::vector<Poly>& index);  // composed again
  std::vector<Piece> element_pieces(ir::ValueId value, const std::vector<Poly>& index);
  const Generic& generic(ir::ValueId value);
  const GenericPieces& generic_pieces(ir::ValueId value);
  std::vector<SymbolId> fresh_index(std::size_t rank);
  ops::Expr semantics(ir::ValueId value, const std::vector<Poly>& index);
  Expression leaf(ir::ValueId value, const std::vector<Poly>& index);

  Expression convert(const ops::Expr& e, Scope node);
  Expression convert_apply(const ops::ExprNode& e, Scope node);
  Expression convert_cast(const ops::ExprNode& e, Scope node);
  Expression convert_literal(const ir::Real& value);
  std::vector<Piece> pieces(const ops::Expr& e, Scope node);
  Expression convert_select(const ExprNode& e, Scope node);
  std::vector<Piece> select_pieces(const ExprNode& e, Scope node);
  Poly resolve(const Poly& p, Scope node);
  // Index polynomials that speak of elements of integer tensors which the graph computes: what they are, case by case. The cases exclude
  // each other, and one of them holds. One case without conditions where no such tensor is read.
  struct Case {
    Condition condition;
    std::vector<Poly> values;
  };
  std::vector<Case> cases(const std::vector<Poly>& polys, Scope node);
  // The element of an integer value at `index` as index polynomials; nothing where it is not known to be some.
  std::optional<std::vector<Case>> element_cases(ir::ValueId value, const std::vector<Poly>& index);
  std::optional<std::vector<Case>> integer_cases(const ops::Expr& e, Scope node);
  // The values of a condition's polynomials.
  std::vector<Case> condition_cases(const Condition& condition, Scope node);
  // a < b or a = b of integers of which one is known by its index: a condition.
  std::optional<Expression> compared(const ExprNode& e, Scope node);

  // Under what an element is computed: for all binders that satisfy the conditions, if all guards are 1.
  struct Where {
    std::vector<SymbolId> binders;
    Condition conditions;
    std::vector<Expression> guards;
  };
  static std::string_view demand_of_power(const Expression& exponent);
  std::pair<std::string_view, std::size_t> demand_of(const ExprNode& e, Scope node) const;
  std::vector<SymbolId> elements_in(const ExprNode& e) const;
  bool has_demands(const ops::Expr& e, Scope node);
  // It may be the largest of no numbers.
  bool may_be_of_nothing(const ops::Expr& e, Scope node);
  bool may_be_of_nothing(ir::ValueId value);
  // Adds how many numbers a maximum is the largest of.
  void count_numbers(const ops::Expr& e, Scope node, const Where& where, Expression& count);
  Where under(const Where& where, const Condition& condition) const;
  Where within(const Where& where, const ExprNode& e, Scope node);  // of a sum or maximum
  void demand(std::string name, std::vector<Expression> arguments, const Where& where, std::vector<Piece>& into) const;
  void collect(const ops::Expr& e, Scope node, const Where& where, std::vector<Piece>& into);
  void collect_maximum(const ops::Expr& e, Scope node, const Where& where, std::vector<Piece>& into);
  void collect_read(ir::ValueId operand, const std::vector<Poly>& indices, Scope node, const Where& where, std::vector<Piece>& into);
  void collect_of_node(const ops::Expr& e, Scope node, const Where& where, const Known& known, std::vector<Piece>& into);
  void collect_indices(const ExprNode& e, Scope node, const Where& where, const Known& known, std::vector<Piece>& into);

  Algebra& algebra_;
  ir::Arena& arena_;
  const ir::Symbols::Substitution& solved_;
  // The first element of a value is composed for its own index, because most values are read once; the second one makes a generic element,
  // into which its index and all later ones are put.
  Branch branch_;
  std::unordered_set<ir::ValueId> read_;
  std::unordered_set<ir::ValueId> read_as_pieces_;
  std::unordered_map<ir::ValueId, Generic> generic_;
  std::unordered_map<ir::ValueId, GenericPieces> generic_pieces_;
  std::unordered_map<ir::ValueId, bool> has_demands_;
  std::unordered_map<ir::ValueId, bool> may_be_of_nothing_;
  std::unordered_map<ir::ValueId, GenericPieces> generic_demands_;
  int depth_ = 0;  // of integer tensors that are read by elements of others
};

// The number that stands for an integer tensor in defined symbols `element`, and back.
std::uint32_t tensor_number(ir::ValueId value);
std::optional<ir::ValueId> tensor_of(std::uint32_t number);
bool is_tensor_number(std::uint32_t number);  // not the number of an operand

// The complement of a conjunction as conjunctions that exclude each other.
std::vector<Condition> complement(const Condition& condition);
// The condition with these polynomials in place of its own.
Condition with_values(const Condition& condition, const std::vector<Poly>& values);

}  // namespace xflow::verifier
