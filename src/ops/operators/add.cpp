// add: a + b with broadcasting (ONNX Add; Sum of two inputs).
#include "src/ops/common.h"

namespace xflow::ops {

struct Add {
  static Signature signature() {
    Signature signature = pointwise_signature("add", 2, TypeClass::numeric);
    signature.commutative = true;
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::adds,
                                  [](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] + v[1]; })
        .increasing();
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::add, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats | kWideIntegers>("Add", 7, 12),
        plain_mapping<kFloats | kBfloat | kWideIntegers>("Add", 13, 13),
        plain_mapping<kNumeric>("Add", 14),
        OnnxMapping{"", "Sum", 8, kNewest, &lift_two_operands, nullptr},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("add", operation); }
};

XFLOW_OPERATOR_DEFINITION(Add)

}  // namespace xflow::ops
