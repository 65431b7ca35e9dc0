// mod: the remainder of a / b with broadcasting (ONNX Mod). It has the sign of b, or with fmod = 1 the sign
// of a.
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

Result<Lifted> lift_mod(const OnnxNode& node) {
  XFLOW_TRY(Lifted lifted, lift_operands(node));
  lifted.attributes.set("fmod", ir::Poly(node.integer("fmod", 0)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_mod(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  XFLOW_TRY(const std::int64_t fmod, known_integer(operation, "fmod"));
  if (fmod != 0) exported.attributes.emplace_back("fmod", fmod);
  return exported;
}

}  // namespace

struct Mod {
  static Signature signature() {
    return pointwise_signature("mod", 2, TypeClass::numeric, {{"fmod", AttributeKind::integer, ir::Poly(0)}});
  }
  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(require_flag(operation.attributes, "fmod"));
    if (operation.attributes.integer("fmod").is_zero() && ir::is_floating(operation.operands[0].data_type)) {
      return fail(ErrorCode::ill_typed, "expected fmod = 1 for floating types");
    }
    return pointwise_type(typing, operation);
  }
  static FloatEffect float_effect() {
    return FloatEffect(FloatWork::jumps, FloatDomain::nonzero_divisor, FloatError::own, ZeroSign::ieee, nullptr);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const bool fmod = operation.attributes.integer("fmod").is_one();
    return pointwise(builder, fmod ? Function::remainder : Function::modulo, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Mod", 10, 12, &lift_mod, &export_mod<kFloats | kIntegers>},
        OnnxMapping{"", "Mod", 13, kNewest, &lift_mod, &export_mod<kNumeric>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, pointwise_kernel("mod", operation));
    XFLOW_CHECK(add_integers(spec, operation, "fmod"));
    return spec;
  }
};

XFLOW_OPERATOR_DEFINITION(Mod)

}  // namespace xflow::ops
