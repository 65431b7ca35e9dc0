// Analyses of expressions before they become stages: loop nests, types, and the symbols that a value depends
// on. Private to src/eval.
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

// Constructors of expressions.
ops::Expr literal(const ir::Real& value);
ops::Expr select(const ops::Condition& condition, ops::Expr then, ops::Expr otherwise);
bool is_literal(const ops::Expr& expr, const ir::Real& value);
bool is_call(const ops::Expr& expr, ops::Function function);
// Whether `expr` has the form select(condition, value, neutral).
bool is_guarded(const ops::Expr& expr, const ir::Real& neutral);

// The loops of a sum of sums (or maximum of maxima), and their body. `condition` is set if the terms are
// select(condition, term, neutral element). A factor beside such a select is moved under the condition,
// since a padded element adds nothing.
struct Nest {
  std::vector<const ops::ExprNode*> loops;
  const ops::Condition* condition = nullptr;
  ops::Expr term;
};
// The loop nest of a sum or maximum.
Nest nest_of(const ops::Expr& expr);

// Types and free symbols of expressions, cached.
class Analysis {
 public:
  explicit Analysis(const ProgramInput& input) : input_(input) {}

  // The element type as determined by operands and casts; nullopt for literals, which take the type that
  // their user wants.
  std::optional<ir::DataType> type(const ops::Expr& expr);
  // The symbols that the value depends on, without bound ones.
  const SymbolSet& free(const ops::Expr& expr);
  void add(SymbolSet& set, const ir::Poly& poly) const;

 private:
  std::optional<ir::DataType> compute_type(const ops::ExprNode& expr);
  // The first floating type of the expressions, or else the first known type.
  std::optional<ir::DataType> join(std::span<const ops::Expr> expressions);

  const ProgramInput& input_;
  std::unordered_map<const ops::ExprNode*, std::optional<ir::DataType>> types_;
  std::unordered_map<const ops::ExprNode*, SymbolSet> free_;
  std::vector<ops::Expr> keep_;  // keeps the expressions alive whose addresses are keys
};

}  // namespace xflow::eval
