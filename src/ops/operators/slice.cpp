// slice: out[i] = x[starts + steps * i], of shape `sizes`. The three lists have one element per dimension.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "src/ops/data_movement.h"

namespace xflow::ops {
namespace {

// A bound of an ONNX slice of at least this value means "to the end", and of at most its negation "to the
// front". Exporters write 2^31 - 1 and 2^63 - 1, and no dimension is as large.
constexpr std::int64_t kSliceToTheEnd = std::numeric_limits<std::int32_t>::max();

struct SliceRange {
  ir::Poly start;
  ir::Poly size;
};

// Whether a bound counts from the end (is negative). Error::unsupported if that is not known.
Result<bool> counts_from_end(const ir::Symbols& symbols, const ir::Poly& bound) {
  if (symbols.lower_bound(bound).value_or(-1) >= 0) return false;
  if (symbols.lower_bound(ir::Poly(-1) - bound).value_or(-1) >= 0) return true;
  return movement::cannot(fmt::format("tell whether the bound {} of Slice is negative", symbols.to_string(bound)));
}

// The range for a positive step. A bound b counted from the front is min(b, d). A bound counted from the end
// is max(d + b, 0) = d - min(-b, d). If the bounds are known to be in order, the size needs no maximum with
// 0.
Result<SliceRange> slice_upwards(ir::Symbols& symbols, const ir::Poly& d, const ir::Poly& start, const ir::Poly& end, std::int64_t step) {
  XFLOW_TRY(const bool start_from_end, counts_from_end(symbols, start));
  XFLOW_TRY(const bool end_from_end, counts_from_end(symbols, end));
  const auto place = [&](const ir::Poly& bound, bool from_end) -> ir::Poly {
    const auto constant = bound.constant();
    if (constant && *constant <= -kSliceToTheEnd) return 0;
    if (constant && *constant >= kSliceToTheEnd) return d;
    return from_end ? d - symbols.min(-bound, d) : symbols.min(bound, d);
  };
  const ir::Poly last = place(end, end_from_end);
  // A constant start beyond a dynamic dimension selects nothing: the size is then 0. Clamping the start
  // would only hide the constant.
  const bool clamped = start_from_end || !start.is_constant() || d.is_constant();
  const ir::Poly first = clamped ? place(start, start_from_end) : start;
  const bool both_from_end = start_from_end && end_from_end && symbols.lower_bound(end - start).value_or(-1) >= 0;
  const bool in_order = first.is_zero() || both_from_end || (clamped && last == d);
  const ir::Poly size = symbols.floor_div(last - first + (step - 1), step);
  return SliceRange{first, in_order ? size : symbols.max(size, ir::Poly(0))};
}

// The range for a negative step: from `start`, at most d - 1, down to `end` (exclusive), at least -1.
Result<SliceRange> slice_downwards(ir::Symbols& symbols, const ir::Poly& d, const ir::Poly& start, const ir::Poly& end, std::int64_t step) {
  const auto constant_start = start.constant();
  const auto constant_end = end.constant();
  ir::Poly first = d - 1;
  if (!constant_start || *constant_start < kSliceToTheEnd) {
    XFLOW_TRY(const bool from_end, counts_from_end(symbols, start));
    first = from_end ? symbols.max(d + start, ir::Poly(0)) : symbols.min(start, d - 1);
  }
  ir::Poly last = -1;
  if (!constant_end || *constant_end > -kSliceToTheEnd) {
    XFLOW_TRY(const bool from_end, counts_from_end(symbols, end));
    last = from_end ? symbols.max(d + end, ir::Poly(-1)) : symbols.min(end, d - 1);
  }
  return SliceRange{first, symbols.max(symbols.floor_div(first - last + (-step - 1), -step), ir::Poly(0))};
}

// The arguments of an ONNX Slice: the dimensions that are not taken whole, with exclusive ends.
struct SliceParts {
  std::vector<std::int64_t> axes;
  std::vector<ir::Poly> starts;
  std::vector<ir::Poly> ends;
  std::vector<ir::Poly> steps;
};

Result<SliceParts> slice_parts(const Operation& operation) {
  const ir::Shape& shape = operation.operands[0].shape;
  if (shape.empty()) return movement::cannot("write a slice of a scalar");
  const auto& starts = operation.attributes.integers("starts");
  const auto& sizes = operation.attributes.integers("sizes");
  const auto& steps = operation.attributes.integers("steps");
  SliceParts parts;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const bool whole = starts[k].is_zero() && sizes[k] == shape[k] && steps[k].is_one();
    if (whole && !(k + 1 == shape.size() && parts.axes.empty())) continue;
    ir::Poly end = starts[k] + steps[k] * sizes[k];
    if (steps[k].constant().value_or(1) < 0) {
      // ONNX counts a negative end from the end of the dimension. An end before the first element is
      // exported as the smallest int64.
      if (!end.is_constant()) return movement::cannot("write the symbolic end of a slice that goes backwards");
      if (end.constant_term() < 0) end = std::numeric_limits<std::int64_t>::min();
    }
    parts.axes.push_back(static_cast<std::int64_t>(k));
    parts.starts.push_back(starts[k]);
    parts.ends.push_back(std::move(end));
    parts.steps.push_back(steps[k]);
  }
  return parts;
}

}  // namespace

struct Slice {
  static Signature signature() {
    return {.name = "slice",
            .operands = {{.name = "x"}},
            .attributes = {{.name = "starts", .kind = AttributeKind::integers, .per_dimension = true},
                           {.name = "sizes", .kind = AttributeKind::integers, .per_dimension = true},
                           {.name = "steps", .kind = AttributeKind::integers, .per_dimension = true}},
            .moves_data = true};
  }

  static Types type(Typing& typing, const Operation& operation) {
    const ir::TensorType& x = operation.operands[0];
    for (const std::string_view list : {"starts", "sizes", "steps"}) {
      XFLOW_CHECK(require_size(operation.attributes, list, x.rank()));
    }
    for (std::size_t k = 0; k < x.rank(); ++k) {
      const ir::Poly& start = operation.attributes.integers("starts")[k];
      const ir::Poly& size = operation.attributes.integers("sizes")[k];
      const ir::Poly& step = operation.attributes.integers("steps")[k];
      if (step.is_zero()) return movement::ill_typed("expected steps other than 0");
      XFLOW_CHECK(typing.require_at_least_zero(size, "sizes of at least 0"));
      if (size.is_zero()) continue;
      const ir::Poly last = start + step * (size - 1);
      const bool down = step.constant().value_or(1) < 0;
      if (!step.is_constant()) XFLOW_CHECK(typing.require_at_least_zero(step - 1, "steps of at least 1"));
      XFLOW_CHECK(typing.require_at_least_zero(down ? last : start, fmt::format("the first index in dimension {} to be at least 0", k)));
      XFLOW_CHECK(typing.require_at_least_zero(x.shape[k] - 1 - (down ? start : last),
                                               fmt::format("at least 0 elements after the slice of dimension {}", k)));
    }
    return one_type(x.data_type, operation.attributes.integers("sizes"));
  }

  static FloatEffect float_effect() { return FloatEffect::moving().increasing(); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    std::vector<ir::Poly> from;
    from.reserve(index.size());
    for (std::size_t k = 0; k < index.size(); ++k) {
      from.push_back(operation.attributes.integers("starts")[k] + operation.attributes.integers("steps")[k] * index[k]);
    }
    return builder.read(0, std::move(from));
  }

  static Result<Lifted> lift(const OnnxNode& node) {
    XFLOW_TRY(const ir::Shape shape, movement::ranked_shape(node, 0));
    std::vector<ir::Poly> given_starts;
    std::vector<ir::Poly> given_ends;
    std::vector<ir::Poly> given_steps;
    std::optional<std::vector<ir::Poly>> given_axes;
    if (node.opset() < 10) {
      given_starts = ir::polys(node.integer_list("starts").value_or(std::vector<std::int64_t>{}));
      given_ends = ir::polys(node.integer_list("ends").value_or(std::vector<std::int64_t>{}));
      if (const auto axes = node.integer_list("axes")) given_axes = ir::polys(*axes);
    } else {
      XFLOW_TRY(given_starts, movement::known_input(node, 1, "starts"));
      XFLOW_TRY(given_ends, movement::known_input(node, 2, "ends"));
      if (node.has_input(3)) {
        XFLOW_TRY(given_axes, movement::known_input(node, 3, "axes"));
      }
      if (node.has_input(4)) {
        XFLOW_TRY(given_steps, movement::known_input(node, 4, "steps"));
      }
    }
    if (given_steps.empty()) given_steps.assign(given_starts.size(), ir::Poly(1));
    std::vector<std::size_t> axes;
    if (given_axes) {
      XFLOW_TRY(axes, movement::known_axes(*given_axes, shape.size()));
    } else {
      for (std::size_t k = 0; k < given_starts.size(); ++k) axes.push_back(k);
    }
    if (given_ends.size() != given_starts.size() || axes.size() != given_starts.size() || given_steps.size() != given_starts.size() ||
        axes.size() > shape.size()) {
      return movement::ill_typed("expected starts, ends, axes and steps of Slice to have one length, at most the rank");
    }
    std::vector<ir::Poly> starts(shape.size(), ir::Poly(0));
    std::vector<ir::Poly> sizes = shape;
    std::vector<ir::Poly> steps(shape.size(), ir::Poly(1));
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto step = given_steps[k].constant();
      if (!step) return movement::cannot("lift Slice with steps that are not known");
      // The negation of the smallest int64 does not fit int64.
      if (*step == 0 || *step == std::numeric_limits<std::int64_t>::min()) return movement::ill_typed("expected steps other than 0");
      const auto range_of = *step > 0 ? slice_upwards : slice_downwards;
      XFLOW_TRY(const SliceRange range, range_of(node.symbols(), shape[axes[k]], given_starts[k], given_ends[k], *step));
      starts[axes[k]] = range.size.is_zero() ? ir::Poly(0) : range.start;
      sizes[axes[k]] = range.size;
      steps[axes[k]] = range.size.is_one() ? ir::Poly(1) : *step;
    }
    return Lifted{{0}, {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}}};
  }

  static Result<Exported> export_attributes(const Operation& operation, int /*opset*/) {
    XFLOW_TRY(const SliceParts parts, slice_parts(operation));
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> ends;
    for (std::size_t k = 0; k < parts.axes.size(); ++k) {
      const auto start = parts.starts[k].constant();
      const auto end = parts.ends[k].constant();
      if (!start || !end || !parts.steps[k].is_one()) return movement::cannot("write symbolic bounds or steps as attributes of Slice");
      starts.push_back(*start);
      ends.push_back(*end);
    }
    return Exported{{Exported::OperandInput{0}}, {{"starts", std::move(starts)}, {"ends", std::move(ends)}, {"axes", parts.axes}}};
  }

  static Result<Exported> export_inputs(const Operation& operation, int /*opset*/) {
    XFLOW_TRY(SliceParts parts, slice_parts(operation));
    Exported exported{{Exported::OperandInput{0}, Exported::IntegersInput{std::move(parts.starts)},
                       Exported::IntegersInput{std::move(parts.ends)}, Exported::IntegersInput{ir::polys(parts.axes)}},
                      {}};
    if (std::any_of(parts.steps.begin(), parts.steps.end(), [](const ir::Poly& step) { return !step.is_one(); })) {
      exported.inputs.emplace_back(Exported::IntegersInput{std::move(parts.steps)});
    }
    return exported;
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        {.domain = "", .type = "Slice", .since = 1, .until = 9, .lift = lift, .to_onnx = export_attributes},
        {.domain = "", .type = "Slice", .since = 10, .lift = lift, .to_onnx = export_inputs},
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return movement::copy_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Slice)

}  // namespace xflow::ops
