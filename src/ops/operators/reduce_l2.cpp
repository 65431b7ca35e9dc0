// reduce_l2: the square root of the sum of squares over a set of axes (ONNX ReduceL2, on floating types
// only).
#include "src/ops/reduce.h"

namespace xflow::ops {

struct ReduceL2 {
  static Signature signature() { return reduce_signature("reduce_l2", TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return reduce_type(typing, operation); }
  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::continuous).in(FloatRange::nonnegative); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return builder.apply(Function::sqrt, reduce_sum(builder, operation, index, [](const Expr& x) { return x * x; }));
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        reduce_mapping<kFloats, AxesForm::attribute>("ReduceL2", 1, 12),
        reduce_mapping<kFloats | kBfloat, AxesForm::attribute>("ReduceL2", 13, 17),
        reduce_mapping<kFloats | kBfloat, AxesForm::input>("ReduceL2", 18),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return reduce_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(ReduceL2)

}  // namespace xflow::ops
