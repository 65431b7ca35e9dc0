// greater: whether a > b (ONNX Greater).
#include "src/ops/common.h"

namespace xflow::ops {

struct Greater {
  static Signature signature() { return pointwise_signature("greater", 2, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation, ir::DataType::boolean); }
  static FloatEffect float_effect() {
    return FloatEffect::jumping([](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] > v[1]; });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return builder.apply(Function::less, read_broadcast(builder, operation, 1, index), read_broadcast(builder, operation, 0, index));
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Greater", 7, 8),
        plain_mapping<kFloats | kIntegers>("Greater", 9, 12),
        plain_mapping<kNumeric>("Greater", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("greater", operation); }
};

XFLOW_OPERATOR_DEFINITION(Greater)

}  // namespace xflow::ops
