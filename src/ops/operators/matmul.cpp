// matmul: the matrix product a[..., M, K] b[..., K, N] with numpy's rules (ONNX MatMul). Outer dimensions
// broadcast. An operand of one dimension is a row on the left and a column on the right.
#include "src/ops/product.h"

namespace xflow::ops {

struct Matmul {
  static Signature signature() {
    Signature signature;
    signature.name = "matmul";
    signature.operands = {{"a", TypeClass::numeric}, {"b", TypeClass::numeric}};
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(require_same_data_type(operation, {0, 1}));
    XFLOW_TRY(ir::Shape shape, product_shape(typing, operation, 0, 1));
    return one_type(operation.operands[0].data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::contracts); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return product_sum(builder, operation, 0, 1, index,
                       [&](const auto& a, const auto& b) { return builder.read(0, a) * builder.read(1, b); });
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("MatMul", 1, 8),
        plain_mapping<kFloats | kWideIntegers>("MatMul", 9, 12),
        plain_mapping<kFloats | kBfloat | kWideIntegers>("MatMul", 13),
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return kernel_spec(KernelFamily::product, operation); }
};

XFLOW_OPERATOR_DEFINITION(Matmul)

}  // namespace xflow::ops
