// floor: the largest integer that is at most x (ONNX Floor).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Floor {
  static Signature signature() { return pointwise_signature("floor", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::jumping([](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::floor(v[0]); });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::floor, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Floor", 6, 12),
        plain_mapping<kFloats | kBfloat>("Floor", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("floor", operation); }
};

XFLOW_OPERATOR_DEFINITION(Floor)

}  // namespace xflow::ops
