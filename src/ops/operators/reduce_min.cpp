// reduce_min: the minimum over a set of axes, -max(-x) (ONNX ReduceMin).
#include "src/ops/reduce.h"

namespace xflow::ops {

struct ReduceMin {
  static Signature signature() { return reduce_signature("reduce_min", TypeClass::numeric_or_boolean); }
  static Types type(Typing& typing, const Operation& operation) { return reduce_nonempty_type(typing, operation); }
  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::chooses).in(FloatRange::of_operands); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    // -max(-x), and not(max(not x)) for booleans.
    const bool boolean = operation.operands[0].data_type == ir::DataType::boolean;
    const Function negation = boolean ? Function::logical_not : Function::negate;
    return builder.apply(negation, reduce_maximum(builder, operation, index, [&](const Expr& x) { return builder.apply(negation, x); }));
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    constexpr TypeSet kBytes = type_set({ir::DataType::int8, ir::DataType::uint8});
    return {
        reduce_mapping<kFloats | kWideIntegers, AxesForm::attribute>("ReduceMin", 1, 11),
        reduce_mapping<kFloats | kWideIntegers | kBytes, AxesForm::attribute>("ReduceMin", 12, 12),
        reduce_mapping<kFloats | kBfloat | kWideIntegers | kBytes, AxesForm::attribute>("ReduceMin", 13, 17),
        reduce_mapping<kFloats | kBfloat | kWideIntegers | kBytes, AxesForm::input>("ReduceMin", 18, 19),
        reduce_mapping<kFloats | kBfloat | kWideIntegers | kBytes | kBoolean, AxesForm::input>("ReduceMin", 20),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return reduce_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(ReduceMin)

}  // namespace xflow::ops
