// dynamic_quantize_linear: x quantised to uint8 over the range of its elements and 0 (ONNX
// DynamicQuantizeLinear-11).
//
//   scale = (max(x, 0) - min(x, 0)) / 255, or 1 / 255 if that is 0
//   zero  = saturate(round_even(-min(x, 0) / scale))
//   y[i]  = saturate(round_even(x[i] / scale) + zero)
#include "src/ops/quantization.h"

namespace xflow::ops {

struct DynamicQuantizeLinear {
  static Signature signature() {
    Signature signature;
    signature.name = "dynamic_quantize_linear";
    signature.operands = {{"x", TypeClass::floating}};
    signature.outputs = 3;
    signature.at_run = true;
    return signature;
  }

  static Types type(Typing& /*typing*/, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    XFLOW_CHECK(require_data_type(operation, 0, "x", ir::DataType::float32));
    return std::vector<ir::TensorType>{
        {ir::DataType::uint8, true, x.shape}, {ir::DataType::float32, true, {}}, {ir::DataType::uint8, true, {}}};
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::own); }

  static Expr semantics(Builder& builder, const Operation& operation, int output, std::span<const ir::Poly> index) {
    const std::vector<ir::Poly> extents(operation.operands[0].shape.begin(), operation.operands[0].shape.end());
    const Expr none = builder.literal(0);
    const auto extreme = [&](bool largest) {
      const auto element = [&](const std::vector<ir::Poly>& at) {
        const Expr x = builder.read(0, at);
        return largest ? x : builder.apply(Function::negate, x);
      };
      return builder.apply(Function::maximum, extents.empty() ? element({}) : builder.maximum(extents, element), none);
    };
    const Expr low = extreme(false);  // -min(x, 0)
    const Expr range = extreme(true) + low;
    // If all elements are 0, the scale is 1/255.
    const Expr is_none = builder.apply(Function::equal, range, none);
    Expr scale = builder.apply(Function::choose, is_none, builder.literal(1), range) / builder.literal(255);
    if (output == 1) return scale;
    Expr zero = quantized(builder, ir::DataType::uint8, ir::DataType::float32, low / scale, nullptr);
    if (output == 2) return zero;
    const Expr x = builder.read(0, {index.begin(), index.end()});
    return quantized(builder, ir::DataType::uint8, ir::DataType::float32, x / scale, zero);
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {OnnxMapping{"", "DynamicQuantizeLinear", 11, kNewest, &lift_operands, &export_operands}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return kernel_spec(KernelFamily::other, operation); }
};

XFLOW_OPERATOR_DEFINITION(DynamicQuantizeLinear)

}  // namespace xflow::ops
