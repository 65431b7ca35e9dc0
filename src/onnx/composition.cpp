#include "src/onnx/composition.h"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "src/onnx/spelling_table.h"
#include "src/ops/operator.h"

namespace xflow::onnx_io {
namespace {

using ir::Poly;
using ir::Real;
using ir::ValueId;
using Values = Result<std::vector<ValueId>>;

// Applies operators one after the other; after the first failure nothing is applied and `finish` returns the error.
class Maker {
 public:
  explicit Maker(const NodeView& node) : node_(node), arena_(node.arena()) {}

  ValueId op(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    if (error_) return arena_.absent();
    auto result = ops::apply(arena_, name, std::move(operands), std::move(attributes));
    if (!result) {
      error_ = std::move(result).error();
      return arena_.absent();
    }
    return *result;
  }
  // A constant scalar of the element type of `like`, rounded once.
  ValueId scalar(double value, ValueId like) {
    auto constant = ir::make_constant(arena_.type(like).data_type, {}, std::span<const double>(&value, 1));
    if (!constant) {
      if (!error_) error_ = std::move(constant).error();
      return arena_.absent();
    }
    return arena_.constant(*std::move(constant));
  }
  ValueId add(ValueId a, ValueId b) { return op("add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return op("sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op("mul", {a, b}); }
  ValueId div(ValueId a, ValueId b) { return op("div", {a, b}); }
  ValueId reshape(ValueId x, std::vector<Poly> shape) { return op("reshape", {x}, {{"shape", std::move(shape)}}); }
  ValueId reduce_mean(ValueId x, const std::vector<std::int64_t>& axes) {
    return op("reduce_mean", {x}, {{"axes", ir::polys(axes)}, {"keep_dims", Poly(1)}});
  }
  // v of shape [C] as [C, 1, ..., 1] with `rank` - 1 dimensions: aligned with axis 1 of a tensor of that rank.
  ValueId per_channel(ValueId v, std::size_t rank) {
    if (rank <= 2) return v;
    std::vector<Poly> shape{type(v).shape.at(0)};
    shape.resize(rank - 1, Poly(1));
    return reshape(v, std::move(shape));
  }

  const ir::TensorType& type(ValueId v) const { return arena_.type(v); }
  void refuse(std::string message) {
    if (!error_) error_ = Error{ErrorCode::unsupported, std::string(node_.type()) + ": " + std::move(message), ""};
  }
  bool failed() const { return error_.has_value(); }
  Values finish(std::vector<ValueId> outputs) {
    if (error_) return fail(ErrorCode::unsupported, error_->text());
    return outputs;
  }

 private:
  const NodeView& node_;
  ir::Arena& arena_;
  std::optional<Error> error_;
};

Result<std::size_t> rank_of(const NodeView& node, std::size_t k) {
  if (!node.has_input(k) || !node.input_type(k).ranked)
    return fail(ErrorCode::unsupported, std::string(node.type()) + ": the rank of input " + std::to_string(k) + " is not known");
  return node.input_type(k).rank();
}

Result<void> require_vector(const NodeView& node, std::size_t k) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, k));
  if (rank != 1) return fail(ErrorCode::unsupported, std::string(node.type()) + ": input " + std::to_string(k) + " is not a vector");
  return {};
}

// Conv(x, w, b) = conv(x, w) + b[C, 1, ..., 1]; ConvTranspose likewise.
Values convolution_with_bias(const NodeView& node) {
  if (!node.has_input(2)) return lift_spelled(node);
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  XFLOW_CHECK(require_vector(node, 2));
  const NodeView without_bias(node.document(), node.node(), node.opset(), node.arena(), {node.operand(0), node.operand(1)});
  XFLOW_TRY(const std::vector<ValueId> y, lift_spelled(without_bias));
  Maker make(node);
  return make.finish({make.add(y[0], make.per_channel(node.operand(2), rank))});
}

// Gemm(A, B, C) = alpha * A' B' + beta * C with A' = A or A^T.
Values gemm(const NodeView& node) {
  Maker make(node);
  XFLOW_TRY(const std::size_t rank_a, rank_of(node, 0));
  XFLOW_TRY(const std::size_t rank_b, rank_of(node, 1));
  if (rank_a != 2 || rank_b != 2) return fail(ErrorCode::unsupported, "Gemm: operands are not matrices");
  const auto transposed = [&](ValueId v, std::string_view attribute) {
    return node.integer(attribute, 0) != 0 ? make.op("transpose", {v}, {{"perm", std::vector<Poly>{1, 0}}}) : v;
  };
  ValueId y = make.op("matmul", {transposed(node.operand(0), "transA"), transposed(node.operand(1), "transB")});
  const auto scaled = [&](ValueId v, std::string_view attribute) {
    const Real factor = node.real(attribute, Real(1));
    return factor == Real(1) ? v : make.mul(v, make.scalar(factor.to_double(), node.operand(0)));
  };
  y = scaled(y, "alpha");
  if (node.has_input(2)) y = make.add(y, scaled(node.operand(2), "beta"));
  return make.finish({y});
}

// BatchNormalization(x) = x * s + t with s = scale / sqrt(var + epsilon), t = bias - mean * s, per channel (axis 1).
Values batch_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  for (std::size_t k = 1; k < 5; ++k) XFLOW_CHECK(require_vector(node, k));
  if (rank < 2) return fail(ErrorCode::unsupported, "BatchNormalization: the operand has no channels");
  if (node.integer("training_mode", 0) != 0) return fail(ErrorCode::unsupported, "BatchNormalization: training mode");
  if (node.integer("spatial", 1) != 1) return fail(ErrorCode::unsupported, "BatchNormalization: spatial = 0");
  Maker make(node);
  const ValueId x = node.operand(0);
  const ValueId epsilon = make.scalar(node.real("epsilon", Real::from_double(1e-5F)).to_double(), node.operand(4));
  const ValueId s = make.div(node.operand(1), make.op("sqrt", {make.add(node.operand(4), epsilon)}));
  const ValueId t = make.sub(node.operand(2), make.mul(node.operand(3), s));
  const auto cast = [&](ValueId v) {
    return make.failed() || make.type(v).data_type == make.type(x).data_type ? v : make.op("cast", {v}, {{"to", make.type(x).data_type}});
  };
  return make.finish({make.add(make.mul(x, make.per_channel(cast(s), rank)), make.per_channel(cast(t), rank))});
}

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon), means over `axes`.
ValueId normalized(Maker& make, ValueId x, const std::vector<std::int64_t>& axes, double epsilon) {
  const ValueId centered = make.sub(x, make.reduce_mean(x, axes));
  const ValueId variance = make.reduce_mean(make.mul(centered, centered), axes);
  return make.div(centered, make.op("sqrt", {make.add(variance, make.scalar(epsilon, x))}));
}

std::vector<std::int64_t> axes_from(std::int64_t first, std::size_t rank) {
  std::vector<std::int64_t> axes;
  for (std::int64_t a = first; a < static_cast<std::int64_t>(rank); ++a) axes.push_back(a);
  return axes;
}

// LayerNormalization(x) = (x - mean) / sqrt(var + epsilon) * scale + bias over the axes from `axis`.
Values layer_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  if (node.output_count() > 1) return fail(ErrorCode::unsupported, "LayerNormalization: mean and inverse deviation as outputs");
  if (node.integer("stash_type", 1) != 1) return fail(ErrorCode::unsupported, "LayerNormalization: stash_type other than float");
  const auto type = node.input_type(0).data_type;
  if (type != ir::DataType::float32) return fail(ErrorCode::unsupported, "LayerNormalization: computed in float, operand is not");
  std::int64_t axis = node.integer("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  Maker make(node);
  ValueId y = normalized(make, node.operand(0), axes_from(axis, rank), node.real("epsilon", Real::from_double(1e-5F)).to_double());
  y = make.mul(y, node.operand(1));
  if (node.has_input(2)) y = make.add(y, node.operand(2));
  return make.finish({y});
}

// RMSNormalization(x) = x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis`.
Values rms_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  if (node.input_type(0).data_type != ir::DataType::float32 || node.integer("stash_type", 1) != 1)
    return fail(ErrorCode::unsupported, "RMSNormalization: computed in float, operand is not");
  std::int64_t axis = node.integer("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  Maker make(node);
  const ValueId x = node.operand(0);
  const ValueId mean = make.reduce_mean(make.mul(x, x), axes_from(axis, rank));
  const ValueId epsilon = make.scalar(node.real("epsilon", Real::from_double(1e-5F)).to_double(), x);
  return make.finish({make.mul(make.div(x, make.op("sqrt", {make.add(mean, epsilon)})), node.operand(1))});
}

// InstanceNormalization(x) = (x - mean) / sqrt(var + epsilon) * scale + bias, means over the spatial axes.
Values instance_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  XFLOW_CHECK(require_vector(node, 1));
  XFLOW_CHECK(require_vector(node, 2));
  if (rank < 3) return fail(ErrorCode::unsupported, "InstanceNormalization: the operand has no spatial dimensions");
  Maker make(node);
  const ValueId y = normalized(make, node.operand(0), axes_from(2, rank), node.real("epsilon", Real::from_double(1e-5F)).to_double());
  return make.finish({make.add(make.mul(y, make.per_channel(node.operand(1), rank)), make.per_channel(node.operand(2), rank))});
}

// GroupNormalization(x): channels split into groups, normalised over (channels of the group, spatial), then scale and bias per channel.
Values group_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  XFLOW_CHECK(require_vector(node, 1));
  XFLOW_CHECK(require_vector(node, 2));
  if (node.input_type(0).data_type != ir::DataType::float32)
    return fail(ErrorCode::unsupported, "GroupNormalization: operand is not float");
  const ir::Shape shape = node.input_type(0).shape;
  const Poly groups(node.integer("num_groups", 0));
  const auto size = rank >= 2 && !groups.is_zero() ? ir::exact_divide(shape[1], groups) : std::nullopt;
  if (!size) return fail(ErrorCode::unsupported, "GroupNormalization: the channels are not known to be divisible into groups");
  std::vector<Poly> grouped{shape[0], groups, *size};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  Maker make(node);
  const ValueId y = make.reshape(normalized(make, make.reshape(node.operand(0), grouped), axes_from(2, rank + 1),
                                            node.real("epsilon", Real::from_double(1e-5F)).to_double()),
                                 shape);
  return make.finish({make.add(make.mul(y, make.per_channel(node.operand(1), rank)), make.per_channel(node.operand(2), rank))});
}

// HardSwish(x) = x * hard_sigmoid(x; 1/6, 1/2).
Values hard_swish(const NodeView& node) {
  Maker make(node);
  const ValueId x = node.operand(0);
  const ir::Attributes attributes{{"alpha", Real::from_double(static_cast<double>(1.0F / 6.0F))}, {"beta", Real::from_double(0.5)}};
  return make.finish({make.mul(x, make.op("hard_sigmoid", {x}, attributes))});
}

// Swish(x) = x * sigmoid(alpha * x).
Values swish(const NodeView& node) {
  Maker make(node);
  const ValueId x = node.operand(0);
  const Real alpha = node.real("alpha", Real(1));
  const ValueId scaled = alpha == Real(1) ? x : make.mul(x, make.scalar(alpha.to_double(), x));
  return make.finish({make.mul(x, make.op("sigmoid", {scaled}))});
}

// Gelu(x) = x/2 * (1 + erf(x / sqrt 2)), or with approximate = tanh: x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).
Values gelu(const NodeView& node) {
  Maker make(node);
  const ValueId x = node.operand(0);
  const std::string approximate = node.word("approximate", "none");
  ValueId inner = x;
  if (approximate == "tanh") {
    const ValueId cube = make.mul(make.mul(x, x), x);
    const ValueId sum = make.add(x, make.mul(cube, make.scalar(0.044715, x)));
    inner = make.op("tanh", {make.mul(sum, make.scalar(std::sqrt(2.0 / std::numbers::pi), x))});
  } else if (approximate == "none") {
    inner = make.op("erf", {make.div(x, make.scalar(std::numbers::sqrt2, x))});
  } else {
    make.refuse("approximate = " + approximate);
  }
  return make.finish({make.mul(make.mul(x, make.add(inner, make.scalar(1.0, x))), make.scalar(0.5, x))});
}

// Sum, Max, Min of any number of operands, from left to right; Mean divides by their number.
Values fold_left(const NodeView& node) {
  const std::string_view op = node.type() == "Max" ? "maximum" : node.type() == "Min" ? "minimum" : "add";
  if (node.input_count() == 0) return fail(ErrorCode::unsupported, std::string(node.type()) + ": no operands");
  if (node.input_count() == 1 && op != "add") return fail(ErrorCode::unsupported, std::string(node.type()) + ": one operand");
  Maker make(node);
  ValueId y = node.operand(0);
  if (node.input_count() == 1) return make.finish({make.op("identity", {y})});
  for (std::size_t k = 1; k < node.input_count(); ++k) y = make.op(op, {y, node.operand(k)});
  if (node.type() == "Mean") y = make.mul(y, make.scalar(1.0 / static_cast<double>(node.input_count()), node.operand(0)));
  return make.finish({y});
}

// Before opset 13, Softmax(x, axis) flattens x to a matrix at `axis` and works on its rows; so does LogSoftmax.
Values softmax_of_rows(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  const std::string_view op = node.type() == "Softmax" ? "softmax" : "log_softmax";
  Maker make(node);
  const ValueId x = node.operand(0);
  if (axis + 1 == static_cast<std::int64_t>(rank)) return make.finish({make.op(op, {x}, {{"axis", Poly(axis)}})});
  if (axis < 0 || axis > static_cast<std::int64_t>(rank))
    return fail(ErrorCode::unsupported, std::string(node.type()) + ": axis out of range");
  const ir::Shape shape = node.input_type(0).shape;
  const Poly rows = ir::element_count(ir::Shape(shape.begin(), shape.begin() + axis));
  const Poly columns = ir::element_count(ir::Shape(shape.begin() + axis, shape.end()));
  return make.finish({make.reshape(make.op(op, {make.reshape(x, {rows, columns})}, {{"axis", Poly(1)}}), shape)});
}

// Constant: the tensor of its attribute.
Values constant_node(const NodeView& node) {
  const auto from = [&](Result<ir::Constant> constant) -> Values {
    if (!constant) return fail(ErrorCode::unsupported, constant.error().text());
    return std::vector<ValueId>{node.arena().constant(*std::move(constant))};
  };
  if (auto tensor = node.tensor("value")) return from(*std::move(tensor));
  if (node.has_attribute("value_int")) {
    const std::int64_t v = node.integer("value_int", 0);
    return from(ir::make_integer_constant(ir::DataType::int64, {}, std::span<const std::int64_t>(&v, 1)));
  }
  if (const auto list = node.integer_list("value_ints"))
    return from(ir::make_integer_constant(ir::DataType::int64, {static_cast<std::int64_t>(list->size())}, *list));
  if (node.has_attribute("value_float")) {
    const double v = node.real("value_float", Real(0)).to_double();
    return from(ir::make_constant(ir::DataType::float32, {}, std::span<const double>(&v, 1)));
  }
  if (const Attribute* attribute = node.node().find("value_floats")) {
    const auto list = attribute->reals();
    if (!list) return fail(ErrorCode::unsupported, list.error().text());
    const std::vector<double> wide(list->begin(), list->end());
    return from(ir::make_constant(ir::DataType::float32, {static_cast<std::int64_t>(wide.size())}, wide));
  }
  return fail(ErrorCode::unsupported, "Constant: neither a tensor nor numbers");
}

constexpr std::array kCompositions = {
    Composition{"", "BatchNormalization", 7, ops::kNewest, &batch_normalization},
    Composition{"", "Constant", 1, ops::kNewest, &constant_node},
    Composition{"", "Conv", 1, ops::kNewest, &convolution_with_bias},
    Composition{"", "ConvTranspose", 1, ops::kNewest, &convolution_with_bias},
    Composition{"", "Gelu", 20, ops::kNewest, &gelu},
    Composition{"", "Gemm", 7, ops::kNewest, &gemm},
    Composition{"", "GroupNormalization", 21, ops::kNewest, &group_normalization},
    Composition{"", "HardSwish", 14, ops::kNewest, &hard_swish},
    Composition{"", "InstanceNormalization", 6, ops::kNewest, &instance_normalization},
    Composition{"", "LayerNormalization", 17, ops::kNewest, &layer_normalization},
    Composition{"", "LogSoftmax", 1, 12, &softmax_of_rows},
    Composition{"", "Max", 8, ops::kNewest, &fold_left},
    Composition{"", "Mean", 8, ops::kNewest, &fold_left},
    Composition{"", "Min", 8, ops::kNewest, &fold_left},
    Composition{"", "RMSNormalization", 23, ops::kNewest, &rms_normalization},
    Composition{"", "Softmax", 1, 12, &softmax_of_rows},
    Composition{"", "Sum", 8, ops::kNewest, &fold_left},
    Composition{"", "Swish", 24, ops::kNewest, &swish},
};

}  // namespace

std::span<const Composition> compositions() { return kCompositions; }

}  // namespace xflow::onnx_io
