// round: the nearest integer, ties to even (ONNX Round).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Round {
  static Signature signature() { return pointwise_signature("round", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::jumping([](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::nearbyint(v[0]); });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::round_even, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Round", 11, 21),
        plain_mapping<kFloats | kBfloat>("Round", 22),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("round", operation); }
};

XFLOW_OPERATOR_DEFINITION(Round)

}  // namespace xflow::ops
