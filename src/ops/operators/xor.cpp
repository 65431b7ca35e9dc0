// xor: whether exactly one of two booleans is true (ONNX Xor).
#include "src/ops/common.h"

namespace xflow::ops {

struct Xor {
  static Signature signature() {
    Signature signature = pointwise_signature("xor", 2, TypeClass::boolean);
    signature.commutative = true;
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::deciding(
        [](std::span<const double> v, std::span<const double> /*a*/) -> double { return (v[0] != 0) != (v[1] != 0); });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::logical_xor, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kBoolean>("Xor", 7),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("xor", operation); }
};

XFLOW_OPERATOR_DEFINITION(Xor)

}  // namespace xflow::ops
