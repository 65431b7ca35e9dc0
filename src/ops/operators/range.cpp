// range: [start, start + step, ...]: `size` integers as numbers of `data_type`.
#include <fmt/format.h>

#include "src/ops/data_movement.h"

namespace xflow::ops {
namespace {

// The types for which ONNX Range is this operator. For float16 and bfloat16, versions and runtimes
// accumulate differently.
constexpr TypeSet kRangeTypes =
    type_set({ir::DataType::float32, ir::DataType::float64, ir::DataType::int16, ir::DataType::int32, ir::DataType::int64});

// A scalar input of Range as an integer polynomial.
Result<ir::Poly> range_input(const OnnxNode& node, std::size_t k) {
  if (ir::is_floating(node.input_type(k).data_type)) {
    const auto values = node.reals(k);
    const auto value = values && values->size() == 1 ? (*values)[0].rational() : std::nullopt;
    if (!value || value->denominator() != 1) return movement::cannot("lift Range over numbers that are not known integers");
    return ir::Poly(value->numerator());
  }
  XFLOW_TRY(const std::vector<ir::Poly> values, movement::known_input(node, k, "bounds"));
  if (values.size() != 1) return movement::ill_typed("expected the bounds of Range to be scalars");
  return values[0];
}

}  // namespace

struct Range {
  static Signature signature() {
    return {.name = "range",
            .attributes = {{.name = "start", .kind = AttributeKind::integer, .default_value = ir::Poly(0)},
                           {.name = "step", .kind = AttributeKind::integer, .default_value = ir::Poly(1)},
                           {.name = "size", .kind = AttributeKind::integer},
                           {.name = "data_type", .kind = AttributeKind::data_type, .default_value = ir::DataType::int64}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::DataType type = operation.attributes.data_type("data_type");
    if (!contains(kRangeTypes, type))
      return movement::ill_typed(fmt::format("expected a type of numbers that Range counts in, found {}", ir::name(type)));
    const ir::Poly& size = operation.attributes.integer("size");
    XFLOW_CHECK(typing.require_at_least_zero(size, "size of at least 0"));
    return one_type(type, {size});
  }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::makes, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return builder.integer(operation.attributes.integer("start") + operation.attributes.integer("step") * index[0]);
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    const ir::DataType type = node.input_type(0).data_type;
    if (!contains(kRangeTypes, type)) return movement::cannot(fmt::format("lift Range of {}", ir::name(type)));
    XFLOW_TRY(const ir::Poly start, range_input(node, 0));
    XFLOW_TRY(const ir::Poly limit, range_input(node, 1));
    XFLOW_TRY(const ir::Poly delta, range_input(node, 2));
    const auto step = delta.constant();
    if (!step || *step == 0) return movement::cannot("lift Range with a step that is not known");
    ir::Symbols& symbols = node.symbols();
    const ir::Poly size = *step > 0 ? symbols.floor_div(limit - start + (*step - 1), *step)
                                    : symbols.floor_div(start - limit + (-1 - *step), ir::Poly(0) - *step);
    return Lifted{{}, {{"start", start}, {"step", delta}, {"size", symbols.max(size, 0)}, {"data_type", type}}};
  }

  static Result<Exported> to_onnx(const Operation& operation, int /*opset*/) {
    const ir::DataType type = operation.attributes.data_type("data_type");
    const ir::Poly& start = operation.attributes.integer("start");
    const ir::Poly& step = operation.attributes.integer("step");
    Exported exported;
    for (const ir::Poly& value : {start, start + step * operation.attributes.integer("size"), step}) {
      if (type == ir::DataType::int64) {
        exported.inputs.emplace_back(Exported::IntegersInput{{value}, true});
        continue;
      }
      const auto known = value.constant();
      if (!known) return movement::cannot(fmt::format("write a symbolic bound of Range as {}", ir::name(type)));
      XFLOW_TRY(ir::Constant constant, movement::fill_constant(type, {}, ir::Real(*known)));
      exported.inputs.emplace_back(Exported::ConstantInput{std::move(constant)});
    }
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "Range", .since = 11, .lift = lift, .to_onnx = to_onnx}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Range)

}  // namespace xflow::ops
