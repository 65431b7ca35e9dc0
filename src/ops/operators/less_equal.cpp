// less_equal: whether a <= b; false if a or b is NaN (ONNX LessOrEqual).
#include "src/ops/common.h"

namespace xflow::ops {

struct LessEqual {
  static Signature signature() { return pointwise_signature("less_equal", 2, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation, ir::DataType::boolean); }
  static FloatEffect float_effect() {
    return FloatEffect::jumping([](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] <= v[1]; });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr a = read_broadcast(builder, operation, 0, index);
    const Expr b = read_broadcast(builder, operation, 1, index);
    return builder.apply(Function::logical_or, builder.apply(Function::less, a, b), builder.apply(Function::equal, a, b));
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats | kIntegers>("LessOrEqual", 12, 15),
        plain_mapping<kNumeric>("LessOrEqual", 16),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("less_equal", operation); }
};

XFLOW_OPERATOR_DEFINITION(LessEqual)

}  // namespace xflow::ops
