#include "src/partition/output_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/ops/expr.h"
#include "src/ops/operator.h"

namespace xflow::partition {

namespace {

using ops::Expr;
using ops::ExprKind;

// Collects how one axis occurs in an expression.
class AxisReads {
 public:
  AxisReads(const ir::Symbols& symbols, const ir::Node& node, ir::SymbolId axis) : symbols_(symbols), node_(node), axis_(axis) {}

  void visit(const Expr& expr) {
    if (!seen_.insert(expr.get()).second) return;
    if (expr->kind == ExprKind::integer && depends(expr->integer)) object("computes with its index");
    if (depends(expr->extent)) object("the length of a sum or maximum depends on its index");
    bool decides = false;
    for (const ops::Atom& atom : expr->condition) {
      if (!depends(atom.poly)) continue;
      decides = true;
      conditions_.push_back(atom.poly);
    }
    if (decides && has_reads(expr->arguments[0]) && has_reads(expr->arguments[1])) object("what is read depends on its index");
    if (expr->kind == ExprKind::read) read(*expr);
    for (const Expr& argument : expr->arguments) visit(argument);
  }

  OutputAxis result() {
    OutputAxis result;
    for (const auto& [place, offsets] : followed_) {
      const auto& [operand, dimension] = place;
      if (whole_.contains(place)) object(fmt::format("operand {} is read along it and as a whole", name(operand)));
      result.followed.push_back({operand, dimension, offsets.stride, offsets.is_window});
    }
    for (auto place = followed_.begin(); place != followed_.end(); ++place)
      if (const auto next = std::next(place); next != followed_.end() && next->first.first == place->first.first)
        object(fmt::format("operand {} is read along it in two dimensions", name(place->first.first)));
    for (const ir::Poly& condition : conditions_)
      if (!is_range_check(condition)) object("a condition on its index is not the range of a read along it");
    result.obstacle = obstacle_;
    return result;
  }

 private:
  struct Offsets {
    std::int64_t stride;
    ir::Poly first;
    bool is_window;
  };

  std::string_view name(int operand) const {
    const auto& operands = ops::get(node_.op).signature.operands;
    return operands[std::min(static_cast<std::size_t>(operand), operands.size() - 1)].name;
  }
  void object(std::string why) {
    if (!obstacle_) obstacle_ = std::move(why);
  }
  bool depends(const ir::Poly& poly) const { return poly.is_poisoned() || symbols_.occurs(poly, axis_); }

  // The integer factor of the axis and the rest, if the axis occurs nowhere else.
  std::optional<std::pair<std::int64_t, ir::Poly>> affine(const ir::Poly& poly) const {
    if (poly.is_poisoned()) return std::nullopt;
    const auto parts = poly.linear_in(axis_);
    if (!parts) return std::nullopt;
    const ir::Poly rest = poly - parts->first * ir::Poly(axis_);
    const auto factor = parts->first.constant();
    if (!factor || depends(rest)) return std::nullopt;
    return std::pair(*factor, rest);
  }
  // Whether it has several values for one value of the axis.
  bool has_index(const ir::Poly& poly) const {
    for (const ir::SymbolId id : symbols_.all_symbols(poly))
      if (const auto kind = symbols_.info(id).kind; kind == ir::SymbolKind::index || kind == ir::SymbolKind::element) return true;
    return false;
  }
  // Whether a condition compares the index of a read along the axis with what is fixed, as pads do.
  bool is_range_check(const ir::Poly& condition) const {
    for (const ir::Poly& index : indices_)
      for (const ir::Poly& rest : {condition - index, condition + index})
        if (!depends(rest) && !has_index(rest)) return true;
    return false;
  }
  static bool has_reads(const Expr& expr) {
    return expr->kind == ExprKind::read || std::any_of(expr->arguments.begin(), expr->arguments.end(), has_reads);
  }

  void read(const ops::ExprNode& expr) {
    for (std::size_t k = 0; k < expr.indices.size(); ++k) {
      const std::pair place(expr.operand, static_cast<int>(k));
      if (!depends(expr.indices[k])) {
        whole_.insert(place);
        continue;
      }
      const auto parts = affine(expr.indices[k]);
      if (!parts || parts->first < 1) {
        object(fmt::format("operand {} is not read at an ascending affine image of its index", name(expr.operand)));
        continue;
      }
      indices_.push_back(expr.indices[k]);
      const bool varies = has_index(parts->second);
      const auto [known, added] = followed_.try_emplace(place, Offsets{parts->first, parts->second, varies});
      if (added) continue;
      if (known->second.stride != parts->first) object(fmt::format("operand {} is read with two strides", name(expr.operand)));
      if (!(known->second.first == parts->second)) known->second.is_window = true;
    }
  }

  const ir::Symbols& symbols_;
  const ir::Node& node_;
  const ir::SymbolId axis_;
  std::map<std::pair<int, int>, Offsets> followed_;  // by operand and dimension
  std::set<std::pair<int, int>> whole_;              // read at an index without the axis
  std::vector<ir::Poly> indices_;                    // of the reads along the axis
  std::vector<ir::Poly> conditions_;                 // those on the axis
  std::set<const ops::ExprNode*> seen_;
  std::optional<std::string> obstacle_;
};

}  // namespace

std::vector<OutputAxis> output_axes(ir::Arena& arena, ir::NodeId node, int output) {
  std::vector<ir::Poly> index;
  const Expr expr = ops::semantics_of(arena, node, output, index);
  std::vector<OutputAxis> axes;
  for (const ir::Poly& axis : index) {
    AxisReads reads(arena.symbols(), arena.node(node), *axis.as_symbol());
    reads.visit(expr);
    axes.push_back(reads.result());
  }
  return axes;
}

}  // namespace xflow::partition
