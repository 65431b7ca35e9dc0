#include "src/onnx/lift/composition_maker.h"
#include "src/ops/reduce.h"

namespace xflow::onnx_io {

using ir::Poly;
using ir::Real;
using ir::ValueId;

namespace {

struct Normalized {
  ValueId value;
  ValueId mean;
  ValueId deviation;
};

// value = (x - mean) / deviation with deviation = sqrt(mean((x - mean)^2) + epsilon), means over `axes`.
Normalized normalized_parts(CompositionMaker& make, ValueId x, const std::vector<std::int64_t>& axes, double epsilon) {
  const ValueId mean = make.reduce_mean(x, axes);
  const ValueId centered = make.sub(x, mean);
  const ValueId variance = make.reduce_mean(make.mul(centered, centered), axes);
  const ValueId deviation = make.op("sqrt", {make.add(variance, make.scalar(epsilon, x))});
  return {make.div(centered, deviation), mean, deviation};
}

ValueId normalized(CompositionMaker& make, ValueId x, const std::vector<std::int64_t>& axes, double epsilon) {
  return normalized_parts(make, x, axes, epsilon).value;
}

// Returns the attribute `axis` of a node whose operand has this rank, counted from the front.
Result<std::int64_t> axis_of(const NodeView& node, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  const std::int64_t axis = node.integer("axis", -1);
  if (axis < -size || axis >= size)
    return fail(ErrorCode::unsupported, std::string(node.type()) + ": axis " + std::to_string(axis) + " of rank " + std::to_string(size));
  return axis < 0 ? axis + size : axis;
}

}  // namespace

// BatchNormalization(x) = x * s + t with s = scale / sqrt(var + epsilon), t = bias - mean * s, per channel
// (axis 1).
CompositionValues lift_batch_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  for (std::size_t k = 1; k < 5; ++k) XFLOW_CHECK(require_vector(node, k));
  if (rank < 2) return fail(ErrorCode::unsupported, "BatchNormalization: the operand has no channels");
  if (node.integer("training_mode", 0) != 0) return fail(ErrorCode::unsupported, "BatchNormalization: training mode");
  if (node.integer("spatial", 1) != 1) return fail(ErrorCode::unsupported, "BatchNormalization: spatial = 0");
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const ValueId epsilon = make.scalar(node.real("epsilon", Real::from_double(1e-5F)).to_double(), node.operand(4));
  const ValueId s = make.div(node.operand(1), make.op("sqrt", {make.add(node.operand(4), epsilon)}));
  const ValueId t = make.sub(node.operand(2), make.mul(node.operand(3), s));
  const auto cast = [&](ValueId v) { return make.cast(v, make.type(x).data_type); };
  return make.finish({make.add(make.mul(x, make.per_channel(cast(s), rank)), make.per_channel(cast(t), rank))});
}

// LayerNormalization(x) = (x - mean) / sqrt(var + epsilon) * scale + bias over the axes from `axis`. Further
// outputs: mean and 1 / sqrt(var + epsilon).
CompositionValues lift_layer_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  if (node.integer("stash_type", 1) != 1) return fail(ErrorCode::unsupported, "LayerNormalization: stash_type other than float");
  const auto type = node.input_type(0).data_type;
  if (type != ir::DataType::float32) return fail(ErrorCode::unsupported, "LayerNormalization: computed in float, operand is not");
  XFLOW_TRY(const std::int64_t axis, axis_of(node, rank));
  CompositionMaker make(node);
  const double epsilon = node.real("epsilon", Real::from_double(1e-5F)).to_double();
  const Normalized parts = normalized_parts(make, node.operand(0), axes_from(axis, rank), epsilon);
  ValueId y = make.mul(parts.value, node.operand(1));
  if (node.has_input(2)) y = make.add(y, node.operand(2));
  if (node.output_count() <= 1) return make.finish({y});
  return make.finish({y, parts.mean, make.op("reciprocal", {parts.deviation})});
}

// RMSNormalization(x) = x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis`.
CompositionValues lift_rms_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  if (node.input_type(0).data_type != ir::DataType::float32 || node.integer("stash_type", 1) != 1)
    return fail(ErrorCode::unsupported, "RMSNormalization: computed in float, operand is not");
  XFLOW_TRY(const std::int64_t axis, axis_of(node, rank));
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const ValueId mean = make.reduce_mean(make.mul(x, x), axes_from(axis, rank));
  const ValueId epsilon = make.scalar(node.real("epsilon", Real::from_double(1e-5F)).to_double(), x);
  return make.finish({make.mul(make.div(x, make.op("sqrt", {make.add(mean, epsilon)})), node.operand(1))});
}

// InstanceNormalization(x) = (x - mean) / sqrt(var + epsilon) * scale + bias, means over the spatial axes.
CompositionValues lift_instance_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  XFLOW_CHECK(require_vector(node, 1));
  XFLOW_CHECK(require_vector(node, 2));
  if (rank < 3) return fail(ErrorCode::unsupported, "InstanceNormalization: the operand has no spatial dimensions");
  CompositionMaker make(node);
  const ValueId y = normalized(make, node.operand(0), axes_from(2, rank), node.real("epsilon", Real::from_double(1e-5F)).to_double());
  return make.finish({make.add(make.mul(y, make.per_channel(node.operand(1), rank)), make.per_channel(node.operand(2), rank))});
}

// GroupNormalization(x): splits the channels into groups, normalises over (channels of the group, spatial),
// then applies scale and bias per channel.
CompositionValues lift_group_normalization(const NodeView& node) {
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
  CompositionMaker make(node);
  const ValueId y = make.reshape(normalized(make, make.reshape(node.operand(0), grouped), axes_from(2, rank + 1),
                                            node.real("epsilon", Real::from_double(1e-5F)).to_double()),
                                 shape);
  return make.finish({make.add(make.mul(y, make.per_channel(node.operand(1), rank)), make.per_channel(node.operand(2), rank))});
}

// Before opset 13, Softmax(x, axis) flattens x to a matrix at `axis` and works on its rows. LogSoftmax does
// the same.
CompositionValues lift_softmax_of_rows(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  const std::string_view op = node.type() == "Softmax" ? "softmax" : "log_softmax";
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  if (axis + 1 == static_cast<std::int64_t>(rank)) return make.finish({make.op(op, {x}, {{"axis", Poly(axis)}})});
  if (axis < 0 || axis > static_cast<std::int64_t>(rank))
    return fail(ErrorCode::unsupported, std::string(node.type()) + ": axis out of range");
  const ir::Shape shape = node.input_type(0).shape;
  const Poly rows = ir::element_count(ir::Shape(shape.begin(), shape.begin() + axis));
  const Poly columns = ir::element_count(ir::Shape(shape.begin() + axis, shape.end()));
  return make.finish({make.reshape(make.op(op, {make.reshape(x, {rows, columns})}, {{"axis", Poly(1)}}), shape)});
}

// MeanVarianceNormalization(x) = (x - mean) / (sqrt(var) + 1e-9) over the axes; the default is all axes but
// the channels of a 4-D tensor.
CompositionValues lift_mean_variance_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  std::vector<std::int64_t> axes = node.integer_list("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
  for (std::int64_t& axis : axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank))
      return fail(ErrorCode::unsupported, "MeanVarianceNormalization: axis out of range");
  }
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const ValueId centered = make.sub(x, make.reduce_mean(x, axes));
  const ValueId deviation = make.op("sqrt", {make.reduce_mean(make.mul(centered, centered), axes)});
  return make.finish({make.div(centered, make.add(deviation, make.scalar(1e-9, x)))});
}

// LpNormalization(x) = x / |x| with the 1- or 2-norm along the axis. Where the norm is 0, x is 0 and
// stays 0.
CompositionValues lift_lp_normalization(const NodeView& node) {
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  XFLOW_TRY(const std::int64_t axis, axis_of(node, rank));
  const std::int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2) return fail(ErrorCode::unsupported, "LpNormalization: p is neither 1 nor 2");
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const ir::Attributes attributes{{"axes", std::vector<Poly>{Poly(axis)}}, {"keep_dims", Poly(1)}};
  const ValueId norm = p == 2 ? make.op("reduce_l2", {x}, attributes) : make.op("reduce_sum", {make.op("abs", {x})}, attributes);
  const ValueId is_positive = make.op("greater", {norm, make.scalar(0, x)});
  return make.finish({make.div(x, make.op("select", {is_positive, norm, make.scalar(1, x)}))});
}

// ReduceL1(x) = sum |x|, ReduceSumSquare(x) = sum x^2, ReduceLogSum(x) = log sum x,
// ReduceLogSumExp(x) = log sum exp(x) = m + log sum exp(x - m) with m = max x.
CompositionValues lift_reduction(const NodeView& node) {
  XFLOW_CHECK(rank_of(node, 0));
  XFLOW_TRY(ops::Lifted lifted, node.opset() < 18 ? ops::lift_reduce_attribute(node) : ops::lift_reduce_input(node));
  const ir::Attributes& attributes = lifted.attributes;
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  if (node.type() == "ReduceL1") return make.finish({make.op("reduce_sum", {make.op("abs", {x})}, attributes)});
  if (node.type() == "ReduceSumSquare") return make.finish({make.op("reduce_sum", {make.mul(x, x)}, attributes)});
  if (node.type() == "ReduceLogSum") return make.finish({make.op("log", {make.op("reduce_sum", {x}, attributes)})});
  ir::Attributes kept = attributes;
  kept.set("keep_dims", Poly(1));
  const ValueId shifted = make.sub(x, make.op("reduce_max", {x}, kept));
  const ValueId sum = make.op("reduce_sum", {make.op("exp", {shifted})}, attributes);
  return make.finish({make.add(make.op("log", {sum}), make.op("reduce_max", {x}, attributes))});
}

}  // namespace xflow::onnx_io
