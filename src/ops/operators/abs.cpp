// abs: the absolute value (ONNX Abs).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Abs {
  static Signature signature() { return pointwise_signature("abs", 1, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect(FloatWork::chooses, FloatDomain::all, FloatError::copies, ZeroSign::ieee,
                       [](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::fabs(v[0]); })
        .in(FloatRange::nonnegative);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::abs, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats | kIntegers>("Abs", 6, 12),
        plain_mapping<kNumeric>("Abs", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("abs", operation); }
};

XFLOW_OPERATOR_DEFINITION(Abs)

}  // namespace xflow::ops
