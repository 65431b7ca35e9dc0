#include "src/ops/stable.h"

#include <algorithm>
#include <utility>

namespace xflow::ops {
namespace {

bool is_apply(const Expr& expr, Function function) { return expr->kind == ExprKind::apply && expr->function == function; }

// b if the expression is sum(k, e^b); null otherwise.
Expr summed_exponent(const Expr& expr) {
  if (expr->kind != ExprKind::sum || !is_apply(expr->arguments[0], Function::exp)) return nullptr;
  return expr->arguments[0]->arguments[0];
}

Expr with_arguments(const ExprNode& node, std::vector<Expr> arguments) {
  ExprNode copy = node;
  copy.arguments = std::move(arguments);
  return std::make_shared<const ExprNode>(std::move(copy));
}

// Copies an expression and replaces a symbol in its indices.
class Renaming {
 public:
  Renaming(ir::Symbols& symbols, ir::SymbolId from, ir::SymbolId to) : symbols_(symbols) { substitution_.emplace(from, ir::Poly(to)); }

  Expr copy(const Expr& expr) {
    ExprNode node = *expr;
    node.integer = renamed(node.integer);
    node.extent = renamed(node.extent);
    for (ir::Poly& index : node.indices) index = renamed(index);
    for (Atom& atom : node.condition) atom.poly = renamed(atom.poly);
    for (Expr& argument : node.arguments) argument = copy(argument);
    return std::make_shared<const ExprNode>(std::move(node));
  }

 private:
  ir::Poly renamed(const ir::Poly& poly) { return symbols_.substitute(poly, substitution_); }

  ir::Symbols& symbols_;
  ir::Symbols::Substitution substitution_;
};

Expr maximum_exponent(ir::Symbols& symbols, const Expr& sum) {
  const ir::SymbolId binder = symbols.fresh(ir::SymbolKind::index, "k");
  ExprNode maximum;
  maximum.kind = ExprKind::maximum;
  maximum.binder = binder;
  maximum.extent = sum->extent;
  maximum.arguments = {Renaming(symbols, sum->binder, binder).copy(summed_exponent(sum))};
  return std::make_shared<const ExprNode>(std::move(maximum));
}

// sum(k, e^(b - m)) for sum(k, e^b).
Expr shifted_sum(Builder& builder, const Expr& sum, const Expr& shift) {
  return with_arguments(*sum, {builder.apply(Function::exp, summed_exponent(sum) - shift)});
}

}  // namespace

Expr stable(ir::Symbols& symbols, const Expr& expr) {
  Builder builder(symbols);
  std::vector<Expr> arguments;
  arguments.reserve(expr->arguments.size());
  for (const Expr& argument : expr->arguments) arguments.push_back(stable(symbols, argument));

  if (is_apply(expr, Function::divide) && is_apply(arguments[0], Function::exp) && summed_exponent(arguments[1])) {
    const Expr shift = maximum_exponent(symbols, arguments[1]);
    return builder.apply(Function::exp, arguments[0]->arguments[0] - shift) / shifted_sum(builder, arguments[1], shift);
  }
  if (is_apply(expr, Function::log)) {
    if (summed_exponent(arguments[0])) {
      const Expr shift = maximum_exponent(symbols, arguments[0]);
      return shift + builder.apply(Function::log, shifted_sum(builder, arguments[0], shift));
    }
    const bool softplus = is_apply(arguments[0], Function::add) && is_apply(arguments[0]->arguments[0], Function::exp) &&
                          arguments[0]->arguments[1]->kind == ExprKind::literal && arguments[0]->arguments[1]->literal == ir::Real(1);
    if (softplus) {
      const Expr a = arguments[0]->arguments[0]->arguments[0];
      const Expr decay = builder.apply(Function::exp, builder.apply(Function::negate, builder.apply(Function::abs, a)));
      return builder.apply(Function::maximum, a, builder.literal(0)) + builder.apply(Function::log, decay + builder.literal(1));
    }
  }
  return arguments == expr->arguments ? expr : with_arguments(*expr, std::move(arguments));
}

}  // namespace xflow::ops
