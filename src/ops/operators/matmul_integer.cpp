// matmul_integer: the matrix product of integers minus their zero points, in int32 (ONNX MatMulInteger-10).
//
//   y[..., m, n] = sum(k) (a[..., m, k] - a_zero[m]) (b[..., k, n] - b_zero[n])
#include "src/ops/product.h"
#include "src/ops/quantization.h"

namespace xflow::ops {

struct MatmulInteger {
  static Signature signature() {
    Signature signature;
    signature.name = "matmul_integer";
    signature.operands = {
        {"a", TypeClass::integer}, {"b", TypeClass::integer}, {"a_zero", TypeClass::integer, true}, {"b_zero", TypeClass::integer, true}};
    signature.at_run = true;
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      XFLOW_CHECK(require_bytes(operation, k, k == 0 ? "a" : "b"));
      if (operation.has(k + 2))
        XFLOW_CHECK(require_data_type(operation, k + 2, k == 0 ? "a_zero" : "b_zero", operation.operands[k].data_type));
    }
    XFLOW_TRY(ir::Shape shape, product_shape(typing, operation, 0, 1));
    XFLOW_CHECK(check_product_parameters(typing, operation, {0, 2}, {1, 3}));
    return one_type(ir::DataType::int32, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::own); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return quantized_product(builder, operation, {0, 2}, {1, 3}, index);
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {OnnxMapping{"", "MatMulInteger", 10, kNewest, &lift_with_zeros, &export_operands}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_CHECK(require_left_zero(operation));
    return kernel_spec(KernelFamily::other, operation);
  }
};

XFLOW_OPERATOR_DEFINITION(MatmulInteger)

}  // namespace xflow::ops
