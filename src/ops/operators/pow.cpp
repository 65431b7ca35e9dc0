// pow: a^b with broadcasting (ONNX Pow). The result has the element type of a.
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {
namespace {

constexpr TypeSet kPowIntegers = type_set({ir::DataType::int32, ir::DataType::int64});

// Before opset 12, base and exponent must have the same floating type.
Result<Exported> export_pow_of_one_type(const Operation& operation, int opset) {
  XFLOW_CHECK(require_exportable(operation, 0, kFloats));
  if (operation.operands[0].data_type != operation.operands[1].data_type) {
    return fail(ErrorCode::unsupported, "cannot be exported with two element types in this opset");
  }
  return export_operands(operation, opset);
}

}  // namespace

struct Pow {
  static Signature signature() { return pointwise_signature("pow", 2, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) {
    const ir::Shape shapes[] = {operation.operands[0].shape, operation.operands[1].shape};
    XFLOW_TRY(ir::Shape shape, typing.broadcast(shapes));
    return one_type(operation.operands[0].data_type, std::move(shape));
  }
  static FloatEffect float_effect() {
    return FloatEffect::computing(
        FloatError::own, [](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::pow(v[0], v[1]); },
        FloatDomain::power);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr power = pointwise(builder, Function::power, operation, index);
    const ir::DataType base = operation.operands[0].data_type;
    const bool truncates = ir::is_integer(base) && ir::is_floating(operation.operands[1].data_type);
    return truncates ? builder.cast(base, power) : power;
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Pow", 7, 11, &lift_operands, &export_pow_of_one_type},
        plain_mapping<kFloats | kPowIntegers>("Pow", 12, 12),
        plain_mapping<kFloats | kBfloat | kPowIntegers>("Pow", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("pow", operation); }
};

XFLOW_OPERATOR_DEFINITION(Pow)

}  // namespace xflow::ops
