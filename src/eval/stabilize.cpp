#include "src/eval/stabilize.h"

#include <optional>

#include "src/eval/analysis.h"

namespace xflow::eval {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::Function;

Expr rebuilt(const Expr& expr, std::vector<Expr> arguments) {
  ops::ExprNode node = *expr;
  node.arguments = std::move(arguments);
  return std::make_shared<const ops::ExprNode>(std::move(node));
}

Expr substitute(ir::Symbols& symbols, const Expr& expr, const ir::Symbols::Substitution& substitution) {
  ops::ExprNode node = *expr;
  node.integer = symbols.substitute(node.integer, substitution);
  node.extent = symbols.substitute(node.extent, substitution);
  for (ir::Poly& index : node.indices) index = symbols.substitute(index, substitution);
  for (ops::Atom& atom : node.condition) atom.poly = symbols.substitute(atom.poly, substitution);
  for (Expr& argument : node.arguments) argument = substitute(symbols, argument, substitution);
  return std::make_shared<const ops::ExprNode>(std::move(node));
}

// sum(k, ... exp(b)): the loops, outermost first, and b.
struct SumOfExp {
  std::vector<Expr> loops;
  Expr exponent;
};

std::optional<SumOfExp> sum_of_exp(const Expr& expr) {
  SumOfExp result;
  Expr at = expr;
  for (; at->kind == ExprKind::sum; at = at->arguments[0]) result.loops.push_back(at);
  if (result.loops.empty() || !is_call(at, Function::exp)) return std::nullopt;
  result.exponent = at->arguments[0];
  return result;
}

class Stabilizer {
 public:
  explicit Stabilizer(ir::Symbols& symbols) : symbols_(symbols), builder_(symbols) {}

  Expr run(const Expr& expr) {
    if (expr->arguments.empty()) return expr;
    std::vector<Expr> arguments;
    bool changed = false;
    for (const Expr& argument : expr->arguments) {
      arguments.push_back(run(argument));
      changed = changed || arguments.back() != argument;
    }
    Expr inner = changed ? rebuilt(expr, std::move(arguments)) : expr;
    if (inner->kind != ExprKind::apply) return inner;
    if (inner->function == Function::divide && is_call(inner->arguments[0], Function::exp)) return quotient(inner);
    if (inner->function == Function::log) return logarithm(inner);
    return inner;
  }

 private:
  Expr quotient(const Expr& expr) {
    const auto sum = sum_of_exp(expr->arguments[1]);
    if (!sum) return expr;
    const Expr largest = maximum(*sum);
    return builder_.apply(Function::exp, expr->arguments[0]->arguments[0] - largest) / shifted(*sum, largest);
  }

  Expr logarithm(const Expr& expr) {
    const Expr& argument = expr->arguments[0];
    if (const auto sum = sum_of_exp(argument)) {
      const Expr largest = maximum(*sum);
      return largest + builder_.apply(Function::log, shifted(*sum, largest));
    }
    if (!is_call(argument, Function::add)) return expr;
    for (std::size_t k = 0; k < 2; ++k) {
      const Expr& one = argument->arguments[1 - k];
      const Expr& power = argument->arguments[k];
      if (!is_call(power, Function::exp) || one->kind != ExprKind::literal || !(one->literal == ir::Real(1))) continue;
      const Expr& a = power->arguments[0];
      const Expr below = builder_.apply(Function::negate, builder_.apply(Function::abs, a));
      return builder_.apply(Function::maximum, a, builder_.literal(0)) +
             builder_.apply(Function::log, one + builder_.apply(Function::exp, below));
    }
    return expr;
  }

  // max(k, b) over new loop variables.
  Expr maximum(const SumOfExp& sum) {
    ir::Symbols::Substitution renamed;
    std::vector<ir::SymbolId> binders;
    for (const Expr& loop : sum.loops) {
      binders.push_back(symbols_.fresh(ir::SymbolKind::index, "m"));
      renamed[loop->binder] = ir::Poly(binders.back());
    }
    Expr result = substitute(symbols_, sum.exponent, renamed);
    for (std::size_t k = sum.loops.size(); k-- > 0;) {
      ops::ExprNode node = *sum.loops[k];
      node.kind = ExprKind::maximum;
      node.binder = binders[k];
      node.arguments = {std::move(result)};
      result = std::make_shared<const ops::ExprNode>(std::move(node));
    }
    return result;
  }

  Expr shifted(const SumOfExp& sum, const Expr& largest) {
    Expr result = builder_.apply(Function::exp, sum.exponent - largest);
    for (std::size_t k = sum.loops.size(); k-- > 0;) result = rebuilt(sum.loops[k], {std::move(result)});
    return result;
  }

  ir::Symbols& symbols_;
  ops::Builder builder_;
};

}  // namespace

ops::Expr stabilize(ir::Symbols& symbols, const ops::Expr& expr) { return Stabilizer(symbols).run(expr); }

}  // namespace xflow::eval
