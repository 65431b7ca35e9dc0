// reduce_sum: the sum over a set of axes (ONNX ReduceSum).
#include "src/ops/reduce.h"

namespace xflow::ops {

struct ReduceSum {
  static Signature signature() { return reduce_signature("reduce_sum", TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return reduce_type(typing, operation); }
  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::adds); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return reduce_sum(builder, operation, index, [](const Expr& x) { return x; });
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        reduce_mapping<kFloats | kWideIntegers, AxesForm::attribute>("ReduceSum", 1, 12),
        reduce_mapping<kFloats | kBfloat | kWideIntegers, AxesForm::input>("ReduceSum", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return reduce_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(ReduceSum)

}  // namespace xflow::ops
