// Shared helpers of the files of compositions.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/onnx/document/node_view.h"
#include "src/onnx/lift/mapping_table.h"
#include "src/ops/operator.h"

namespace xflow::ops {
struct OnnxFunction;
}

namespace xflow::onnx_io {

using CompositionValues = Result<std::vector<ir::ValueId>>;

// Applies operators one after the other. After the first failure no operator is applied and `finish` returns
// the error.
class CompositionMaker {
 public:
  explicit CompositionMaker(const NodeView& node) : node_(node), arena_(node.arena()) {}

  ir::ValueId op(std::string_view name, std::vector<ir::ValueId> operands, ir::Attributes attributes = {}) {
    if (error_) return arena_.absent();
    auto result = ops::apply(arena_, name, std::move(operands), std::move(attributes));
    if (!result) {
      error_ = std::move(result).error();
      return arena_.absent();
    }
    return *result;
  }
  // Adds a constant scalar of the element type of `like`, rounded once.
  ir::ValueId scalar(double value, ir::ValueId like) {
    auto constant = ir::make_constant(arena_.type(like).data_type, {}, std::span<const double>(&value, 1));
    if (!constant) {
      if (!error_) error_ = std::move(constant).error();
      return arena_.absent();
    }
    return arena_.constant(*std::move(constant));
  }
  ir::ValueId add(ir::ValueId a, ir::ValueId b) { return op("add", {a, b}); }
  ir::ValueId sub(ir::ValueId a, ir::ValueId b) { return op("sub", {a, b}); }
  ir::ValueId mul(ir::ValueId a, ir::ValueId b) { return op("mul", {a, b}); }
  ir::ValueId div(ir::ValueId a, ir::ValueId b) { return op("div", {a, b}); }
  ir::ValueId reshape(ir::ValueId x, std::vector<ir::Poly> shape) { return op("reshape", {x}, {{"shape", std::move(shape)}}); }
  ir::ValueId reduce_mean(ir::ValueId x, const std::vector<std::int64_t>& axes) {
    return op("reduce_mean", {x}, {{"axes", ir::polys(axes)}, {"keep_dims", ir::Poly(1)}});
  }
  // Reshapes v from [C] to [C, 1, ..., 1] with `rank` - 1 dimensions, which aligns it with axis 1 of a
  // tensor of that rank.
  ir::ValueId per_channel(ir::ValueId v, std::size_t rank) {
    if (failed() || rank <= 2) return v;
    if (type(v).shape.size() != 1) {
      refuse("expected a vector with an element a channel");
      return v;
    }
    std::vector<ir::Poly> shape{type(v).shape[0]};
    shape.resize(rank - 1, ir::Poly(1));
    return reshape(v, std::move(shape));
  }

  ir::ValueId cast(ir::ValueId v, ir::DataType to) { return failed() || type(v).data_type == to ? v : op("cast", {v}, {{"to", to}}); }

  const ir::TensorType& type(ir::ValueId v) const { return arena_.type(v); }
  void refuse(std::string message) {
    if (!error_) error_ = Error{ErrorCode::unsupported, std::string(node_.type()) + ": " + std::move(message), ""};
  }
  bool failed() const { return error_.has_value(); }
  CompositionValues finish(std::vector<ir::ValueId> outputs) {
    if (error_) return fail(ErrorCode::unsupported, error_->text());
    return outputs;
  }

 private:
  const NodeView& node_;
  ir::Arena& arena_;
  std::optional<Error> error_;
};

// Returns the rank of input k. Error::unsupported if it is unknown.
Result<std::size_t> rank_of(const NodeView& node, std::size_t k);
Result<void> require_vector(const NodeView& node, std::size_t k);
// Returns the axes first .. rank - 1.
std::vector<std::int64_t> axes_from(std::int64_t first, std::size_t rank);

// composition_linear.cpp
CompositionValues lift_convolution_with_bias(const NodeView& node);
CompositionValues lift_gemm(const NodeView& node);
CompositionValues lift_fold_left(const NodeView& node);
CompositionValues lift_constant(const NodeView& node);
// composition_normalization.cpp
CompositionValues lift_batch_normalization(const NodeView& node);
CompositionValues lift_layer_normalization(const NodeView& node);
CompositionValues lift_rms_normalization(const NodeView& node);
CompositionValues lift_instance_normalization(const NodeView& node);
CompositionValues lift_group_normalization(const NodeView& node);
CompositionValues lift_mean_variance_normalization(const NodeView& node);
CompositionValues lift_lp_normalization(const NodeView& node);
CompositionValues lift_softmax_of_rows(const NodeView& node);
CompositionValues lift_reduction(const NodeView& node);
// composition_function.cpp: lifts the first of an operator's forms that fits the node.
CompositionValues lift_onnx_function(const NodeView& node, std::span<const ops::OnnxFunction> forms);
CompositionValues lift_clip(const NodeView& node);
CompositionValues lift_cast_like(const NodeView& node);
// composition_microsoft.cpp
CompositionValues lift_microsoft_fused_matmul(const NodeView& node);
// composition_einsum.cpp
CompositionValues lift_einsum(const NodeView& node);

}  // namespace xflow::onnx_io
