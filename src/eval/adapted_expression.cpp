#include "src/eval/adapted_expression.h"

#include <memory>

namespace xflow::eval {

using ops::Expr;
using ops::ExprKind;

AdaptedExpression::AdaptedExpression(ir::Symbols& symbols, const Expr& meaning, std::vector<ir::Poly> index, const Sample& sample,
                                     std::vector<const Sample*> operands)
    : symbols_(symbols), operands_(std::move(operands)), next_(operands_.size()), index_(std::move(index)) {
  for (std::size_t k = 0; k < sample.size(); ++k) {
    dims_.push_back(sample[k].count());
    if (sample[k].all()) continue;
    const ir::SymbolId at = symbols_.fresh(ir::SymbolKind::index, "s");
    outer_.emplace(*index_[k].as_symbol(), table(sample[k].chosen, ir::Poly(at)));
    index_[k] = ir::Poly(at);
  }
  expression_ = rewrite(meaning);
}

ir::Poly AdaptedExpression::table(const std::vector<std::int64_t>& entries, const ir::Poly& at) {
  tables_.push_back(Tensor::of_integers(ir::DataType::int64, {static_cast<std::int64_t>(entries.size())}, entries));
  return symbols_.element(static_cast<std::uint32_t>(next_ + tables_.size() - 1), {at});
}

ir::Poly AdaptedExpression::table_of(std::size_t operand, std::size_t dimension, const Positions& positions, const ir::Poly& at) {
  const auto key = std::pair(operand, dimension);
  if (const auto known = inverse_.find(key); known != inverse_.end())
    return symbols_.element(static_cast<std::uint32_t>(known->second), {at});
  std::vector<std::int64_t> entries(static_cast<std::size_t>(positions.size), 0);
  for (std::size_t k = 0; k < positions.chosen.size(); ++k)
    entries[static_cast<std::size_t>(positions.chosen[k])] = static_cast<std::int64_t>(k);
  inverse_.emplace(key, next_ + tables_.size());
  return table(entries, at);
}

std::vector<ir::Poly> AdaptedExpression::read_at(std::size_t operand, std::span<const ir::Poly> indices) {
  std::vector<ir::Poly> result;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    ir::Poly at = poly(indices[k]);
    if (const Sample* sample = operands_[operand]; sample != nullptr && !(*sample)[k].all()) {
      const Positions& positions = (*sample)[k];
      at = positions.interval > 0 ? symbols_.floor_div(at, ir::Poly(positions.interval)) : table_of(operand, k, positions, at);
    }
    result.push_back(std::move(at));
  }
  return result;
}

ir::Poly AdaptedExpression::poly(const ir::Poly& p) {
  ir::Poly result = outer_.empty() ? p : symbols_.substitute(p, outer_);
  if (!symbols_.has_elements()) return result;
  ir::Symbols::Substitution elements;
  for (const ir::SymbolId id : symbols_.all_symbols(result)) {
    const ir::SymbolInfo info = symbols_.info(id);
    if (info.kind != ir::SymbolKind::element || info.tensor >= operands_.size()) continue;
    const Sample* sample = operands_[info.tensor];
    if (sample == nullptr || is_whole(*sample)) continue;
    elements.emplace(id, symbols_.element(info.tensor, read_at(info.tensor, info.arguments)));
  }
  return elements.empty() ? result : symbols_.substitute(result, elements);
}

Expr AdaptedExpression::rewrite(const Expr& expr) {
  if (const auto known = rewritten_.find(expr.get()); known != rewritten_.end()) return known->second;
  ops::ExprNode node = *expr;
  node.integer = poly(node.integer);
  node.extent = poly(node.extent);
  if (node.kind == ExprKind::read) {
    node.indices = read_at(static_cast<std::size_t>(node.operand), node.indices);
  }
  for (ops::Atom& atom : node.condition) atom.poly = poly(atom.poly);
  for (Expr& argument : node.arguments) argument = rewrite(argument);
  return rewritten_[expr.get()] = std::make_shared<const ops::ExprNode>(std::move(node));
}

}  // namespace xflow::eval
