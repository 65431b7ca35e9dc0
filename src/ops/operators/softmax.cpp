// softmax: e^x / sum(e^x) along an axis (ONNX Softmax). Floating point interpreters subtract the maximum of
// x first (stable.h).
#include <algorithm>

#include "src/ops/common.h"

namespace xflow::ops {
namespace {

// Up to opset 12 the operator treats x as a matrix: the dimensions from `axis` (default 1) on are its
// columns. This equals the form with one axis if all later dimensions are 1.
bool softmax_is_one_axis(const ir::Shape& shape, std::size_t axis) {
  return std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end(), [](const ir::Poly& d) { return d.is_one(); });
}

Result<Lifted> lift_softmax_matrix(const OnnxNode& node) {
  XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || static_cast<std::size_t>(axis) >= rank ||
      !softmax_is_one_axis(node.input_type(0).shape, static_cast<std::size_t>(axis))) {
    return fail(ErrorCode::unsupported, "Softmax over several dimensions is a composition");
  }
  Lifted lifted;
  lifted.operands = {0};
  lifted.attributes.set("axis", ir::Poly(axis));
  return lifted;
}

Result<Lifted> lift_softmax(const OnnxNode& node) {
  Lifted lifted;
  lifted.operands = {0};
  lifted.attributes.set("axis", ir::Poly(node.integer("axis", -1)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_softmax(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  XFLOW_TRY(const std::int64_t axis, known_integer(operation, "axis"));
  if (opset < 13 && !softmax_is_one_axis(operation.operands[0].shape, static_cast<std::size_t>(axis))) {
    return fail(ErrorCode::unsupported, "Softmax over an axis that is not the last cannot be exported in this opset");
  }
  exported.attributes.emplace_back("axis", axis);
  return exported;
}

}  // namespace

struct Softmax {
  static Signature signature() {
    Signature signature;
    signature.name = "softmax";
    signature.operands = {{"x", TypeClass::floating}};
    AttributeSignature axis{"axis", AttributeKind::integer, ir::Poly(-1)};
    axis.axis = true;
    signature.attributes = {std::move(axis)};
    return signature;
  }
  static Types type(Typing& /*typing*/, const Operation& operation) {
    return one_type(operation.operands[0].data_type, operation.operands[0].shape);
  }
  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::bounded).in(FloatRange::unit); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const auto axis = static_cast<std::size_t>(operation.attributes.integer("axis").constant_term());
    std::vector<ir::Poly> at(index.begin(), index.end());
    const Expr x = builder.read(0, at);
    const Expr total = builder.sum(operation.operands[0].shape[axis], [&](const ir::Poly& k) {
      at[axis] = k;
      return builder.apply(Function::exp, builder.read(0, at));
    });
    return builder.apply(Function::exp, x) / total;
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Softmax", 1, 12, &lift_softmax_matrix, &export_softmax<kFloats>},
        OnnxMapping{"", "Softmax", 13, kNewest, &lift_softmax, &export_softmax<kFloats | kBfloat>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::softmax, operation));
    XFLOW_CHECK(add_integers(spec, operation, "axis"));
    return spec;
  }
};

XFLOW_OPERATOR_DEFINITION(Softmax)

}  // namespace xflow::ops
