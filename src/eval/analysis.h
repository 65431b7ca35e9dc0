// What is known of expressions before they are stages: the nest of a sum, types, and the symbols a value depends on. Private to src/eval.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/eval/program.h"
#include "src/ops/expr.h"

namespace xflow::eval {

using SymbolSet = std::set<ir::SymbolId>;

ops::Expr literal(const ir::Real& value);
ops::Expr select(const ops::Condition& condition, ops::Expr then, ops::Expr otherwise);
bool is_literal(const ops::Expr& expr, const ir::Real& value);
bool is_call(const ops::Expr& expr, ops::Function function);
// Whether `expr` is select(condition, something, neutral).
bool is_guarded(const ops::Expr& expr, const ir::Real& neutral);

// The loops of a sum of sums (or maximum of maxima), and what is under them. `condition` is set where the terms are
// select(condition, term, neutral element): a factor beside such a select moves under the condition, since a padded element adds nothing.
struct Nest {
  std::vector<const ops::ExprNode*> loops;
  const ops::Condition* condition = nullptr;
  ops::Expr term;
};
Nest nest_of(const ops::Expr& expr);

// What is known of expressions without a stage.
class Analysis {
 public:
  explicit Analysis(const ProgramInput& input) : input_(input) {}

  // The element type, where operands or casts say it; a literal takes the type that is wanted of it.
  std::optional<ir::DataType> type(const ops::Expr& expr);
  // Index symbols that the value depends on.
  const SymbolSet& free(const ops::Expr& expr);
  void add(SymbolSet& set, const ir::Poly& poly) const;

 private:
  std::optional<ir::DataType> compute_type(const ops::ExprNode& expr);
  // A floating type if one of them has one, otherwise the first that is known.
  std::optional<ir::DataType> join(std::span<const ops::Expr> expressions);

  const ProgramInput& input_;
  std::unordered_map<const ops::ExprNode*, std::optional<ir::DataType>> types_;
  std::unordered_map<const ops::ExprNode*, SymbolSet> free_;
  std::vector<ops::Expr> keep_;  // addresses are keys
};

}  // namespace xflow::eval
