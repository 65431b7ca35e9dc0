// equal: whether a = b (ONNX Equal, without strings).
#include "src/ops/common.h"

namespace xflow::ops {

struct Equal {
  static Signature signature() {
    Signature signature = pointwise_signature("equal", 2, TypeClass::numeric_or_boolean);
    signature.commutative = true;
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation, ir::DataType::boolean); }
  static FloatEffect float_effect() {
    return FloatEffect::jumping([](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] == v[1]; });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::equal, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kBoolean | type_set({ir::DataType::int32, ir::DataType::int64})>("Equal", 7, 10),
        plain_mapping<kBoolean | kFloats | kIntegers>("Equal", 11, 12),
        plain_mapping<kBoolean | kNumeric>("Equal", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("equal", operation); }
};

XFLOW_OPERATOR_DEFINITION(Equal)

}  // namespace xflow::ops
