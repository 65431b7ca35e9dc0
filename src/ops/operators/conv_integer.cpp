// conv_integer: the convolution of integers minus their zero points, in int32 (ONNX ConvInteger-10). The
// padding contributes 0.
//
//   y[n, o, t] = sum(c, r) (x[n, g C/groups + c, t stride + r dilation - pad] - x_zero) (w[o, c, r] - w_zero[o])
#include "src/ops/quantization.h"
#include "src/ops/window.h"

namespace xflow::ops {

struct ConvInteger {
  static Signature signature() {
    Signature signature;
    signature.name = "conv_integer";
    signature.operands = {
        {"x", TypeClass::integer}, {"w", TypeClass::integer}, {"x_zero", TypeClass::integer, true}, {"w_zero", TypeClass::integer, true}};
    signature.attributes = window_attributes();
    signature.attributes.push_back({"groups", AttributeKind::integer, ir::Poly(1)});
    signature.at_run = true;
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      XFLOW_CHECK(require_bytes(operation, k, k == 0 ? "x" : "w"));
      if (operation.has(k + 2))
        XFLOW_CHECK(require_data_type(operation, k + 2, k == 0 ? "x_zero" : "w_zero", operation.operands[k].data_type));
    }
    XFLOW_TRY(ir::Shape shape, convolution_shape(typing, operation, 1));
    if (operation.has(2)) XFLOW_CHECK(check_scale_along(typing, operation, 2, "x_zero", ir::Poly(1)));
    if (operation.has(3)) XFLOW_CHECK(check_scale_along(typing, operation, 3, "w_zero", operation.operands[1].shape[0]));
    return one_type(ir::DataType::int32, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::own); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return quantized_convolution(builder, operation, {0, 2}, {1, 3}, index);
  }

  static std::vector<OnnxMapping> onnx_mappings() { return {OnnxMapping{"", "ConvInteger", 10, kNewest, &lift, &to_onnx}}; }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_CHECK(require_left_zero(operation));
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::other, operation));
    XFLOW_CHECK(add_window(spec, operation));
    XFLOW_CHECK(add_integers(spec, operation, "groups"));
    return spec;
  }

 private:
  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(Lifted lifted, lift_with_zeros(node));
    XFLOW_TRY(lifted.attributes, lift_convolution(node, 1));
    return lifted;
  }
  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    XFLOW_TRY(Exported exported, export_operands(operation, opset));
    XFLOW_CHECK(export_convolution(operation, 1, exported));
    return exported;
  }
};

XFLOW_OPERATOR_DEFINITION(ConvInteger)

}  // namespace xflow::ops
