// relu: max(x, 0) (ONNX Relu).
#include "src/ops/common.h"

namespace xflow::ops {

struct Relu {
  static Signature signature() { return pointwise_signature("relu", 1, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect(FloatWork::chooses, FloatDomain::all, FloatError::chooses, ZeroSign::by_runtime,
                       [](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] < 0 ? 0 : v[0]; })
        .in(FloatRange::nonnegative)
        .increasing();
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return builder.apply(Function::maximum, read_broadcast(builder, operation, 0, index), builder.literal(0));
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Relu", 6, 12),
        plain_mapping<kFloats | kBfloat>("Relu", 13, 13),
        plain_mapping<kFloats | kBfloat | kSignedIntegers>("Relu", 14),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("relu", operation); }
};

XFLOW_OPERATOR_DEFINITION(Relu)

}  // namespace xflow::ops
