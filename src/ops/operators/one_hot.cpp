// one_hot: adds a dimension of size `depth` at `axis`, which is `on` at the position of each index and `off`
// elsewhere (ONNX OneHot). Indices in [-depth, 0) count from the end. Any other index outside [0, depth)
// gives `off` everywhere.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {

struct OneHot {
  static Signature signature() {
    return {.name = "one_hot",
            .operands = {{.name = "indices", .type_class = TypeClass::integer}},
            .attributes = {{.name = "axis", .kind = AttributeKind::integer},
                           {.name = "depth", .kind = AttributeKind::integer},
                           {.name = "on", .kind = AttributeKind::real, .default_value = ir::Real(1)},
                           {.name = "off", .kind = AttributeKind::real, .default_value = ir::Real(0)},
                           {.name = "data_type", .kind = AttributeKind::data_type, .default_value = ir::DataType::float32}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType type = operation.attributes.data_type("data_type");
    if (!movement::has_arithmetic(type))
      return movement::ill_typed(fmt::format("expected a numeric type or boolean, found {}", ir::name(type)));
    ir::Shape shape = operation.operands[0].shape;
    const auto axis = operation.attributes.known_integer("axis");
    if (!axis || *axis < 0 || *axis > static_cast<std::int64_t>(shape.size())) {
      return movement::ill_typed(fmt::format("expected axis to be at least 0 and at most {}", shape.size()));
    }
    const ir::Poly& depth = operation.attributes.integer("depth");
    XFLOW_CHECK(typing.require_at_least_zero(depth, "depth of at least 0"));
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), depth);
    return one_type(type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::makes, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const auto axis = static_cast<std::ptrdiff_t>(movement::axis(operation));
    std::vector<ir::Poly> at(index.begin(), index.end());
    const ir::Poly& position = index[static_cast<std::size_t>(axis)];
    at.erase(at.begin() + axis);
    const ir::Poly named = builder.element(0, std::move(at));
    const Expr on = builder.literal(operation.attributes.real("on"));
    const Expr off = builder.literal(operation.attributes.real("off"));
    const Expr from_end = builder.select({equal(named + operation.attributes.integer("depth"), position)}, on, off);
    return builder.select({equal(named, position)}, on, from_end);
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
    if (!ir::is_integer(node.input_type(0).data_type)) return movement::cannot("lift OneHot of indices that are not integers");
    XFLOW_TRY(const std::size_t axis, movement::known_axis(node.integer("axis", -1), rank + 1));
    std::optional<std::vector<ir::Poly>> depth = node.integers(1);
    if (!depth) {
      // A floating depth is converted to int64.
      const auto real = node.reals(1);
      const auto value = real && real->size() == 1 ? (*real)[0].rational() : std::nullopt;
      if (!value || value->denominator() != 1) return movement::cannot("lift OneHot with a depth that is not known");
      depth = std::vector{ir::Poly(value->numerator())};
    }
    if (depth->size() != 1) return movement::ill_typed(fmt::format("expected one depth, found {}", depth->size()));
    const auto values = node.constant(2);
    if (!values || values->elements() != 2) return movement::cannot("lift OneHot with values that are not a small constant");
    ir::Real off;
    ir::Real on;
    if (ir::is_floating(values->data_type)) {
      XFLOW_TRY(const std::vector<double> numbers, ir::doubles(*values));
      off = ir::Real::from_double(numbers[0]);
      on = ir::Real::from_double(numbers[1]);
    } else {
      XFLOW_TRY(const std::vector<std::int64_t> numbers, ir::integers(*values));
      off = numbers[0];
      on = numbers[1];
    }
    return Lifted{{0},
                  {{"axis", ir::Poly(static_cast<std::int64_t>(axis))},
                   {"depth", (*depth)[0]},
                   {"on", on},
                   {"off", off},
                   {"data_type", values->data_type}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int /*opset*/) {
    const ir::DataType type = operation.attributes.data_type("data_type");
    const ir::Real& off = operation.attributes.real("off");
    const ir::Real& on = operation.attributes.real("on");
    // ONNX takes `off` and `on` as one constant: floating values from doubles, integers exactly.
    XFLOW_TRY(ir::Constant values, movement::fill_constant(type, {2}, off));
    XFLOW_CHECK(movement::fill_constant(type, {1}, on));
    if (ir::is_floating(type)) {
      XFLOW_TRY(values, ir::make_constant(type, {2}, std::vector<double>{off.to_double(), on.to_double()}));
    } else {
      values = ir::make_integer_constant(type, {2}, std::vector<std::int64_t>{off.rational()->numerator(), on.rational()->numerator()});
    }
    return Exported{{Exported::OperandInput{0}, Exported::IntegersInput{{operation.attributes.integer("depth")}, true},
                     Exported::ConstantInput{std::move(values)}},
                    {{"axis", *operation.attributes.known_integer("axis")}}};
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "OneHot", .since = 9, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(OneHot)

}  // namespace xflow::ops
