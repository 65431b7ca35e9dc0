// div: a / b with broadcasting; integers truncate towards zero (ONNX Div).
#include "src/ops/common.h"

namespace xflow::ops {

struct Div {
  static Signature signature() { return pointwise_signature("div", 2, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(
        FloatError::divides, [](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] / v[1]; },
        FloatDomain::nonzero_divisor);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Function function = ir::is_integer(operation.operands[0].data_type) ? Function::integer_divide : Function::divide;
    return pointwise(builder, function, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats | kWideIntegers>("Div", 7, 12),
        plain_mapping<kFloats | kBfloat | kWideIntegers>("Div", 13, 13),
        plain_mapping<kNumeric>("Div", 14),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("div", operation); }
};

XFLOW_OPERATOR_DEFINITION(Div)

}  // namespace xflow::ops
