// full: a tensor of `shape` with all elements equal to one value (ONNX ConstantOfShape; numpy full). Rules
// also write it as zeros, ones, or a literal.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct Full {
  static Signature signature() {
    return {.name = "full",
            .attributes = {{.name = "value", .kind = AttributeKind::real},
                           {.name = "shape", .kind = AttributeKind::integers},
                           {.name = "data_type", .kind = AttributeKind::data_type, .default_value = ir::DataType::float32}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType type = operation.attributes.data_type("data_type");
    if (!movement::has_arithmetic(type)) {
      return movement::ill_typed(fmt::format("expected a numeric type or boolean, found {}", ir::name(type)));
    }
    // Rounding it would be another value than the one that proofs speak of.
    const ir::Real value = operation.attributes.real("value");
    const auto number = value.rational();
    if (!ir::is_floating(type) && !value.is_variable() && (!number || number->denominator() != 1))
      return movement::ill_typed(fmt::format("expected an integer as the elements of {}, found {}", ir::name(type), value.to_string()));
    XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "shape", 0));
    return one_type(type, operation.attributes.integers("shape"));
  }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::makes, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> /*index*/) {
    return builder.literal(operation.attributes.real("value"));
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(std::vector<ir::Poly> shape, movement::known_input(node, 0, "a shape"));
    ir::Real value = 0;
    ir::DataType type = ir::DataType::float32;
    if (const auto tensor = node.tensor("value")) {
      type = tensor->data_type;
      XFLOW_TRY(value, movement::fill_value(*tensor));
    }
    return Lifted{{}, {{"value", value}, {"shape", std::move(shape)}, {"data_type", type}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int /*opset*/) {
    const ir::DataType type = operation.attributes.data_type("data_type");
    XFLOW_TRY(ir::Constant value, movement::fill_constant(type, {1}, operation.attributes.real("value")));
    return Exported{{Exported::IntegersInput{operation.attributes.integers("shape")}}, {{"value", std::move(value)}}};
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "ConstantOfShape", .since = 9, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Full)

}  // namespace xflow::ops
