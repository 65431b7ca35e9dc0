// clip: min(max(x, min), max) (ONNX Clip with constant bounds). An infinite bound means no bound.
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {
namespace {

// The bounds are attributes up to opset 10, and optional inputs from opset 11 on.
Result<Lifted> lift_clip_attributes(const OnnxNode& node) {
  Lifted lifted;
  lifted.operands = {0};
  constexpr float kLargest = std::numeric_limits<float>::max();
  // The defaults of these attributes are the finite numbers of largest magnitude, which mean no bound.
  for (const std::string_view name : {"min", "max"}) {
    const ir::Real none = name == "min" ? ir::negative_infinity() : ir::positive_infinity();
    const ir::Real value = node.real(name, none);
    lifted.attributes.set(name, std::abs(value.to_double()) == kLargest ? none : value);
  }
  return lifted;
}

Result<Lifted> lift_clip_inputs(const OnnxNode& node) {
  Lifted lifted;
  lifted.operands = {0};
  lifted.attributes.set("min", ir::negative_infinity());
  lifted.attributes.set("max", ir::positive_infinity());
  for (const std::size_t k : {std::size_t{1}, std::size_t{2}}) {
    if (!node.has_input(k)) continue;
    const char* name = k == 1 ? "min" : "max";
    if (const auto reals = node.reals(k); reals && reals->size() == 1) {
      lifted.attributes.set(name, reals->front());
      continue;
    }
    const auto integers = node.integers(k);
    if (!integers || integers->size() != 1 || !integers->front().is_constant()) {
      return fail(ErrorCode::unsupported, "the bounds of Clip are not known before the run");
    }
    lifted.attributes.set(name, ir::Real(integers->front().constant_term()));
  }
  return lifted;
}

Result<Exported> export_clip_attributes(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<kFloats>(operation, opset));
  for (const char* name : {"min", "max"}) {
    XFLOW_TRY(const float bound, known_real(operation, name));
    if (std::isfinite(bound)) exported.attributes.emplace_back(name, bound);
  }
  return exported;
}

template <TypeSet types>
Result<Exported> export_clip_inputs(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  const ir::DataType type = operation.operands[0].data_type;
  for (const char* name : {"min", "max"}) {
    const ir::Real& bound = operation.attributes.real(name);
    if (bound.is_variable()) return fail(ErrorCode::unsupported, "cannot export a variable bound");
    const double value = bound.to_double();
    if (std::isinf(value)) {
      exported.inputs.emplace_back(Exported::Absent{});
    } else {
      if (ir::is_integer(type) && value != std::floor(value)) {
        return fail(ErrorCode::unsupported, "cannot export a fraction as the bound of integers");
      }
      XFLOW_TRY(ir::Constant constant, ir::make_constant(type, {}, std::span(&value, 1)));
      exported.inputs.emplace_back(Exported::ConstantInput{std::move(constant)});
    }
  }
  while (std::holds_alternative<Exported::Absent>(exported.inputs.back())) exported.inputs.pop_back();
  return exported;
}

}  // namespace

struct Clip {
  static Signature signature() {
    return pointwise_signature(
        "clip", 1, TypeClass::numeric,
        {{"min", AttributeKind::real, ir::negative_infinity()}, {"max", AttributeKind::real, ir::positive_infinity()}});
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect(FloatWork::chooses, FloatDomain::all, FloatError::chooses, ZeroSign::by_runtime,
                       [](std::span<const double> v, std::span<const double> a) -> double {
                         const double x = v[0] < a[0] ? a[0] : v[0];
                         return x > a[1] ? a[1] : x;
                       });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const ir::Real& low = operation.attributes.real("min");
    const ir::Real& high = operation.attributes.real("max");
    Expr x = read_broadcast(builder, operation, 0, index);
    if (!(low == ir::negative_infinity())) x = builder.apply(Function::maximum, x, builder.literal(low));
    if (!(high == ir::positive_infinity())) x = builder.apply(Function::minimum, x, builder.literal(high));
    return x;
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Clip", 6, 10, &lift_clip_attributes, &export_clip_attributes},
        OnnxMapping{"", "Clip", 11, 11, &lift_clip_inputs, &export_clip_inputs<kFloats>},
        OnnxMapping{"", "Clip", 12, 12, &lift_clip_inputs, &export_clip_inputs<kFloats | kIntegers>},
        OnnxMapping{"", "Clip", 13, kNewest, &lift_clip_inputs, &export_clip_inputs<kNumeric>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("clip", operation); }
};

XFLOW_OPERATOR_DEFINITION(Clip)

}  // namespace xflow::ops
