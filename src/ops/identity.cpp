// identity: x (ONNX Identity of a tensor).
#include "src/ops/common.h"

namespace xflow::ops {

struct Identity {
  static Signature signature() {
    Signature signature = pointwise_signature("identity", 1, TypeClass::any);
    signature.moves_data = true;
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return read_broadcast(builder, operation, 0, index);
  }
  static std::vector<Spelling> spellings() {
    return {
        Spelling{"", "Identity", 1, kNewest, &lift_operands, &spell_operands},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return none_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Identity)

}  // namespace xflow::ops
