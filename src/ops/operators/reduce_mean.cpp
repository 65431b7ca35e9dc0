// reduce_mean: the mean over a set of axes (ONNX ReduceMean; GlobalAveragePool). The mean of integers
// truncates towards zero.
#include "src/ops/reduce.h"

namespace xflow::ops {

struct ReduceMean {
  static Signature signature() { return reduce_signature("reduce_mean", TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return reduce_type(typing, operation); }
  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::adds).in(FloatRange::of_operands); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr total = reduce_sum(builder, operation, index, [](const Expr& x) { return x; });
    const Expr count = builder.integer(reduced_elements(operation));
    return builder.apply(ir::is_integer(operation.operands[0].data_type) ? Function::integer_divide : Function::divide, total, count);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        global_mapping<kFloats>("GlobalAveragePool", 1, 21),
        global_mapping<kFloats | kBfloat>("GlobalAveragePool", 22),
        reduce_mapping<kFloats | kWideIntegers, AxesForm::attribute>("ReduceMean", 1, 12),
        reduce_mapping<kFloats | kBfloat | kWideIntegers, AxesForm::attribute>("ReduceMean", 13, 17),
        reduce_mapping<kFloats | kBfloat | kWideIntegers, AxesForm::input>("ReduceMean", 18),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return reduce_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(ReduceMean)

}  // namespace xflow::ops
