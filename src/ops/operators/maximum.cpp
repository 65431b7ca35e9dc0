// maximum: the larger of a and b with broadcasting (ONNX Max of two inputs).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Maximum {
  static Signature signature() {
    Signature signature = pointwise_signature("maximum", 2, TypeClass::numeric);
    signature.commutative = true;
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect(FloatWork::chooses, FloatDomain::all, FloatError::chooses, ZeroSign::either,
                       [](std::span<const double> v, std::span<const double> /*a*/) -> double {
                         return std::isnan(v[0]) || v[0] > v[1] ? v[0] : v[1];
                       })
        .in(FloatRange::of_operands);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::maximum, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Max", 8, 11, &lift_two_operands, &export_operands_of<kFloats>},
        OnnxMapping{"", "Max", 12, 12, &lift_two_operands, &export_operands_of<kFloats | kIntegers>},
        OnnxMapping{"", "Max", 13, kNewest, &lift_two_operands, &export_operands_of<kNumeric>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("maximum", operation); }
};

XFLOW_OPERATOR_DEFINITION(Maximum)

}  // namespace xflow::ops
