// matmul: the matrix product a[..., M, K] b[..., K, N] with numpy's rules: outer dimensions broadcast, an operand of one dimension is a row
// on the left and a column on the right (ONNX MatMul).
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

// The dimensions before the last two.
ir::Shape outer_dimensions(const ir::Shape& shape) { return shape.size() <= 2 ? ir::Shape{} : ir::Shape(shape.begin(), shape.end() - 2); }

}  // namespace

struct Matmul {
  static Signature signature() {
    Signature signature;
    signature.name = "matmul";
    signature.operands = {{"a", TypeClass::numeric}, {"b", TypeClass::numeric}};
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(require_same_data_type(operation, {0, 1}));
    XFLOW_CHECK(require_rank_at_least(typing.symbols(), operation, 0, "a", 1));
    XFLOW_CHECK(require_rank_at_least(typing.symbols(), operation, 1, "b", 1));
    const ir::Shape& a = operation.operands[0].shape;
    const ir::Shape& b = operation.operands[1].shape;
    XFLOW_CHECK(typing.require_equal(a.back(), b[b.size() < 2 ? 0 : b.size() - 2], "the inner dimensions to be equal"));
    const ir::Shape outer[] = {outer_dimensions(a), outer_dimensions(b)};
    XFLOW_TRY(ir::Shape shape, typing.broadcast(outer));
    if (a.size() >= 2) shape.push_back(a[a.size() - 2]);
    if (b.size() >= 2) shape.push_back(b.back());
    return one_type(operation.operands[0].data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::contracts); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const ir::Shape& a = operation.operands[0].shape;
    const ir::Shape& b = operation.operands[1].shape;
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
      return builder.read(0, std::move(left)) * builder.read(1, std::move(right));
    });
  }

  static std::vector<Spelling> spellings() {
    return {
        plain_spelling<kFloats>("MatMul", 1, 8),
        plain_spelling<kFloats | kWideIntegers>("MatMul", 9, 12),
        plain_spelling<kFloats | kBfloat | kWideIntegers>("MatMul", 13),
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return kernel_spec("matmul", operation); }
};

XFLOW_OPERATOR_DEFINITION(Matmul)

}  // namespace xflow::ops
