#include <cmath>
#include <numbers>

#include "src/onnx/lift/composition_maker.h"

namespace xflow::onnx_io {

using ir::Poly;
using ir::Real;
using ir::ValueId;

// HardSwish(x) = x * hard_sigmoid(x; 1/6, 1/2).
CompositionValues lift_hard_swish(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const ir::Attributes attributes{{"alpha", Real::from_double(static_cast<double>(1.0F / 6.0F))}, {"beta", Real::from_double(0.5)}};
  return make.finish({make.mul(x, make.op("hard_sigmoid", {x}, attributes))});
}

// Swish(x) = x * sigmoid(alpha * x).
CompositionValues lift_swish(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const Real alpha = node.real("alpha", Real(1));
  const ValueId scaled = alpha == Real(1) ? x : make.mul(x, make.scalar(alpha.to_double(), x));
  return make.finish({make.mul(x, make.op("sigmoid", {scaled}))});
}

// Gelu(x) = x/2 * (1 + erf(x / sqrt 2)), or with approximate = tanh: x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).
CompositionValues lift_gelu(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const std::string approximate = node.word("approximate", "none");
  ValueId inner = x;
  if (approximate == "tanh") {
    const ValueId cube = make.op("pow", {x, make.scalar(3, x)});
    const ValueId sum = make.add(x, make.mul(cube, make.scalar(0.044715, x)));
    inner = make.op("tanh", {make.mul(sum, make.scalar(std::sqrt(2.0 / std::numbers::pi), x))});
  } else if (approximate == "none") {
    inner = make.op("erf", {make.div(x, make.scalar(std::numbers::sqrt2, x))});
  } else {
    make.refuse("approximate = " + approximate);
  }
  return make.finish({make.mul(make.mul(x, make.scalar(0.5, x)), make.add(inner, make.scalar(1.0, x)))});
}

// Mish(x) = x * tanh(softplus(x)).
CompositionValues lift_mish(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  return make.finish({make.mul(x, make.op("tanh", {make.op("softplus", {x})}))});
}

// Selu(x) = gamma * elu(x; alpha).
CompositionValues lift_selu(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const Real alpha = node.real("alpha", Real::from_double(1.67326319217681884765625));
  const Real gamma = node.real("gamma", Real::from_double(1.05070102214813232421875));
  return make.finish({make.mul(make.op("elu", {x}, {{"alpha", alpha}}), make.scalar(gamma.to_double(), x))});
}

// Celu(x) = max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) = alpha * elu(x / alpha; 1) for alpha > 0.
CompositionValues lift_celu(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const double alpha = node.real("alpha", Real(1)).to_double();
  if (!(alpha > 0)) return fail(ErrorCode::unsupported, "Celu: alpha is not positive");
  if (alpha == 1) return make.finish({make.op("elu", {x}, {{"alpha", Real(1)}})});
  const ValueId inner = make.op("elu", {make.div(x, make.scalar(alpha, x))}, {{"alpha", Real(1)}});
  return make.finish({make.mul(inner, make.scalar(alpha, x))});
}

// Softsign(x) = x / (1 + |x|).
CompositionValues lift_softsign(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  return make.finish({make.div(x, make.add(make.op("abs", {x}), make.scalar(1, x)))});
}

// ThresholdedRelu(x) = x where x > alpha, elsewhere 0.
CompositionValues lift_thresholded_relu(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const ValueId above = make.op("greater", {x, make.scalar(node.real("alpha", Real(1)).to_double(), x)});
  return make.finish({make.op("select", {above, x, make.scalar(0, x)})});
}

// Shrink(x) = x + bias where x < -lambd, x - bias where x > lambd, elsewhere 0.
CompositionValues lift_shrink(const NodeView& node) {
  if (!ir::is_floating(node.input_type(0).data_type)) return fail(ErrorCode::unsupported, "Shrink: operand is not floating");
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const double lambd = node.real("lambd", Real::from_double(0.5)).to_double();
  const ValueId bias = make.scalar(node.real("bias", Real(0)).to_double(), x);
  const ValueId below = make.op("less", {x, make.scalar(-lambd, x)});
  const ValueId above = make.op("greater", {x, make.scalar(lambd, x)});
  const ValueId high = make.op("select", {above, make.sub(x, bias), make.scalar(0, x)});
  return make.finish({make.op("select", {below, make.add(x, bias), high})});
}

// Clip(x, low, high) = min(max(x, low), high) for bounds that are not numbers: those are an operator of their own.
CompositionValues lift_clip(const NodeView& node) {
  if (auto numbers = lift_spelled(node)) return numbers;
  CompositionMaker make(node);
  ValueId y = node.operand(0);
  if (node.has_input(1)) y = make.op("maximum", {y, node.operand(1)});
  if (node.has_input(2)) y = make.op("minimum", {y, node.operand(2)});
  if (y == node.operand(0)) return fail(ErrorCode::unsupported, "Clip: no bounds");
  return make.finish({y});
}

// CastLike(x, y) = cast(x) to the element type of y.
CompositionValues lift_cast_like(const NodeView& node) {
  if (node.input_count() != 2) return fail(ErrorCode::unsupported, "CastLike: no second operand");
  CompositionMaker make(node);
  return make.finish({make.op("cast", {node.operand(0)}, {{"to", node.input_type(1).data_type}})});
}

}  // namespace xflow::onnx_io
