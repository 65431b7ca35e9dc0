// conv_transpose: the transposed convolution of x[N, C, spatial...] with w[C, O / groups, window...] (ONNX
// ConvTranspose without bias).
//
//   y[n, o, t] = sum(c, r) x[n, g C/groups + c, q] w[g C/groups + c, o mod O/groups, r]
//   where t + pad - r dilation = q stride, q in x;  g = floor(o / (O / groups))
#include <fmt/format.h>

#include <algorithm>

#include "src/ops/window.h"

namespace xflow::ops {
namespace {

std::span<const ir::Poly> transposed_kernel(const ir::TensorType& w) { return std::span(w.shape).subspan(2); }

// The size of the result along an axis: stride (size - 1) + output_padding + reach - pads.
ir::Poly transposed_size(const WindowAxis& axis, const ir::Poly& output_padding) {
  return axis.stride * (axis.size - 1) + output_padding + axis.reach() - axis.pad_begin - axis.pad_end;
}

// Sets the pads that give the result the size of auto_pad or output_shape. If the total is odd, SAME_UPPER
// puts the extra element at the end, otherwise it is at the beginning. A negative total becomes output
// padding instead.
Result<void> resolve_transposed_pads(const OnnxNode& node, std::span<const ir::Poly> kernel, std::vector<ir::Poly>& output_padding,
                                     ir::Attributes& attributes) {
  const std::size_t count = kernel.size();
  const std::string auto_pad = node.word("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const auto output_shape = node.integer_list("output_shape");
  if (!same && !output_shape) return {};
  if (output_shape && output_shape->size() != count) {
    return fail(ErrorCode::unsupported, fmt::format("output_shape has {} elements where {} are expected", output_shape->size(), count));
  }
  ir::Symbols& symbols = node.symbols();
  std::vector<ir::Poly> pads(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    const WindowAxis axis{node.input_type(0).shape[k + 2],     kernel[k], attributes.integers("strides")[k],
                          attributes.integers("dilations")[k], 0,         0};
    const ir::Poly wanted = output_shape ? ir::Poly((*output_shape)[k]) : axis.size * axis.stride;
    ir::Poly total = transposed_size(axis, output_padding[k]) - wanted;
    if (const auto known = total.constant(); known && *known < 0) {
      output_padding[k] -= total;
      total = 0;
    }
    if (symbols.lower_bound(total).value_or(-1) < 0) {
      return fail(ErrorCode::unsupported, "the padding of this transposed convolution may be negative");
    }
    const ir::Poly half = symbols.floor_div(total, 2);
    pads[k] = auto_pad == "SAME_UPPER" ? half : total - half;
    pads[k + count] = total - pads[k];
  }
  attributes.set("pads", std::move(pads));
  return {};
}

Result<Lifted> lift_conv_transpose(const OnnxNode& node) {
  if (node.has_input(2)) return fail(ErrorCode::unsupported, "a transposed convolution with bias is a composition");
  XFLOW_TRY(const std::size_t rank, input_rank(node, 0));
  XFLOW_TRY(const std::size_t weight_rank, input_rank(node, 1));
  if (rank < 3 || rank > 5 || weight_rank != rank) {
    return fail(ErrorCode::unsupported, "a transposed convolution has 1 to 3 spatial dimensions");
  }
  Lifted lifted;
  lifted.operands = {0, 1};
  const auto kernel = transposed_kernel(node.input_type(1));
  XFLOW_TRY(lifted.attributes, lift_window(node, kernel));
  const auto given = node.integer_list("output_padding");
  if (given && given->size() != kernel.size()) {
    return fail(ErrorCode::unsupported, fmt::format("output_padding has {} elements where {} are expected", given->size(), kernel.size()));
  }
  std::vector<ir::Poly> output_padding = given ? ir::polys(*given) : std::vector<ir::Poly>(kernel.size());
  XFLOW_CHECK(resolve_transposed_pads(node, kernel, output_padding, lifted.attributes));
  lifted.attributes.set("output_padding", std::move(output_padding));
  lifted.attributes.set("groups", ir::Poly(node.integer("group", 1)));
  return lifted;
}

template <TypeSet types>
Result<Exported> export_conv_transpose(const Operation& operation, int opset) {
  XFLOW_TRY(Exported exported, export_operands_of<types>(operation, opset));
  const ir::Shape& w = operation.operands[1].shape;
  if (auto kernel = ir::constant_shape(ir::Shape(w.begin() + 2, w.end())))
    exported.attributes.emplace_back("kernel_shape", *std::move(kernel));
  XFLOW_CHECK(export_window(operation, exported, true));
  XFLOW_TRY(const std::int64_t groups, known_integer(operation, "groups"));
  exported.attributes.emplace_back("group", groups);
  XFLOW_TRY(std::vector<std::int64_t> output_padding, known_integers(operation, "output_padding"));
  if (output_padding != std::vector<std::int64_t>(output_padding.size(), 0)) {
    XFLOW_TRY(const std::vector<std::int64_t> strides, known_integers(operation, "strides"));
    XFLOW_TRY(const std::vector<std::int64_t> dilations, known_integers(operation, "dilations"));
    for (std::size_t k = 0; k < output_padding.size(); ++k) {
      if (output_padding[k] < std::max(strides[k], dilations[k])) continue;
      return fail(ErrorCode::unsupported, "output_padding must be less than the stride or the dilation");
    }
    exported.attributes.emplace_back("output_padding", std::move(output_padding));
  }
  return exported;
}

}  // namespace

struct ConvTranspose {
  static Signature signature() {
    Signature signature;
    signature.name = "conv_transpose";
    signature.operands = {{"x", TypeClass::floating}, {"w", TypeClass::floating}};
    signature.attributes = window_attributes();
    AttributeSignature output_padding{"output_padding", AttributeKind::integers, std::vector<ir::Poly>{ir::Poly(0)}};
    output_padding.per_spatial = 1;
    signature.attributes.push_back(std::move(output_padding));
    signature.attributes.push_back({"groups", AttributeKind::integer, ir::Poly(1)});
    return signature;
  }

  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_CHECK(require_same_data_type(operation, {0, 1}));
    XFLOW_CHECK(check_window(typing, operation));
    const ir::TensorType& x = operation.operands[0];
    const ir::TensorType& w = operation.operands[1];
    XFLOW_CHECK(require_same_rank(typing.symbols(), operation, "x", "w"));
    const ir::Poly& groups = operation.attributes.integer("groups");
    XFLOW_CHECK(typing.require_at_least_zero(groups - 1, "groups to be at least 1"));
    XFLOW_CHECK(typing.require_equal(x.shape[1], w.shape[0], "the channels of x to be those of w"));
    const ir::Poly per_group = typing.symbols().floor_div(w.shape[0], groups);
    XFLOW_CHECK(typing.require_equal(w.shape[0], per_group * groups, "the channels of x to be a multiple of groups"));
    const std::vector<ir::Poly>& output_padding = operation.attributes.integers("output_padding");
    XFLOW_CHECK(require_size(operation.attributes, "output_padding", x.rank() - 2));
    XFLOW_CHECK(require_elements_at_least(typing, operation.attributes, "output_padding", 0));
    ir::Shape shape = {x.shape[0], w.shape[1] * groups};
    const std::vector<WindowAxis> axes = window_axes(operation, transposed_kernel(w));
    for (std::size_t k = 0; k < axes.size(); ++k) {
      shape.push_back(transposed_size(axes[k], output_padding[k]));
      XFLOW_CHECK(typing.require_at_least_zero(shape.back(), "the pads to leave a size of at least 0"));
    }
    return one_type(x.data_type, std::move(shape));
  }

  static FloatEffect float_effect() { return FloatEffect::accumulating(FloatError::contracts); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    ir::Symbols& symbols = builder.symbols();
    const ir::Shape& w = operation.operands[1].shape;
    const ir::Poly& groups = operation.attributes.integer("groups");
    const ir::Poly group = groups.is_one() ? ir::Poly(0) : symbols.floor_div(index[1], w[1]);
    const ir::Poly channels = symbols.floor_div(w[0], groups);
    const std::vector<WindowAxis> axes = window_axes(operation, transposed_kernel(operation.operands[1]));
    std::vector<ir::Poly> extents(w.begin() + 1, w.end());
    extents[0] = channels;
    return builder.sum(extents, [&](const std::vector<ir::Poly>& binders) {
      const ir::Poly channel = group * channels + binders[0];
      std::vector<ir::Poly> read = {index[0], channel};
      std::vector<ir::Poly> weight = {channel, index[1] - group * w[1]};
      Condition hits;
      for (std::size_t k = 0; k < axes.size(); ++k) {
        const ir::Poly distance = index[k + 2] + axes[k].pad_begin - binders[k + 1] * axes[k].dilation;
        const ir::Poly position = symbols.floor_div(distance, axes[k].stride);
        hits.push_back(equal(position * axes[k].stride, distance));
        hits.push_back({position, Relation::at_least_zero});
        hits.push_back(less_than(position, axes[k].size));
        read.push_back(position);
        weight.push_back(binders[k + 1]);
      }
      return builder.select(std::move(hits), builder.read(0, std::move(read)), builder.literal(0)) * builder.read(1, std::move(weight));
    });
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "ConvTranspose", 1, 21, &lift_conv_transpose, &export_conv_transpose<kFloats>},
        OnnxMapping{"", "ConvTranspose", 22, kNewest, &lift_conv_transpose, &export_conv_transpose<kFloats | kBfloat>},
    };
  }

  static Result<KernelSpec> kernel(const Operation& operation) {
    XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::convolution, operation));
    XFLOW_CHECK(add_window(spec, operation));
    XFLOW_CHECK(add_integers(spec, operation, "groups"));
    XFLOW_CHECK(add_integers(spec, operation, "output_padding"));
    return spec;
  }
};

XFLOW_OPERATOR_DEFINITION(ConvTranspose)

}  // namespace xflow::ops
