#include "src/ops/data_movement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace xflow::ops::movement {
Unexpected ill_typed(std::string message) { return fail(ErrorCode::ill_typed, std::move(message)); }
Unexpected cannot(const std::string& message) { return fail(ErrorCode::unsupported, "cannot " + message); }

Result<KernelSpec> copy_kernel(const Operation& operation, std::initializer_list<const char*> words) {
  XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::copy, operation));
  for (const char* word : words) spec.words.emplace_back(word, operation.attributes.word(word));
  for (const ir::Attribute& attribute : operation.attributes.list()) {
    if (const auto* real = std::get_if<ir::Real>(&attribute.value)) {
      spec.reals.emplace_back(attribute.name, real->to_double());
    } else if (std::holds_alternative<ir::Poly>(attribute.value) || std::holds_alternative<std::vector<ir::Poly>>(attribute.value)) {
      XFLOW_CHECK(add_integers(spec, operation, attribute.name));
    }
  }
  return spec;
}

std::size_t axis(const Operation& operation, std::string_view name) {
  return static_cast<std::size_t>(*operation.attributes.known_integer(name));
}

Result<void> require_length(const std::vector<ir::Poly>& list, std::size_t length, std::string_view what) {
  if (list.size() == length) return {};
  return ill_typed(fmt::format("expected {} to have {} element{}, found {}", what, length, length == 1 ? "" : "s", list.size()));
}

Result<ir::Shape> ranked_shape(const OnnxNode& node, std::size_t input) {
  const ir::TensorType& type = node.input_type(input);
  if (!type.ranked) return cannot(fmt::format("lift {} with an input of unknown rank", node.type()));
  return type.shape;
}

Result<std::vector<ir::Poly>> known_input(const OnnxNode& node, std::size_t input, std::string_view what) {
  auto values = node.has_input(input) ? node.integers(input) : std::nullopt;
  if (!values) return cannot(fmt::format("lift {} with {} that is not known", node.type(), what));
  return *std::move(values);
}

Result<std::size_t> known_axis(std::int64_t axis, std::size_t rank) {
  const auto dimensions = static_cast<std::int64_t>(rank);
  if (axis < -dimensions || axis >= dimensions) return ill_typed(fmt::format("expected an axis of {} dimensions, found {}", rank, axis));
  return static_cast<std::size_t>(axis < 0 ? axis + dimensions : axis);
}

Result<std::vector<std::size_t>> known_axes(std::span<const ir::Poly> axes, std::size_t rank) {
  std::vector<std::size_t> result;
  for (const ir::Poly& given : axes) {
    const auto value = given.constant();
    if (!value) return cannot("lift an axis that is not known");
    XFLOW_TRY(const std::size_t axis, known_axis(*value, rank));
    if (std::find(result.begin(), result.end(), axis) != result.end()) return ill_typed(fmt::format("expected axis {} once", axis));
    result.push_back(axis);
  }
  return result;
}

Result<std::optional<std::vector<std::size_t>>> axes_input_or_attribute(const OnnxNode& node, std::size_t input, std::size_t rank) {
  std::optional<std::vector<ir::Poly>> axes;
  if (node.has_input(input)) {
    XFLOW_TRY(axes, known_input(node, input, "axes"));
  } else if (const auto list = node.integer_list("axes")) {
    axes = ir::polys(*list);
  }
  if (!axes) return std::optional<std::vector<std::size_t>>();
  XFLOW_TRY(std::vector<std::size_t> known, known_axes(*axes, rank));
  return std::optional(std::move(known));
}

bool has_arithmetic(ir::DataType type) { return ir::is_floating(type) || ir::is_integer(type) || type == ir::DataType::boolean; }

Result<ir::Real> fill_value(const ir::Constant& constant) {
  if (constant.elements() != 1) return ill_typed(fmt::format("expected a value of one element, found {}", constant.elements()));
  if (!has_arithmetic(constant.data_type)) return cannot(fmt::format("read a value of type {}", ir::name(constant.data_type)));
  if (ir::is_floating(constant.data_type)) {
    XFLOW_TRY(const std::vector<double> values, ir::doubles(constant));
    return ir::Real::from_double(values[0]);
  }
  XFLOW_TRY(const std::vector<std::int64_t> values, ir::integers(constant));
  return ir::Real(values[0]);
}

Result<ir::Constant> fill_constant(ir::DataType type, std::vector<std::int64_t> dims, const ir::Real& value) {
  if (value.is_variable()) return cannot(fmt::format("write the variable {} as a constant", value.to_string()));
  if (!has_arithmetic(type)) return cannot(fmt::format("write a value of type {}", ir::name(type)));
  std::size_t elements = 1;
  for (const std::int64_t dim : dims) elements *= static_cast<std::size_t>(dim);
  if (ir::is_floating(type)) return ir::make_constant(type, std::move(dims), std::vector<double>(elements, value.to_double()));
  const auto rational = value.rational();
  if (!rational || rational->denominator() != 1) return cannot(fmt::format("write {} as {}", value.to_string(), ir::name(type)));
  return ir::make_integer_constant(type, std::move(dims), std::vector<std::int64_t>(elements, rational->numerator()));
}

}  // namespace xflow::ops::movement
