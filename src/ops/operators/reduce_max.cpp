// reduce_max: the maximum over a set of axes (ONNX ReduceMax; GlobalMaxPool).
#include "src/ops/reduce.h"

namespace xflow::ops {

struct ReduceMax {
  static Signature signature() { return reduce_signature("reduce_max", TypeClass::numeric_or_boolean); }
  static Types type(Typing& typing, const Operation& operation) { return reduce_nonempty_type(typing, operation); }
  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::chooses).in(FloatRange::at_least_operand); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return reduce_maximum(builder, operation, index, [](const Expr& x) { return x; });
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    constexpr TypeSet kBytes = type_set({ir::DataType::int8, ir::DataType::uint8});
    return {
        global_mapping<kFloats>("GlobalMaxPool", 1, 21),
        global_mapping<kFloats | kBfloat>("GlobalMaxPool", 22),
        reduce_mapping<kFloats | kWideIntegers, AxesForm::attribute>("ReduceMax", 1, 11),
        reduce_mapping<kFloats | kWideIntegers | kBytes, AxesForm::attribute>("ReduceMax", 12, 12),
        reduce_mapping<kFloats | kBfloat | kWideIntegers | kBytes, AxesForm::attribute>("ReduceMax", 13, 17),
        reduce_mapping<kFloats | kBfloat | kWideIntegers | kBytes, AxesForm::input>("ReduceMax", 18, 19),
        reduce_mapping<kFloats | kBfloat | kWideIntegers | kBytes | kBoolean, AxesForm::input>("ReduceMax", 20),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return reduce_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(ReduceMax)

}  // namespace xflow::ops
