// hard_sigmoid: max(0, min(1, alpha x + beta)) (ONNX HardSigmoid).
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

Result<Lifted> lift_hard_sigmoid(const OnnxNode& node) {
  XFLOW_TRY(Lifted lifted, lift_operands(node));
  lifted.attributes.set("alpha", node.real("alpha", ir::Real::from_double(0.2F)));
  lifted.attributes.set("beta", node.real("beta", ir::Real::from_double(0.5F)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_hard_sigmoid(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  XFLOW_TRY(const float alpha, known_real(operation, "alpha"));
  exported.attributes.emplace_back("alpha", alpha);
  XFLOW_TRY(const float beta, known_real(operation, "beta"));
  exported.attributes.emplace_back("beta", beta);
  return exported;
}

}  // namespace

struct HardSigmoid {
  static Signature signature() {
    return pointwise_signature("hard_sigmoid", 1, TypeClass::floating,
                               {{"alpha", AttributeKind::real, ir::Real(ir::Rational::make(1, 5).value())},
                                {"beta", AttributeKind::real, ir::Real(ir::Rational::make(1, 2).value())}});
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::saturates,
                                  [](std::span<const double> v, std::span<const double> a) -> double {
                                    const double line = a[0] * v[0] + a[1];
                                    return line < 0 ? 0 : line > 1 ? 1 : line;
                                  })
        .in(FloatRange::unit);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr x = read_broadcast(builder, operation, 0, index);
    const Expr line = builder.literal(operation.attributes.real("alpha")) * x + builder.literal(operation.attributes.real("beta"));
    const Expr below_one = builder.apply(Function::minimum, line, builder.literal(1));
    return builder.apply(Function::maximum, below_one, builder.literal(0));
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "HardSigmoid", 6, 21, &lift_hard_sigmoid, &export_hard_sigmoid<kFloats>},
        OnnxMapping{"", "HardSigmoid", 22, kNewest, &lift_hard_sigmoid, &export_hard_sigmoid<kFloats | kBfloat>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("hard_sigmoid", operation); }
};

XFLOW_OPERATOR_DEFINITION(HardSigmoid)

}  // namespace xflow::ops
