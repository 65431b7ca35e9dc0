// qlinear_matmul: the quantised product of quantised matrices (ONNX QLinearMatMul-21 with 8-bit integers).
//
//   y = saturate(round_even(sum(k) (a - a_zero) (b - b_zero)  a_scale b_scale / y_scale) + y_zero)
#include <fmt/format.h>

#include "src/ops/product.h"
#include "src/ops/quantization.h"

namespace xflow::ops {
namespace {

constexpr TypeSet kScales = type_set({ir::DataType::float32, ir::DataType::float16, ir::DataType::bfloat16});

}  // namespace

struct QlinearMatmul {
  static Signature signature() {
    Signature signature;
    signature.name = "qlinear_matmul";
    signature.operands = {{"a", TypeClass::integer},        {"a_scale", TypeClass::floating}, {"a_zero", TypeClass::integer},
                          {"b", TypeClass::integer},        {"b_scale", TypeClass::floating}, {"b_zero", TypeClass::integer},
                          {"y_scale", TypeClass::floating}, {"y_zero", TypeClass::integer}};
    signature.at_run = true;
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType scale = operation.operands[1].data_type;
    if (!contains(kScales, scale))
      return fail(ErrorCode::ill_typed, fmt::format("expected 'a_scale' to be float32, float16 or bfloat16, found {}", ir::name(scale)));
    XFLOW_CHECK(require_quantized(operation, {0, 1, 2}, "a", scale));
    XFLOW_CHECK(require_quantized(operation, {3, 4, 5}, "b", scale));
    XFLOW_CHECK(require_bytes(operation, 7, "y_zero"));
    XFLOW_CHECK(require_data_type(operation, 6, "y_scale", scale));
    XFLOW_TRY(ir::Shape shape, product_shape(typing, operation, 0, 3));
    XFLOW_CHECK(check_product_parameters(typing, operation, {0, 2}, {3, 5}));
    XFLOW_CHECK(check_product_parameters(typing, operation, {0, 1}, {3, 4}));
    for (const std::size_t k : {std::size_t{6}, std::size_t{7}})
      XFLOW_CHECK(check_scale_along(typing, operation, k, k == 6 ? "y_scale" : "y_zero", ir::Poly(1)));
    return one_type(operation.operands[7].data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::own); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr sum = quantized_product(builder, operation, {0, 2}, {3, 5}, index);
    Expr y_scale = read_scale_along(builder, operation, 6, ir::Poly(0));
    if (operation.operands[6].data_type != ir::DataType::float32) y_scale = builder.cast(ir::DataType::float32, std::move(y_scale));
    const Expr scale = product_scale(builder, operation, {0, 1}, {3, 4}, index) / y_scale;
    return quantized(builder, operation.operands[7].data_type, ir::DataType::float32, builder.cast(ir::DataType::float32, sum) * scale,
                     read_scale_along(builder, operation, 7, ir::Poly(0)));
  }

  static std::vector<OnnxMapping> onnx_mappings() { return {OnnxMapping{"", "QLinearMatMul", 10, kNewest, &lift_operands, &to_onnx}}; }

  static Result<KernelSpec> kernel(const Operation& operation) { return kernel_spec(KernelFamily::other, operation); }

 private:
  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    constexpr int kFirstWithHalf = 21;
    XFLOW_CHECK(require_exportable(operation, 1, opset < kFirstWithHalf ? type_set({ir::DataType::float32}) : kScales));
    return export_operands(operation, opset);
  }
};

XFLOW_OPERATOR_DEFINITION(QlinearMatmul)

}  // namespace xflow::ops
