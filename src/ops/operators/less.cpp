// less: whether a < b (ONNX Less).
#include "src/ops/common.h"

namespace xflow::ops {

struct Less {
  static Signature signature() { return pointwise_signature("less", 2, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation, ir::DataType::boolean); }
  static FloatEffect float_effect() {
    return FloatEffect::jumping([](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] < v[1]; });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::less, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Less", 7, 8),
        plain_mapping<kFloats | kIntegers>("Less", 9, 12),
        plain_mapping<kNumeric>("Less", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("less", operation); }
};

XFLOW_OPERATOR_DEFINITION(Less)

}  // namespace xflow::ops
