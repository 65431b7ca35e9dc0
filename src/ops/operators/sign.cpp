// sign: 1, 0 or -1 (ONNX Sign).
#include "src/ops/common.h"

namespace xflow::ops {

struct Sign {
  static Signature signature() { return pointwise_signature("sign", 1, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() { return FloatEffect::jumping(nullptr); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::sign, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats | kIntegers>("Sign", 9, 12),
        plain_mapping<kNumeric>("Sign", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("sign", operation); }
};

XFLOW_OPERATOR_DEFINITION(Sign)

}  // namespace xflow::ops
