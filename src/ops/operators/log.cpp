// log: the natural logarithm (ONNX Log).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Log {
  static Signature signature() { return pointwise_signature("log", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(
        FloatError::own, [](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::log(v[0]); },
        FloatDomain::positive);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::log, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Log", 6, 12),
        plain_mapping<kFloats | kBfloat>("Log", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("log", operation); }
};

XFLOW_OPERATOR_DEFINITION(Log)

}  // namespace xflow::ops
