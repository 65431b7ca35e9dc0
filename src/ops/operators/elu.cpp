// elu: alpha (e^x - 1) for x < 0, x otherwise (ONNX Elu).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {
namespace {

Result<Lifted> lift_elu(const OnnxNode& node) {
  XFLOW_TRY(Lifted lifted, lift_operands(node));
  lifted.attributes.set("alpha", node.real("alpha", ir::Real::from_double(1.0F)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_elu(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  XFLOW_TRY(const float alpha, known_real(operation, "alpha"));
  exported.attributes.emplace_back("alpha", alpha);
  return exported;
}

}  // namespace

struct Elu {
  static Signature signature() { return pointwise_signature("elu", 1, TypeClass::floating, {{"alpha", AttributeKind::real, ir::Real(1)}}); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::continuous, [](std::span<const double> v, std::span<const double> a) -> double {
      return v[0] < 0 ? a[0] * std::expm1(v[0]) : v[0];
    });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr x = read_broadcast(builder, operation, 0, index);
    const Expr below = builder.literal(operation.attributes.real("alpha")) * (builder.apply(Function::exp, x) - builder.literal(1));
    return builder.apply(Function::choose, builder.apply(Function::less, x, builder.literal(0)), below, x);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Elu", 6, 21, &lift_elu, &export_elu<kFloats>},
        OnnxMapping{"", "Elu", 22, kNewest, &lift_elu, &export_elu<kFloats | kBfloat>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("elu", operation); }
};

XFLOW_OPERATOR_DEFINITION(Elu)

}  // namespace xflow::ops
