#include "src/cost/runner/kernel_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>

#include "src/cost/device.h"
#include "src/cost/kernel_operation.h"
#include "src/cost/kernel_text.h"
#include "src/onnx/new_model.h"
#include "src/ops/operator.h"

namespace xflow::cost::runner {
namespace {

using ir::ValueId;

// Runtimes of the last years know it, and it has an operator for each function of src/ops.
constexpr int kOpset = 17;

bool slides(const ops::KernelSpec& spec) { return spec.kernel == "convolution" || spec.kernel == "transposed_convolution"; }

std::vector<ops::TensorSpec> operands_of(const ops::KernelSpec& spec) {
  std::vector<ops::TensorSpec> operands = spec.operands;
  for (const ops::PostOperation& post : spec.post) operands.insert(operands.end(), post.operands.begin(), post.operands.end());
  return operands;
}

std::size_t changing(std::span<const ops::TensorSpec> operands) {
  return static_cast<std::size_t>(std::ranges::count(operands, false, &ops::TensorSpec::constant));
}

std::uint64_t elements(const ops::TensorSpec& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : tensor.dims) count *= static_cast<std::uint64_t>(dim);
  return count;
}

// What is so small that copying it is cheaper than handing it in or out comes out of one split, and goes into one concat.
bool is_small(const ops::TensorSpec& tensor) {
  constexpr std::uint64_t kSmall = 4096;
  return !tensor.dims.empty() && elements(tensor) <= kSmall && elements(tensor) > 0;
}

// Pools, and concats of channels, of values as convolutions make them.
bool stands_between_convolutions(const ops::KernelSpec& spec) {
  const std::vector<std::int64_t>* axis = spec.find("axis");
  const bool channels = spec.kernel == "copy" && spec.word == "concat" && axis != nullptr && *axis == std::vector<std::int64_t>{1};
  if (!channels && spec.kernel != "pool_max" && spec.kernel != "pool_average") return false;
  const auto fits = [](const ops::TensorSpec& tensor) {
    return !tensor.constant && tensor.data_type == ir::DataType::float32 && tensor.dims.size() == 4 && elements(tensor) > 0;
  };
  return spec.post.empty() && spec.results.size() == 1 && std::ranges::all_of(spec.operands, fits) && fits(spec.results[0]);
}

// The operand of a chained launch that is the result of the one before: the first of the result's type.
std::optional<std::size_t> chained_operand(const ops::KernelSpec& spec) {
  const bool same_size = is_pointwise(spec) || spec.kernel == "softmax" || spec.kernel == "log_softmax" || spec.kernel == "normalization";
  if (!same_size || spec.results.size() != 1) return std::nullopt;
  for (std::size_t k = 0; k < spec.operands.size(); ++k) {
    if (spec.operands[k] == spec.results[0]) return k;
  }
  return std::nullopt;
}

// Numbers for which no operator leaves the range of its type: floating ones in [1/2, 3/2). An index is 0, and what may divide 1.
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

// Functions that graphs spell as several operators, as most of them do.
class Spelling {
 public:
  explicit Spelling(ir::Arena& arena) : arena_(arena) {}

  // A pointwise operator or composite of its operands.
  Result<ValueId> pointwise(std::string_view name, const std::vector<double>& reals, const std::vector<ValueId>& operands) {
    const auto op = ops::find_operator(name);
    if (!op) {
      const std::size_t colon = name.find(':');
      return colon == std::string_view::npos ? composite(name, operands.at(0)) : spelled(name.substr(colon + 1), operands.at(0));
    }
    ir::Attributes attributes;
    std::size_t next = 0;
    for (const ops::AttributeSignature& attribute : ops::get(*op).signature.attributes) {
      if (attribute.kind == ops::AttributeKind::real && next < reals.size())
        attributes.set(attribute.name, ir::Real::from_double(reals[next++]));
    }
    return apply(name, operands, std::move(attributes));
  }

  // The steps of a normalisation in the order in which exporters write them.
  Result<ValueId> normalization(const ops::KernelSpec& spec, const std::vector<ValueId>& operands) {
    const ValueId x = operands.at(0);
    const bool centered = spec.word == "layer";
    ir::Attributes attributes;
    attributes.set("axes", ir::polys(*spec.find("axes")));
    attributes.set("keep_dims", ir::Poly(1));
    const auto mean = [&](ValueId value) { return apply("reduce_mean", {value}, attributes); };
    ValueId difference = x;
    if (centered) {
      XFLOW_TRY(const ValueId middle, mean(x));
      XFLOW_TRY(difference, apply("sub", {x, middle}));
    }
    XFLOW_TRY(const ValueId squares, apply("pow", {difference, number(x, 2)}));
    XFLOW_TRY(const ValueId variance, mean(squares));
    XFLOW_TRY(const ValueId sum, apply("add", {variance, number(x, spec.reals.at(0).second)}));
    XFLOW_TRY(const ValueId root, apply("sqrt", {sum}));
    XFLOW_TRY(ValueId y, apply("div", {difference, root}));
    if (operands.size() > 1) {
      XFLOW_TRY(y, apply("mul", {y, operands[1]}));
    }
    if (operands.size() > 2) {
      XFLOW_TRY(y, apply("add", {y, operands[2]}));
    }
    return y;
  }

  Result<ValueId> apply(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    return ops::apply(arena_, name, std::move(operands), std::move(attributes));
  }

 private:
  ValueId number(ValueId like, double value) {
    return arena_.constant(ir::make_constant(arena_.type(like).data_type, {}, std::vector<double>{value}).value());
  }

  Result<ValueId> composite(std::string_view name, ValueId x) {
    if (name == "square") return apply("pow", {x, number(x, 2)});
    if (name == "swish" || name == "mish" || name == "hard_swish") return gated(name, x);
    if (name == "gelu_erf") {
      XFLOW_TRY(const ValueId scaled, apply("div", {x, number(x, std::numbers::sqrt2)}));
      XFLOW_TRY(const ValueId erf, apply("erf", {scaled}));
      return gelu(x, erf);
    }
    if (name == "gelu_tanh") {
      XFLOW_TRY(const ValueId cube, apply("pow", {x, number(x, 3)}));
      XFLOW_TRY(const ValueId part, apply("mul", {cube, number(x, 0.044715)}));
      XFLOW_TRY(const ValueId sum, apply("add", {x, part}));
      XFLOW_TRY(const ValueId scaled, apply("mul", {sum, number(x, std::sqrt(2 / std::numbers::pi))}));
      XFLOW_TRY(const ValueId tanh, apply("tanh", {scaled}));
      return gelu(x, tanh);
    }
    return fail(ErrorCode::unsupported, fmt::format("{} is no operator", name));
  }

  // As a graph spells it: see Composite.
  Result<ValueId> spelled(std::string_view spelling, ValueId x) {
    std::vector<ValueId> stack;
    std::vector<ValueId> made;
    const auto wrong = [&] { return fail(ErrorCode::unsupported, fmt::format("'{}' is no spelling of a function", spelling)); };
    for (const auto part : std::views::split(spelling, ';')) {
      const std::string_view token(part.begin(), part.end());
      if (token == "x") {
        stack.push_back(x);
      } else if (token.starts_with('#')) {
        const auto k = number_of<std::size_t>(token.substr(1));
        if (!k || *k >= made.size()) return wrong();
        stack.push_back(made[*k]);
      } else if (const auto value = number_of<double>(token)) {
        stack.push_back(number(x, *value));
      } else {
        XFLOW_TRY(made.emplace_back(), spelled_operator(token, stack));
        stack.push_back(made.back());
      }
    }
    if (stack.size() != 1) return wrong();
    return stack[0];
  }

  // Takes its operands from the stack. "hard_sigmoid~0.16666667~0.5".
  Result<ValueId> spelled_operator(std::string_view token, std::vector<ValueId>& stack) {
    std::vector<double> reals;
    const std::string_view name = token.substr(0, token.find('~'));
    for (std::size_t at = name.size(); at < token.size();) {
      const std::size_t end = std::min(token.find('~', at + 1), token.size());
      const auto real = number_of<double>(token.substr(at + 1, end - at - 1));
      if (!real) return fail(ErrorCode::unsupported, fmt::format("'{}' is no operator with its attributes", token));
      reals.push_back(*real);
      at = end;
    }
    const auto op = ops::find_operator(name);
    const std::size_t count = op ? ops::get(*op).signature.operands.size() : 0;
    if (!op || count > stack.size())
      return fail(ErrorCode::unsupported, fmt::format("'{}' is no operator of what stands before it", token));
    const std::vector<ValueId> operands(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
    stack.resize(stack.size() - count);
    return pointwise(name, reals, operands);
  }

  template <typename T>
  static std::optional<T> number_of(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  }

  // x times a function of x.
  Result<ValueId> gated(std::string_view name, ValueId x) {
    ValueId gate = x;
    if (name == "swish") {
      XFLOW_TRY(gate, apply("sigmoid", {x}));
    } else if (name == "mish") {
      XFLOW_TRY(const ValueId softplus, apply("softplus", {x}));
      XFLOW_TRY(gate, apply("tanh", {softplus}));
    } else {
      XFLOW_TRY(gate, pointwise("hard_sigmoid", {1.0 / 6, 0.5}, {x}));
    }
    return apply("mul", {x, gate});
  }

  // x (1 + part) / 2
  Result<ValueId> gelu(ValueId x, ValueId part) {
    XFLOW_TRY(const ValueId sum, apply("add", {part, number(x, 1)}));
    XFLOW_TRY(const ValueId product, apply("mul", {x, sum}));
    return apply("mul", {product, number(x, 0.5)});
  }

  ir::Arena& arena_;
};

class Builder {
 public:
  Builder(const ops::KernelSpec& spec, int launches, int places, Arrangement arrangement)
      : spec_(spec),
        launches_(launches),
        places_(places),
        arrangement_(arrangement),
        spelling_(arena_),
        values_(spec),
        operands_(operands_of(spec)),
        residual_(residual_operand()) {}

  Result<KernelModel> build() {
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
      XFLOW_TRY(std::vector<ValueId> made, launch_of(operands));
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
  // Where a launch is missing, its operands go to the pools alone. So many pools are there in both models.
  Result<KernelModel> build_pooled() {
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
        XFLOW_TRY(const std::vector<ValueId> results, base(operands));
        XFLOW_CHECK(sink(results.at(0), spec_.results[0]));
      } else {
        XFLOW_CHECK(sink(operands[0], operands_[0]));
      }
    }
    XFLOW_TRY(model_.bytes, onnx_io::new_model(arena_, ir::Graph{outputs}, inputs_, kOpset));
    return std::move(model_);
  }

  // Whether each launch has this operand for itself.
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

  // The values of all launches as one input.
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

  // The results of all launches, the small ones as one output.
  Result<std::vector<ValueId>> gathered(const std::vector<ValueId>& results) {
    const std::size_t each = spec_.results.size();
    std::vector<ValueId> outputs;
    for (std::size_t k = 0; k < each; ++k) {
      std::vector<ValueId> own;
      for (std::size_t at = k; at < results.size(); at += each) own.push_back(results[at]);
      if (is_gathered(k)) {
        ir::Attributes attributes;
        attributes.set("axis", ir::Poly(0));
        XFLOW_TRY(const ValueId whole, spelling_.apply("concat", std::move(own), std::move(attributes)));
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

  // An operand in the layout that it has in a model: what a convolution of one channel makes; few channels are those of an image, which the
  // model is given. A runtime with a layout of its own may have it for any number of channels that come out of a convolution, and for some
  // that do not.
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
    return spelling_.apply("conv", {x, weights}, std::move(attributes));
  }

  // A pool over single elements, which changes nothing but how many there are along each spatial dimension.
  Result<ValueId> pool(ValueId value, const std::vector<std::int64_t>& strides) {
    ir::Attributes attributes;
    attributes.set("kernel", ir::polys(std::vector<std::int64_t>(strides.size(), 1)));
    attributes.set("strides", ir::polys(strides));
    return spelling_.apply("max_pool", {value}, std::move(attributes));
  }

  // What leaves one launch.
  Result<std::vector<ValueId>> launch_of(const std::vector<ValueId>& operands) {
    const std::vector<ValueId> own(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(spec_.operands.size()));
    XFLOW_TRY(std::vector<ValueId> results, base(own));
    std::size_t next = own.size();
    for (const ops::PostOperation& post : spec_.post) {
      const StepName step = parse_step(post.name);
      std::vector<ValueId> values(operands.begin() + static_cast<std::ptrdiff_t>(next),
                                  operands.begin() + static_cast<std::ptrdiff_t>(next + post.operands.size()));
      next += post.operands.size();
      values.insert(values.begin() + static_cast<std::ptrdiff_t>(step.position), results.at(0));
      XFLOW_TRY(results[0], spelling_.pointwise(step.operation, post.reals, values));
    }
    return results;
  }

  // Lets what a launch makes end in a pool where it slides.
  Result<void> sink(std::vector<ValueId>& results) {
    if (!has_sink()) return {};
    const std::vector<std::int64_t>& dims = spec_.results[0].dims;
    XFLOW_TRY(results[0], pool(results[0], {dims.begin() + 2, dims.end()}));
    return {};
  }

  bool is_as_large_as_result(std::size_t k) const {
    return has_sink() && k >= spec_.operands.size() && !operands_[k].constant && operands_[k].dims == spec_.results[0].dims;
  }

  // What a convolution adds to its result: a launch adds the result of the one before. One value for all launches could be added in place
  // by the last of them alone.
  std::optional<std::size_t> residual_operand() const {
    std::size_t k = spec_.operands.size();
    for (const ops::PostOperation& post : spec_.post) {
      if (post.name == "add" && post.operands.size() == 1 && is_as_large_as_result(k)) return k;
      k += post.operands.size();
    }
    return std::nullopt;
  }

  Result<std::vector<ValueId>> base(const std::vector<ValueId>& operands) {
    if (spec_.kernel == "normalization") {
      XFLOW_TRY(const ValueId value, spelling_.normalization(spec_, operands));
      return std::vector<ValueId>{value};
    }
    if (is_pointwise(spec_) && !ops::find_operator(parse_step(spec_.kernel).operation)) {
      std::string name(parse_step(spec_.kernel).operation);
      if (!spec_.word.empty()) name += ":" + spec_.word;
      XFLOW_TRY(const ValueId value, spelling_.pointwise(name, {}, operands));
      return std::vector<ValueId>{value};
    }
    ir::Arena scratch(arena_.shared_symbols());
    XFLOW_TRY(const ir::NodeId known, operation_of(scratch, spec_));
    ops::Typing typing(arena_.symbols());
    XFLOW_TRY(const ir::NodeId node, ops::apply(arena_, typing, scratch.node(known).op, operands, scratch.node(known).attributes));
    std::vector<ValueId> results(arena_.node(node).outputs.size());
    for (std::uint32_t k = 0; k < results.size(); ++k) results[k] = {node, k};
    return results;
  }

  bool has_sink() const {
    if (!slides(spec_) || spec_.results.size() != 1 || spec_.results[0].data_type != ir::DataType::float32) return false;
    return has_layouts(spec_.results[0]) && elements(spec_.results[0]) > 0;
  }

  void count_extras() {
    if (arrangement_ == Arrangement::chain) return;
    KernelExtras& extras = model_.extras;
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
  Spelling spelling_;
  Values values_;
  std::vector<ops::TensorSpec> operands_;
  std::optional<std::size_t> residual_;  // of operands_
  std::vector<ValueId> inputs_;
  KernelModel model_;
};

}  // namespace

Arrangement arrangement_of(const ops::KernelSpec& spec) {
  if (chained_operand(spec)) return Arrangement::chain;
  if (stands_between_convolutions(spec)) return Arrangement::pooled;
  // Constants that are all the same would make the launches equal: only drawn ones differ.
  const bool product = slides(spec) || spec.kernel == "matmul";
  const bool own = product && spec.operands.size() > 1 && std::ranges::any_of(spec.operands, [](const ops::TensorSpec& operand) {
                     return operand.constant && ir::is_floating(operand.data_type);
                   });
  return own ? Arrangement::weights : Arrangement::beside;
}

Result<KernelModel> kernel_model(const ops::KernelSpec& spec, int launches, int places, Arrangement arrangement) {
  return Builder(spec, launches, places, arrangement).build();
}

}  // namespace xflow::cost::runner
