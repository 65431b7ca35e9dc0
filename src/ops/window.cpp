#include "src/ops/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace xflow::ops {

std::vector<WindowAxis> window_axes(const Operation& operation, std::span<const ir::Poly> kernel) {
  const ir::Shape& shape = operation.operands[0].shape;
  const std::vector<ir::Poly>& strides = operation.attributes.integers("strides");
  const std::vector<ir::Poly>& dilations = operation.attributes.integers("dilations");
  const std::vector<ir::Poly>& pads = operation.attributes.integers("pads");
  const std::size_t count = shape.size() - 2;
  assert(kernel.size() == count && pads.size() == 2 * count);
  std::vector<WindowAxis> axes;
  axes.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    axes.push_back(WindowAxis{shape[k + 2], kernel[k], strides[k], dilations[k], pads[k], pads[k + count]});
  }
  return axes;
}

Result<void> check_window(Typing& typing, const Operation& operation) {
  const ir::TensorType& x = operation.operands[0];
  if (x.rank() < 3 || x.rank() > 5) {
    return fail(ErrorCode::ill_typed, fmt::format("expected x to have 3 to 5 dimensions, found {}", ir::to_string(typing.symbols(), x)));
  }
  const std::size_t count = x.rank() - 2;
  XFLOW_CHECK(require_size(operation.attributes, "strides", count));
  XFLOW_CHECK(require_size(operation.attributes, "dilations", count));
  XFLOW_CHECK(require_size(operation.attributes, "pads", 2 * count));
  XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "strides", 1));
  XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "dilations", 1));
  return require_elements_at_least(typing, operation.attributes, "pads", 0);
}

Result<ir::Poly> window_count(Typing& typing, const WindowAxis& axis, bool ceil_mode) {
  ir::Symbols& symbols = typing.symbols();
  const ir::Poly slack = axis.size + axis.pad_begin + axis.pad_end - axis.reach();
  if (const auto known = slack.constant(); known && *known < 0) {
    return fail(ErrorCode::ill_typed,
                fmt::format("expected the padded input to cover the window, found {} elements and a window of {}",
                            symbols.to_string(axis.size + axis.pad_begin + axis.pad_end), symbols.to_string(axis.reach())));
  }
  XFLOW_CHECK(typing.require_at_least_zero(slack, "the padded input to cover the window"));
  if (!ceil_mode) return symbols.floor_div(slack, axis.stride) + 1;
  return symbols.min(symbols.ceil_div(slack, axis.stride), symbols.floor_div(axis.size + axis.pad_begin - 1, axis.stride)) + 1;
}

void add_in_range(Condition& condition, const WindowAxis& axis, const ir::Poly& position, bool ceil_mode) {
  if (!axis.pad_begin.is_zero()) condition.push_back({position, Relation::at_least_zero});
  // Without ceil_mode the last window ends at most pad_end elements after the input.
  if (!axis.pad_end.is_zero() || ceil_mode) condition.push_back(less_than(position, axis.size));
}

Result<ir::Attributes> lift_window(const OnnxNode& node, std::span<const ir::Poly> kernel) {
  const std::size_t count = kernel.size();
  const auto list = [&](std::string_view name, std::size_t size, std::int64_t otherwise) -> Result<std::vector<ir::Poly>> {
    const auto values = node.integer_list(name);
    if (!values || values->empty()) return std::vector<ir::Poly>(size, ir::Poly(otherwise));
    if (values->size() != size) {
      return fail(ErrorCode::unsupported, fmt::format("attribute {} has {} elements where {} are expected", name, values->size(), size));
    }
    return ir::polys(*values);
  };
  XFLOW_TRY(std::vector<ir::Poly> strides, list("strides", count, 1));
  XFLOW_TRY(std::vector<ir::Poly> dilations, list("dilations", count, 1));
  XFLOW_TRY(std::vector<ir::Poly> pads, list("pads", 2 * count, 0));

  const std::string auto_pad = node.word("auto_pad", "NOTSET");
  if (auto_pad == "VALID") {
    pads.assign(2 * count, ir::Poly(0));
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    // The pads for ceil(size / stride) windows. If the total is odd, SAME_UPPER puts the extra element at
    // the end.
    ir::Symbols& symbols = node.symbols();
    for (std::size_t k = 0; k < count; ++k) {
      const ir::Poly& size = node.input_type(0).shape[k + 2];
      const ir::Poly needed = (symbols.ceil_div(size, strides[k]) - 1) * strides[k] + (kernel[k] - 1) * dilations[k] + 1 - size;
      const ir::Poly total = symbols.max(needed, ir::Poly(0));
      const ir::Poly half = symbols.floor_div(total, 2);
      pads[k] = auto_pad == "SAME_UPPER" ? half : total - half;
      pads[k + count] = total - pads[k];
    }
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return fail(ErrorCode::unsupported, fmt::format("auto_pad {} is not known", auto_pad));
  }

  ir::Attributes attributes;
  attributes.set("strides", std::move(strides));
  attributes.set("dilations", std::move(dilations));
  attributes.set("pads", std::move(pads));
  return attributes;
}

Result<void> export_window(const Operation& operation, Exported& exported, bool always_dilations) {
  XFLOW_TRY(std::vector<std::int64_t> strides, known_integers(operation, "strides"));
  XFLOW_TRY(std::vector<std::int64_t> dilations, known_integers(operation, "dilations"));
  XFLOW_TRY(std::vector<std::int64_t> pads, known_integers(operation, "pads"));
  exported.attributes.emplace_back("strides", std::move(strides));
  exported.attributes.emplace_back("pads", std::move(pads));
  const bool dense = std::all_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d == 1; });
  if (always_dilations || !dense) exported.attributes.emplace_back("dilations", std::move(dilations));
  return {};
}

std::vector<AttributeSignature> window_attributes() {
  const auto row = [](std::string_view name, std::int64_t element, int per_spatial) {
    AttributeSignature signature{name, AttributeKind::integers, std::vector<ir::Poly>{ir::Poly(element)}};
    signature.per_spatial = per_spatial;
    return signature;
  };
  return {row("strides", 1, 1), row("pads", 0, 2), row("dilations", 1, 1)};
}

Result<void> add_window(KernelSpec& spec, const Operation& operation) {
  XFLOW_CHECK(add_integers(spec, operation, "strides"));
  XFLOW_CHECK(add_integers(spec, operation, "pads"));
  return add_integers(spec, operation, "dilations");
}

Result<ir::Shape> convolution_shape(Typing& typing, const Operation& operation, std::size_t w_operand) {
  XFLOW_CHECK(check_window(typing, operation));
  const ir::TensorType& x = operation.operands[0];
  const ir::TensorType& w = operation.operands[w_operand];
  if (x.rank() != w.rank()) {
    return fail(ErrorCode::ill_typed, fmt::format("expected 'x' and 'w' to have equally many dimensions, found {} and {}",
                                                  ir::to_string(typing.symbols(), x), ir::to_string(typing.symbols(), w)));
  }
  const ir::Poly& groups = operation.attributes.integer("groups");
  XFLOW_CHECK(typing.require_at_least_zero(groups - 1, "groups to be at least 1"));
  XFLOW_CHECK(typing.require_equal(x.shape[1], w.shape[1] * groups, "the channels of x to be those of w times groups"));
  const ir::Poly per_group = typing.symbols().floor_div(w.shape[0], groups);
  XFLOW_CHECK(typing.require_equal(w.shape[0], per_group * groups, "the output channels to be a multiple of groups"));
  ir::Shape shape = {x.shape[0], w.shape[0]};
  for (const WindowAxis& axis : window_axes(operation, std::span(w.shape).subspan(2))) {
    XFLOW_TRY(ir::Poly count, window_count(typing, axis));
    shape.push_back(std::move(count));
  }
  return shape;
}

Expr convolution_sum(Builder& builder, const Operation& operation, std::size_t w_operand, std::span<const ir::Poly> index,
                     const ConvolutionTerm& term) {
  ir::Symbols& symbols = builder.symbols();
  const ir::Shape& w = operation.operands[w_operand].shape;
  const ir::Poly& groups = operation.attributes.integer("groups");
  const ir::Poly group = groups.is_one() ? ir::Poly(0) : symbols.floor_div(index[1], symbols.floor_div(w[0], groups));
  const std::vector<WindowAxis> axes = window_axes(operation, std::span(w).subspan(2));
  std::vector<ir::Poly> extents(w.begin() + 1, w.end());
  return builder.sum(extents, [&](const std::vector<ir::Poly>& binders) {
    std::vector<ir::Poly> read = {index[0], group * w[1] + binders[0]};
    std::vector<ir::Poly> weight = {index[1], binders[0]};
    Condition in_range;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const ir::Poly position = window_position(axes[k], index[k + 2], binders[k + 1]);
      add_in_range(in_range, axes[k], position);
      read.push_back(position);
      weight.push_back(binders[k + 1]);
    }
    return term(in_range, read, weight);
  });
}

}  // namespace xflow::ops
