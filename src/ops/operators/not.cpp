// not: the negation of a boolean (ONNX Not).
#include "src/ops/common.h"

namespace xflow::ops {

struct Not {
  static Signature signature() { return pointwise_signature("not", 1, TypeClass::boolean); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::deciding([](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] == 0; });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::logical_not, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kBoolean>("Not", 1),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("not", operation); }
};

XFLOW_OPERATOR_DEFINITION(Not)

}  // namespace xflow::ops
