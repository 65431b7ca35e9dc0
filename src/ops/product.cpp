#include "src/ops/product.h"

#include <utility>

namespace xflow::ops {
namespace {

// The dimensions before the last two.
ir::Shape outer_dimensions(const ir::Shape& shape) { return shape.size() <= 2 ? ir::Shape{} : ir::Shape(shape.begin(), shape.end() - 2); }

}  // namespace

Result<ir::Shape> product_shape(Typing& typing, const Operation& operation, std::size_t a_operand, std::size_t b_operand) {
  XFLOW_CHECK(require_rank_at_least(typing.symbols(), operation, a_operand, "a", 1));
  XFLOW_CHECK(require_rank_at_least(typing.symbols(), operation, b_operand, "b", 1));
  const ir::Shape& a = operation.operands[a_operand].shape;
  const ir::Shape& b = operation.operands[b_operand].shape;
  XFLOW_CHECK(typing.require_equal(a.back(), b[b.size() < 2 ? 0 : b.size() - 2], "the inner dimensions to be equal"));
  const ir::Shape outer[] = {outer_dimensions(a), outer_dimensions(b)};
  XFLOW_TRY(ir::Shape shape, typing.broadcast(outer));
  if (a.size() >= 2) shape.push_back(a[a.size() - 2]);
  if (b.size() >= 2) shape.push_back(b.back());
  return shape;
}

Expr product_sum(Builder& builder, const Operation& operation, std::size_t a_operand, std::size_t b_operand,
                 std::span<const ir::Poly> index, const ProductTerm& term) {
  const ir::Shape& a = operation.operands[a_operand].shape;
  const ir::Shape& b = operation.operands[b_operand].shape;
  const ir::Shape& result = operation.outputs[0].shape;
  const std::size_t outer = result.size() - (a.size() >= 2 ? 1 : 0) - (b.size() >= 2 ? 1 : 0);
  const auto outer_index = [&](const ir::Shape& own) {
    std::vector<ir::Poly> indices;
    const std::size_t count = own.size() <= 2 ? 0 : own.size() - 2;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t at = outer - count + k;
      indices.push_back(builder.symbols().broadcast_index(index[at], own[k], result[at]));
    }
    return indices;
  };
  return builder.sum(a.back(), [&](const ir::Poly& k) {
    std::vector<ir::Poly> left = outer_index(a);
    if (a.size() >= 2) left.push_back(index[outer]);
    left.push_back(k);
    std::vector<ir::Poly> right = outer_index(b);
    right.push_back(k);
    if (b.size() >= 2) right.push_back(index.back());
    return term(left, right);
  });
}

}  // namespace xflow::ops
