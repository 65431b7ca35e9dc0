// leaky_relu: alpha x for x < 0, x otherwise (ONNX LeakyRelu).
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

Result<Lifted> lift_leaky_relu(const OnnxNode& node) {
  XFLOW_TRY(Lifted lifted, lift_operands(node));
  lifted.attributes.set("alpha", node.real("alpha", ir::Real::from_double(0.01F)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_leaky_relu(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  XFLOW_TRY(const float alpha, known_real(operation, "alpha"));
  exported.attributes.emplace_back("alpha", alpha);
  return exported;
}

}  // namespace

struct LeakyRelu {
  static Signature signature() {
    return pointwise_signature("leaky_relu", 1, TypeClass::floating,
                               {{"alpha", AttributeKind::real, ir::Real(ir::Rational::make(1, 100).value())}});
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    // The multiple that it returns below 0 is as large as the result, like a choice.
    return FloatEffect::computing(
        FloatError::chooses, [](std::span<const double> v, std::span<const double> a) -> double { return v[0] < 0 ? a[0] * v[0] : v[0]; });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr x = read_broadcast(builder, operation, 0, index);
    const Expr scaled = builder.literal(operation.attributes.real("alpha")) * x;
    return builder.apply(Function::choose, builder.apply(Function::less, x, builder.literal(0)), scaled, x);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "LeakyRelu", 6, 15, &lift_leaky_relu, &export_leaky_relu<kFloats>},
        OnnxMapping{"", "LeakyRelu", 16, kNewest, &lift_leaky_relu, &export_leaky_relu<kFloats | kBfloat>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("leaky_relu", operation); }
};

XFLOW_OPERATOR_DEFINITION(LeakyRelu)

}  // namespace xflow::ops
