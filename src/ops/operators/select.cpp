// select: a if the condition is true, else b, element by element with broadcasting (ONNX Where).
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

Result<Exported> export_select_before_16(const Operation& operation, int opset) {
  if (operation.operands[1].data_type == ir::DataType::bfloat16) {
    return fail(ErrorCode::unsupported, "cannot be exported for bfloat16 in this opset");
  }
  return export_operands(operation, opset);
}

}  // namespace

struct Select {
  static Signature signature() {
    Signature signature = pointwise_signature("select", 3, TypeClass::any);
    signature.operands[0] = {"condition", TypeClass::boolean};
    signature.operands[1].name = "a";
    signature.operands[2].name = "b";
    signature.moves_data = true;
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(require_same_data_type(operation, {1, 2}));
    const ir::Shape shapes[] = {operation.operands[0].shape, operation.operands[1].shape, operation.operands[2].shape};
    XFLOW_TRY(ir::Shape shape, typing.broadcast(shapes));
    return one_type(operation.operands[1].data_type, std::move(shape));
  }
  static FloatEffect float_effect() {
    return FloatEffect(FloatWork::selects, FloatDomain::all, FloatError::chooses, ZeroSign::ieee,
                       [](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] != 0 ? v[1] : v[2]; })
        .in(FloatRange::of_operands);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::choose, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Where", 9, 15, &lift_operands, &export_select_before_16},
        OnnxMapping{"", "Where", 16, kNewest, &lift_operands, &export_operands},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("select", operation); }
};

XFLOW_OPERATOR_DEFINITION(Select)

}  // namespace xflow::ops
