// qlinear_conv: the quantised convolution of quantised tensors (ONNX QLinearConv-10). The bias is int32 with
// scale x_scale w_scale.
//
//   y = saturate(round_even((sum(c, r) (x - x_zero) (w - w_zero) + bias)  x_scale w_scale / y_scale) + y_zero)
#include "src/ops/quantization.h"
#include "src/ops/window.h"

namespace xflow::ops {

struct QlinearConv {
  static Signature signature() {
    Signature signature;
    signature.name = "qlinear_conv";
    signature.operands = {{"x", TypeClass::integer},        {"x_scale", TypeClass::floating}, {"x_zero", TypeClass::integer},
                          {"w", TypeClass::integer},        {"w_scale", TypeClass::floating}, {"w_zero", TypeClass::integer},
                          {"y_scale", TypeClass::floating}, {"y_zero", TypeClass::integer},   {"bias", TypeClass::integer, true}};
    signature.attributes = window_attributes();
    signature.attributes.push_back({"groups", AttributeKind::integer, ir::Poly(1)});
    signature.at_run = true;
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(require_quantized(operation, {0, 1, 2}, "x"));
    XFLOW_CHECK(require_quantized(operation, {3, 4, 5}, "w"));
    XFLOW_CHECK(require_bytes(operation, 7, "y_zero"));
    XFLOW_CHECK(require_data_type(operation, 6, "y_scale", ir::DataType::float32));
    XFLOW_TRY(ir::Shape shape, convolution_shape(typing, operation, 3));
    const ir::Poly& channels = operation.operands[3].shape[0];
    for (const std::size_t k : {std::size_t{1}, std::size_t{2}, std::size_t{6}, std::size_t{7}})
      XFLOW_CHECK(check_scale_along(typing, operation, k, signature().operands[k].name, ir::Poly(1)));
    for (const std::size_t k : {std::size_t{4}, std::size_t{5}})
      XFLOW_CHECK(check_scale_along(typing, operation, k, signature().operands[k].name, channels));
    if (operation.has(8)) {
      XFLOW_CHECK(require_data_type(operation, 8, "bias", ir::DataType::int32));
      if (operation.operands[8].rank() != 1) return fail(ErrorCode::ill_typed, "expected 'bias' to have one dimension");
      XFLOW_CHECK(typing.require_equal(operation.operands[8].shape[0], channels, "'bias' to have an element for each output channel"));
    }
    return one_type(operation.operands[7].data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::own); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    Expr sum = quantized_convolution(builder, operation, {0, 2}, {3, 5}, index);
    if (operation.has(8)) sum = sum + builder.read(8, {index[1]});
    const Expr scale = read_scale_along(builder, operation, 1, ir::Poly(0)) * read_scale_along(builder, operation, 4, index[1]) /
                       read_scale_along(builder, operation, 6, ir::Poly(0));
    return quantized(builder, operation.operands[7].data_type, ir::DataType::float32, builder.cast(ir::DataType::float32, sum) * scale,
                     read_scale_along(builder, operation, 7, ir::Poly(0)));
  }

  static std::vector<OnnxMapping> onnx_mappings() { return {OnnxMapping{"", "QLinearConv", 10, kNewest, &lift, &to_onnx}}; }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::other, operation));
    XFLOW_CHECK(add_window(spec, operation));
    XFLOW_CHECK(add_integers(spec, operation, "groups"));
    return spec;
  }

 private:
  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(Lifted lifted, lift_operands(node));
    XFLOW_TRY(lifted.attributes, lift_convolution(node, 3));
    return lifted;
  }
  static Result<Exported> to_onnx(const Operation& operation, int opset) {
    XFLOW_TRY(Exported exported, export_operands(operation, opset));
    XFLOW_CHECK(export_convolution(operation, 3, exported));
    return exported;
  }
};

XFLOW_OPERATOR_DEFINITION(QlinearConv)

}  // namespace xflow::ops
