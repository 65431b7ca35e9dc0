#include "src/devices/runner/kernel_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "src/kernels/device.h"
#include "src/kernels/kernel_graph.h"
#include "src/onnx/document/new_model.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::cost::runner {
namespace {

using ir::ValueId;

// Runtimes of recent years support this opset, and it has an operator for each function of src/ops.
constexpr int kOpset = 17;

bool slides(const ops::KernelSpec& spec) { return spec.is(ops::KernelFamily::convolution); }

std::size_t changing(std::span<const ops::TensorSpec> operands) {
  return static_cast<std::size_t>(std::ranges::count(operands, false, &ops::TensorSpec::constant));
}

std::uint64_t elements(const ops::TensorSpec& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : tensor.dims) count *= static_cast<std::uint64_t>(dim);
  return count;
}

// Small tensors are cheaper to copy than to pass as inputs and outputs, so they come from one split and go
// to one concat.
bool is_small(const ops::TensorSpec& tensor) {
  constexpr std::uint64_t kSmall = 4096;
  return !tensor.dims.empty() && elements(tensor) <= kSmall && elements(tensor) > 0;
}

// Pools, and concats along channels, of values in the layout of convolutions.
bool stands_between_convolutions(const ops::KernelSpec& spec) {
  const std::vector<std::int64_t>* axis = spec.find("axis");
  const bool channels = spec.is(ops::Op::Concat) && axis != nullptr && *axis == std::vector<std::int64_t>{1};
  if (!channels && !spec.is(ops::KernelFamily::pooling)) return false;
  const auto fits = [](const ops::TensorSpec& tensor) {
    return !tensor.constant && tensor.data_type == ir::DataType::float32 && tensor.dims.size() == 4 && elements(tensor) > 0;
  };
  return spec.post.empty() && spec.results.size() == 1 && std::ranges::all_of(spec.operands, fits) && fits(spec.results[0]);
}

// The operand of a chained launch that is the result of the launch before: the first one of the result's
// type.
std::optional<std::size_t> chained_operand(const ops::KernelSpec& spec) {
  const bool same_size = is_pointwise(spec) || spec.is(ops::KernelFamily::softmax) || ops::is_normalization(spec);
  if (!same_size || spec.results.size() != 1) return std::nullopt;
  for (std::size_t k = 0; k < spec.operands.size(); ++k) {
    if (spec.operands[k] == spec.results[0]) return k;
  }
  return std::nullopt;
}

// Values for which no operator leaves the range of its type: floating-point values in [1/2, 3/2), integers
// 0, which may be indices, or 1 in pointwise kernels, which may divide by them.
class Values {
 public:
  explicit Values(const ops::KernelSpec& spec) : whole_(is_pointwise(spec) ? 1 : 0) {}

  Result<ir::Constant> next(const ops::TensorSpec& tensor) {
    const std::uint64_t count = elements(tensor);
    if (tensor.data_type == ir::DataType::float32) {
      std::vector<std::byte> bytes(count * sizeof(float));
      for (std::uint64_t k = 0; k < count; ++k) {
        const float value = draw();
        std::memcpy(bytes.data() + k * sizeof value, &value, sizeof value);
      }
      return ir::Constant{tensor.data_type, tensor.dims, ir::owned_bytes(std::move(bytes))};
    }
    std::vector<double> values(count, whole_);
    if (ir::is_floating(tensor.data_type)) {
      for (double& value : values) value = draw();
    }
    return ir::make_constant(tensor.data_type, tensor.dims, values);
  }

 private:
  float draw() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return 0.5F + static_cast<float>(state_ >> 40U) * 0x1p-24F;
  }

  std::uint64_t state_ = 1;
  double whole_;
};

class Builder {
 public:
  Builder(const ops::KernelSpec& spec, int launches, int places, Arrangement arrangement)
      : spec_(spec),
        launches_(launches),
        places_(places),
        arrangement_(arrangement),
        values_(spec),
        operands_(all_operands(spec)),
        residual_(residual_operand()) {}

  Result<TimedModel> build() {
    if (changing(operands_) == 0) return fail(ErrorCode::unsupported, "it has no operand that changes");
    if (arrangement_ == Arrangement::pooled) return build_pooled();
    const bool chain = arrangement_ == Arrangement::chain;
    const auto chained = chained_operand(spec_);
    std::vector<ValueId> operands(operands_.size());
    std::vector<ValueId> results;
    std::vector<ir::NodeId> splits(operands_.size());
    for (int launch = 0; launch < launches_; ++launch) {
      for (std::size_t k = 0; k < operands_.size(); ++k) {
        if (is_own(k) && is_split(k)) {
          if (launch == 0) {
            XFLOW_TRY(splits[k], split(operands_[k]));
          }
          operands[k] = {splits[k], static_cast<std::uint32_t>(launch)};
        } else if (launch == 0 || is_own(k)) {
          const bool convolved = is_as_large_as_result(k) || (k == 0 && has_sink() && !is_own(0));
          XFLOW_TRY(operands[k], convolved ? out_of_convolution(operands_[k]) : operand(operands_[k]));
        }
      }
      if (chain && launch > 0) operands[*chained] = results[0];
      if (residual_ && launch > 0) operands[*residual_] = results[0];
      XFLOW_TRY(std::vector<ValueId> made, graph_of(arena_, spec_, operands));
      if (chain || residual_) results.clear();
      if (!residual_ || launch + 1 == launches_) XFLOW_CHECK(sink(made));
      results.insert(results.end(), made.begin(), made.end());
    }
    count_extras();
    if (!chain) {
      XFLOW_TRY(results, gathered(results));
    }
    XFLOW_TRY(model_.bytes, onnx_io::new_model(arena_, ir::Graph{results}, inputs_, kOpset));
    return std::move(model_);
  }

 private:
  // The operands of a missing launch go to pools directly. Both models therefore have the same number of
  // pools.
  Result<TimedModel> build_pooled() {
    std::vector<ValueId> outputs;
    const auto sink = [&](ValueId value, const ops::TensorSpec& tensor) -> Result<void> {
      XFLOW_TRY(const ValueId one, pool(value, {tensor.dims.begin() + 2, tensor.dims.end()}));
      outputs.push_back(one);
      return {};
    };
    for (int place = 0; place < places_; ++place) {
      std::vector<ValueId> operands;
      for (const ops::TensorSpec& tensor : operands_) {
        XFLOW_TRY(const ValueId value, out_of_convolution(tensor));
        operands.push_back(value);
      }
      for (std::size_t k = 1; k < operands.size(); ++k) XFLOW_CHECK(sink(operands[k], operands_[k]));
      if (place < launches_) {
        XFLOW_TRY(const std::vector<ValueId> results, graph_of(arena_, spec_, operands));
        XFLOW_CHECK(sink(results.at(0), spec_.results[0]));
      } else {
        XFLOW_CHECK(sink(operands[0], operands_[0]));
      }
    }
    XFLOW_TRY(model_.bytes, onnx_io::new_model(arena_, ir::Graph{outputs}, inputs_, kOpset));
    return std::move(model_);
  }

  // Whether each launch has an operand k of its own.
  bool is_own(std::size_t k) const {
    const bool constant = operands_[k].constant;
    switch (arrangement_) {
      case Arrangement::chain:
        return false;
      case Arrangement::weights:
        return constant;
      case Arrangement::beside:
      case Arrangement::pooled:
        return !constant;
    }
    return false;
  }

  bool is_split(std::size_t k) const { return !operands_[k].constant && is_small(operands_[k]); }

  // One input that holds the values of all launches, split into one per launch.
  Result<ir::NodeId> split(ops::TensorSpec tensor) {
    const std::int64_t rows = tensor.dims[0];
    tensor.dims[0] *= launches_;
    XFLOW_TRY(const ValueId whole, operand(tensor));
    ir::Attributes attributes;
    attributes.set("axis", ir::Poly(0));
    attributes.set("sizes", ir::polys(std::vector<std::int64_t>(static_cast<std::size_t>(launches_), rows)));
    ops::Typing typing(arena_.symbols());
    return ops::apply(arena_, typing, ops::id_of("split"), {whole}, std::move(attributes));
  }

  // The outputs of all launches; small results are joined into one output.
  Result<std::vector<ValueId>> gathered(const std::vector<ValueId>& results) {
    const std::size_t each = spec_.results.size();
    std::vector<ValueId> outputs;
    for (std::size_t k = 0; k < each; ++k) {
      std::vector<ValueId> own;
      for (std::size_t at = k; at < results.size(); at += each) own.push_back(results[at]);
      if (is_gathered(k)) {
        ir::Attributes attributes;
        attributes.set("axis", ir::Poly(0));
        XFLOW_TRY(const ValueId whole, ops::apply(arena_, "concat", std::move(own), std::move(attributes)));
        own = {whole};
      }
      outputs.insert(outputs.end(), own.begin(), own.end());
    }
    return outputs;
  }

  bool is_gathered(std::size_t k) const { return !has_sink() && is_small(spec_.results[k]); }

  Result<ValueId> operand(const ops::TensorSpec& tensor) {
    XFLOW_TRY(ir::Constant value, values_.next(tensor));
    if (tensor.constant) return arena_.constant(std::move(value));
    const ValueId input = arena_.input({tensor.data_type, true, ir::polys(tensor.dims)}, static_cast<std::uint32_t>(inputs_.size()));
    model_.inputs.push_back({fmt::format("x{}", inputs_.size()), eval::Tensor::of(std::move(value))});
    inputs_.push_back(input);
    return input;
  }

  // An operand in the layout that it would have in a model: the result of a convolution with one input
  // channel. Operands with few channels are images, which are model inputs. A runtime with its own layout
  // may use it for any number of channels that come out of a convolution, and for some tensors that do not.
  Result<ValueId> out_of_convolution(const ops::TensorSpec& tensor) {
    constexpr std::int64_t kMostOfAnImage = 4;
    if (tensor.constant || tensor.dims[1] <= kMostOfAnImage) return operand(tensor);
    ops::TensorSpec plane = tensor;
    plane.dims[1] = 1;
    std::vector<std::int64_t> dims(tensor.dims.size(), 1);
    dims[0] = tensor.dims[1];
    XFLOW_TRY(const ValueId x, operand(plane));
    XFLOW_TRY(const ValueId weights, operand({tensor.data_type, dims, true}));
    const std::size_t spatial = dims.size() - 2;
    ir::Attributes attributes;
    attributes.set("strides", ir::polys(std::vector<std::int64_t>(spatial, 1)));
    attributes.set("dilations", ir::polys(std::vector<std::int64_t>(spatial, 1)));
    attributes.set("pads", ir::polys(std::vector<std::int64_t>(2 * spatial, 0)));
    attributes.set("groups", ir::Poly(1));
    return ops::apply(arena_, "conv", {x, weights}, std::move(attributes));
  }

  // A pool over single elements, which only reduces the size of each spatial dimension by the strides.
  Result<ValueId> pool(ValueId value, const std::vector<std::int64_t>& strides) {
    ir::Attributes attributes;
    attributes.set("kernel", ir::polys(std::vector<std::int64_t>(strides.size(), 1)));
    attributes.set("strides", ir::polys(strides));
    return ops::apply(arena_, "max_pool", {value}, std::move(attributes));
  }

  // Sends the result of a launch of a sliding kernel to a pool.
  Result<void> sink(std::vector<ValueId>& results) {
    if (!has_sink()) return {};
    const std::vector<std::int64_t>& dims = spec_.results[0].dims;
    XFLOW_TRY(results[0], pool(results[0], {dims.begin() + 2, dims.end()}));
    return {};
  }

  bool is_as_large_as_result(std::size_t k) const {
    return has_sink() && k >= spec_.operands.size() && !operands_[k].constant && operands_[k].dims == spec_.results[0].dims;
  }

  // The residual that a convolution adds to its result, which is the result of the launch before. With one
  // value for all launches only the last launch could add in place.
  std::optional<std::size_t> residual_operand() const {
    std::size_t k = spec_.operands.size();
    for (const ops::PostOperation& post : spec_.post) {
      if (post.function.is(ops::Op::Add) && post.position == 0 && post.operands.size() == 1 && is_as_large_as_result(k)) return k;
      k += post.operands.size();
    }
    return std::nullopt;
  }

  bool has_sink() const {
    if (!slides(spec_) || spec_.results.size() != 1 || spec_.results[0].data_type != ir::DataType::float32) return false;
    return has_layouts(spec_.results[0]) && elements(spec_.results[0]) > 0;
  }

  void count_extras() {
    if (arrangement_ == Arrangement::chain) return;
    ModelExtras& extras = model_.extras;
    if (!residual_) {
      for (std::size_t k = 0; k < spec_.results.size(); ++k) ++(is_gathered(k) ? extras.gathered : extras.outputs);
      if (has_sink()) ++extras.nodes;
    }
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (!operands_[k].constant && is_own(k)) ++(is_split(k) ? extras.split : extras.inputs);
    }
  }

  const ops::KernelSpec& spec_;
  int launches_;
  int places_;
  Arrangement arrangement_;
  ir::Arena arena_;
  Values values_;
  std::vector<ops::TensorSpec> operands_;
  std::optional<std::size_t> residual_;  // index into operands_
  std::vector<ValueId> inputs_;
  TimedModel model_;
};

}  // namespace

Arrangement arrangement_of(const ops::KernelSpec& spec) {
  if (chained_operand(spec)) return Arrangement::chain;
  if (stands_between_convolutions(spec)) return Arrangement::pooled;
  // Constants that are all equal would make the launches equal; only floating-point constants have different
  // values.
  const bool own =
      ops::is_anchor(spec) && spec.operands.size() > 1 && std::ranges::any_of(spec.operands, [](const ops::TensorSpec& operand) {
        return operand.constant && ir::is_floating(operand.data_type);
      });
  return own ? Arrangement::weights : Arrangement::beside;
}

Result<TimedModel> kernel_model(const ops::KernelSpec& spec, int launches, int places, Arrangement arrangement) {
  return Builder(spec, launches, places, arrangement).build();
}

}  // namespace xflow::cost::runner
