#include "src/partition/dimension_use.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/ops/expr.h"
#include "src/ops/operator.h"

namespace xflow::partition {
namespace {

using ir::Poly;

// Finds the dimensions that are read at the index of a sum or maximum, and at no index of the output.
class ReducedDimensions {
 public:
  ReducedDimensions(const ir::Symbols& symbols, const std::vector<Poly>& index) : symbols_(symbols) {
    for (const Poly& own : index) output_.insert(*own.as_symbol());
  }

  void visit(const ops::Expr& expr) {
    if (!seen_.insert(expr.get()).second) return;
    for (const ops::WrappedIndex& wrapped : expr->wrapped) read(wrapped.operand, wrapped.at);
    if (expr->kind == ops::ExprKind::read) read(expr->operand, expr->indices);
    for (const ops::Expr& argument : expr->arguments) visit(argument);
  }
  bool contains(int operand, std::size_t dimension) const { return found_.contains({operand, dimension}); }

 private:
  void read(int operand, const std::vector<Poly>& indices) {
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (is_reduction(indices[d])) found_.emplace(operand, d);
  }
  bool is_reduction(const Poly& poly) const {
    if (poly.is_poisoned()) return false;
    bool has_binder = false;
    for (const ir::SymbolId id : symbols_.all_symbols(poly)) {
      if (symbols_.info(id).kind != ir::SymbolKind::index) continue;
      if (output_.contains(id)) return false;
      has_binder = true;
    }
    return has_binder;
  }

  const ir::Symbols& symbols_;
  std::set<ir::SymbolId> output_;
  std::set<std::pair<int, std::size_t>> found_;
  std::set<const ops::ExprNode*> seen_;
};

// Whether equal parts of the axis read equal parts of a dimension of this size.
bool is_aligned(const SplitAxis& axis, const FollowedDimension& own, const Poly& size) {
  const auto low = own.low.constant();
  const auto above = (own.high - own.stride + 1).constant();
  if (!low || !above) return false;
  if (own.overlaps()) return *low <= 0 && *above >= 0;
  return *low >= 0 && *above <= 0 && own.stride * axis.blocks == size;
}

// Whether one axis of the output reads single elements of a dimension, or joins the operand to others along
// it.
bool is_read_apart(const std::vector<SplitAxis>& axes, int operand, std::size_t dimension) {
  std::size_t readers = 0;
  for (const SplitAxis& axis : axes) {
    const FollowedDimension* own = axis.find(operand, static_cast<int>(dimension));
    if (own != nullptr && (axis.is_reduction() || own->low != own->high)) return false;
    const auto is_this = [&](const JoinedOperand& joined) {
      return joined.operand == operand && joined.dimension == static_cast<int>(dimension);
    };
    if (own != nullptr || std::ranges::any_of(axis.joined, is_this)) ++readers;
  }
  return readers == 1;
}

DimensionUse use_of(const std::vector<SplitAxis>& axes, int operand, std::size_t dimension, const Poly& size, bool is_reduced) {
  DimensionUse use;
  use.is_reduced = is_reduced;
  std::size_t followers = 0;        // axes of the output
  std::vector<std::size_t> exact;   // of them, those whose parts read different elements
  std::vector<std::size_t> others;  // those with a halo
  std::vector<std::size_t> reductions;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const FollowedDimension* own = axes[a].find(operand, static_cast<int>(dimension));
    if (own == nullptr || axes[a].blocks.is_one()) continue;
    if (!axes[a].is_reduction()) ++followers;
    if (axes[a].obstacle || !is_aligned(axes[a], *own, size)) continue;
    (axes[a].is_reduction() ? reductions : own->overlaps() ? others : exact).push_back(a);
  }
  use.is_needed_whole = is_reduced && followers > 0;
  if (use.is_needed_whole) return use;
  if (exact.size() == 1) {
    use.axis = exact[0];
    const SplitAxis& axis = axes[exact[0]];
    const bool is_block = !axis.find(operand, static_cast<int>(dimension))->stride.is_one();
    if (is_block && (followers > 1 || !axis.block.is_one())) use.blocks = axis.blocks;
  } else if (exact.empty() && others.size() == 1 && followers == 1) {
    use.axis = others[0];
  } else if (followers == 0 && reductions.size() == 1) {
    use.axis = reductions[0];
  }
  use.is_apart = !use.axis && !is_reduced && is_read_apart(axes, operand, dimension);
  return use;
}

}  // namespace

OperationUse operation_use(ir::Arena& arena, ir::NodeId id, int output) {
  OperationUse use;
  use.axes = split_axes(arena, id, output);
  std::vector<Poly> index;
  const ops::Expr expr = ops::semantics_of(arena, id, output, index);
  ReducedDimensions reduced(arena.symbols(), index);
  reduced.visit(expr);
  const ir::Node& node = arena.node(id);
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    std::vector<DimensionUse>& dimensions = use.operands.emplace_back();
    if (arena.is_absent(node.operands[k])) continue;
    const ir::TensorType& type = arena.type(node.operands[k]);
    for (std::size_t d = 0; type.ranked && d < type.rank(); ++d)
      dimensions.push_back(use_of(use.axes, static_cast<int>(k), d, type.shape[d], reduced.contains(static_cast<int>(k), d)));
  }
  return use;
}

}  // namespace xflow::partition
