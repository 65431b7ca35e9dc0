#include "src/eval/analysis.h"

#include <utility>

namespace xflow::eval {

using ops::Condition;
using ops::Expr;
using ops::ExprKind;
using ops::Function;

namespace {

Expr make(ops::ExprNode node) { return std::make_shared<const ops::ExprNode>(std::move(node)); }

}  // namespace

Expr literal(const ir::Real& value) {
  ops::ExprNode node;
  node.kind = ExprKind::literal;
  node.literal = value;
  return make(std::move(node));
}

Expr select(const Condition& condition, Expr then, Expr otherwise) {
  ops::ExprNode node;
  node.kind = ExprKind::select;
  node.condition = condition;
  node.arguments = {std::move(then), std::move(otherwise)};
  return make(std::move(node));
}

bool is_literal(const Expr& expr, const ir::Real& value) { return expr->kind == ExprKind::literal && expr->literal == value; }
bool is_call(const Expr& expr, Function function) { return expr->kind == ExprKind::apply && expr->function == function; }
bool is_guarded(const Expr& expr, const ir::Real& neutral) {
  return expr->kind == ExprKind::select && is_literal(expr->arguments[1], neutral);
}

Nest nest_of(const Expr& expr) {
  Nest nest;
  Expr at = expr;
  for (; at->kind == expr->kind; at = at->arguments[0]) nest.loops.push_back(at.get());
  nest.term = at;
  const ir::Real neutral = expr->kind == ExprKind::sum ? ir::Real(0) : ir::negative_infinity();
  if (is_guarded(at, neutral)) {
    nest.condition = &at->condition;
    nest.term = at->arguments[0];
  } else if (expr->kind == ExprKind::sum && is_call(at, Function::multiply)) {
    for (std::size_t k = 0; k < 2 && nest.condition == nullptr; ++k) {
      const Expr& factor = at->arguments[k];
      if (!is_guarded(factor, ir::Real(0))) continue;
      nest.condition = &factor->condition;
      ops::ExprNode product = *at;
      product.arguments[k] = factor->arguments[0];
      nest.term = make(std::move(product));
    }
  }
  return nest;
}

std::optional<ir::DataType> Analysis::type(const Expr& expr) {
  if (const auto at = types_.find(expr.get()); at != types_.end()) return at->second;
  const std::optional<ir::DataType> result = compute_type(*expr);
  types_[expr.get()] = result;
  keep_.push_back(expr);
  return result;
}

const SymbolSet& Analysis::free(const Expr& expr) {
  if (const auto at = free_.find(expr.get()); at != free_.end()) return at->second;
  SymbolSet result;
  for (const ir::Poly& p : expr->indices) add(result, p);
  add(result, expr->integer);
  add(result, expr->extent);
  for (const ops::Atom& atom : expr->condition) add(result, atom.poly);
  for (const Expr& argument : expr->arguments) {
    const SymbolSet& inner = free(argument);
    result.insert(inner.begin(), inner.end());
  }
  if (expr->kind == ExprKind::sum || expr->kind == ExprKind::maximum) result.erase(expr->binder);
  keep_.push_back(expr);
  return free_[expr.get()] = std::move(result);
}

void Analysis::add(SymbolSet& set, const ir::Poly& poly) const {
  if (poly.is_constant() || poly.is_poisoned()) return;
  for (const ir::SymbolId id : input_.symbols->all_symbols(poly)) set.insert(id);
}

std::optional<ir::DataType> Analysis::compute_type(const ops::ExprNode& expr) {
  switch (expr.kind) {
    case ExprKind::literal:
    case ExprKind::integer:
      return std::nullopt;
    case ExprKind::read:
      return input_.operands[static_cast<std::size_t>(expr.operand)].data_type;
    case ExprKind::cast:
      return expr.data_type;
    case ExprKind::sum:
    case ExprKind::maximum:
    case ExprKind::select:
      return join(expr.arguments);
    case ExprKind::apply:
      break;
  }
  switch (expr.function) {
    case Function::less:
    case Function::equal:
    case Function::logical_and:
    case Function::logical_or:
    case Function::logical_xor:
    case Function::logical_not:
    case Function::is_nan:
      return ir::DataType::boolean;
    case Function::choose:
      return join(std::span(expr.arguments).subspan(1));
    case Function::divide:
    case Function::reciprocal:
    case Function::exp:
    case Function::log:
    case Function::sqrt:
    case Function::sin:
    case Function::cos:
    case Function::tanh:
    case Function::erf: {
      const std::optional<ir::DataType> joined = join(expr.arguments);
      return joined && ir::is_floating(*joined) ? joined : ir::DataType::float64;
    }
    default:
      return join(expr.arguments);
  }
}

std::optional<ir::DataType> Analysis::join(std::span<const Expr> expressions) {
  std::optional<ir::DataType> result;
  for (const Expr& expr : expressions) {
    const std::optional<ir::DataType> one = type(expr);
    if (one && (!result || (ir::is_floating(*one) && !ir::is_floating(*result)))) result = one;
  }
  return result;
}

}  // namespace xflow::eval
