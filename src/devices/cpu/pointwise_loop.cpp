#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "src/devices/cpu/block_functions.h"
#include "src/devices/cpu/loop_kernel.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

namespace xflow::cost::cpu {
namespace {

using ir::DataType;
constexpr std::size_t kBlock = 1024;  // elements; a few blocks fit into the first-level cache
constexpr std::size_t kMaxElementSize = 8;
using Block = std::array<std::byte, kBlock * kMaxElementSize>;

class PointwiseLoop final : public LoopKernel {
 public:
  explicit PointwiseLoop(Layout layout) : LoopKernel(layout) {}

  Result<void> prepare(const ops::KernelSpec& spec) {
    if (spec.results.size() != 1) return no_loop(spec, "several results");
    const auto* fmod = spec.find("fmod");
    if (fmod != nullptr && *fmod == std::vector<std::int64_t>{1} && !ir::is_floating(spec.results[0].data_type))
      return no_loop(spec, "remainders with the sign of the first operand");
    std::size_t rank = 0;
    for (const ops::TensorSpec& tensor : all_operands(spec)) rank = std::max(rank, tensor.dims.size());
    rank = std::max(rank, spec.results[0].dims.size());
    XFLOW_CHECK(add_buffers(spec, rank));
    const Tensor& result = results_[0];
    elements_ = result.elements();
    for (const Tensor& operand : operands_) {
      XFLOW_TRY(Source source, make_source(spec, operand, result));
      sources_.push_back(std::move(source));
    }
    DataType running = DataType::undefined;
    for (const Step& step : pointwise_steps(spec)) {
      // The operator's operands in order; -1 is the running value.
      std::vector<int> order;
      order.reserve(step.operands.size() + 1);
      for (const std::size_t operand : step.operands) order.push_back(static_cast<int>(operand));
      const bool first = steps_.empty();
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(std::min(step.position, order.size())), first ? 0 : -1);
      const auto type_of = [&](int k) { return k < 0 ? running : operands_[static_cast<std::size_t>(k)].spec.data_type; };
      XFLOW_CHECK(add_step(spec, step, order, type_of));
      running = steps_.back().result;
    }
    if (running != spec.results[0].data_type) return no_loop(spec, "this result type");
    return {};
  }

  bool works_in_place(std::size_t operand) const override {
    return sources_[operand].kind == Source::Kind::contiguous && operands_[operand].element_size == results_[0].element_size;
  }

  void run() override {
    for (std::size_t begin = 0; begin < elements_; begin += kBlock) run_block(begin, std::min(kBlock, elements_ - begin));
  }

 private:
  // The way to read an operand for a block of results.
  struct Source {
    // contiguous: the same elements as the result; periodic: a repeated row (a scalar is a row of one
    // element); broadcast: anything else.
    enum class Kind : std::uint8_t { contiguous, periodic, broadcast } kind;
    LoopNest nest;  // over the result's elements in memory order, with the strides of the operand
    std::size_t period = 0;
    std::vector<std::byte> expanded;  // periodic: one period plus one block; broadcast: one block
  };

  struct Call {
    BlockFunction function = nullptr;
    std::vector<int> operands;
    std::array<double, 2> reals{};
    DataType result = DataType::undefined;
  };

  static Result<Source> make_source(const ops::KernelSpec& spec, const Tensor& operand, const Tensor& result) {
    // The result's dimensions from the slowest to the fastest in memory.
    std::vector<std::size_t> order(result.dims.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return result.strides[a] > result.strides[b]; });
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> own;
    std::vector<std::int64_t> target;
    for (const std::size_t k : order) {
      if (operand.dims[k] != result.dims[k] && operand.dims[k] != 1) return no_loop(spec, "operands that do not broadcast to the result");
      dims.push_back(result.dims[k]);
      own.push_back(operand.dims[k] == 1 ? 0 : operand.strides[k]);
      target.push_back(result.strides[k]);
    }
    Source source;
    source.nest = collapse(dims, {own, target});
    if (operand.elements() == result.elements()) {
      source.kind = Source::Kind::contiguous;
      return source;
    }
    source.nest.strides.pop_back();
    const LoopNest& nest = source.nest;
    const auto outer = std::span(nest.strides[0]).first(nest.dims.size() - 1);
    const bool repeats = std::ranges::all_of(outer, [](std::int64_t stride) { return stride == 0; });
    const bool row = nest.strides[0].back() == 1 && nest.dims.back() <= static_cast<std::int64_t>(4 * kBlock);
    if (operand.elements() == 1 || (repeats && row)) {
      source.kind = Source::Kind::periodic;
      source.period = operand.elements();
      source.expanded.resize((source.period + kBlock) * operand.element_size);
    } else {
      source.kind = Source::Kind::broadcast;
      source.expanded.resize(kBlock * operand.element_size);
    }
    return source;
  }

  template <typename TypeOf>
  Result<void> add_step(const ops::KernelSpec& spec, const Step& step, const std::vector<int>& order, const TypeOf& type_of) {
    // An operator of two operands with more than two in the list is applied to them one after the other.
    const std::string_view operation = ops::function_name(step.function);
    const DataType type = step.function.is(ops::Op::Select) && order.size() == 3 ? type_of(order[1]) : type_of(order[0]);
    const auto found = find_block_operator(step.function, type, spec.results[0].data_type);
    if (!found) return no_loop(spec, fmt::format("{} of {}", operation, ir::name(type)));
    if (static_cast<std::size_t>(found->reals) > step.reals.size())
      return no_loop(spec, fmt::format("{} without its attributes", operation));
    Call call;
    call.function = found->function;
    call.result = found->result;
    std::copy_n(step.reals.begin(), std::min<std::size_t>(step.reals.size(), 2), call.reals.begin());
    if (static_cast<std::size_t>(found->operands) == order.size()) {
      call.operands = order;
      steps_.push_back(std::move(call));
      return {};
    }
    if (found->operands != 2 || order.size() < 2) return no_loop(spec, fmt::format("{} of {} operands", operation, order.size()));
    call.operands = {order[0], order[1]};
    steps_.push_back(call);
    for (std::size_t k = 2; k < order.size(); ++k) {
      call.operands = {-1, order[k]};
      steps_.push_back(call);
    }
    return {};
  }

  // Fills `to` with repetitions of `size` bytes.
  static void repeat(const std::byte* from, std::vector<std::byte>& to, std::size_t size) {
    std::memcpy(to.data(), from, size);
    for (std::size_t done = size; done < to.size(); done *= 2) std::memcpy(to.data() + done, to.data(), std::min(done, to.size() - done));
  }

  // The operand's values for the block of results, contiguous in memory.
  const std::byte* operand_block(std::size_t k, std::size_t begin, std::size_t count) {
    const Tensor& tensor = operands_[k];
    Source& source = sources_[k];
    const std::byte* bytes = tensor.bytes.get();
    const std::size_t size = tensor.element_size;
    if (source.kind == Source::Kind::contiguous) return bytes + begin * size;
    if (source.kind == Source::Kind::periodic) {
      if (begin == 0) repeat(bytes, source.expanded, source.period * size);
      return source.expanded.data() + begin % source.period * size;
    }
    const LoopNest& nest = source.nest;
    const std::size_t last = nest.dims.size() - 1;
    std::size_t done = 0;
    while (done < count) {
      // Decompose the index of the next result into dimensions.
      std::size_t rest = begin + done;
      std::int64_t offset = 0;
      std::size_t inner = 0;
      for (std::size_t d = nest.dims.size(); d-- > 0;) {
        const auto extent = static_cast<std::size_t>(nest.dims[d]);
        const std::size_t index = rest % extent;
        rest /= extent;
        if (d == last) inner = index;
        offset += static_cast<std::int64_t>(index) * nest.strides[0][d];
      }
      const std::size_t run = std::min(static_cast<std::size_t>(nest.dims[last]) - inner, count - done);
      copy_run(source.expanded.data() + done * size, bytes + static_cast<std::size_t>(offset) * size, run, nest.strides[0][last], size);
      done += run;
    }
    return source.expanded.data();
  }

  template <typename T>
  static void copy_elements(std::byte* to, const std::byte* from, std::size_t count, std::int64_t stride) {
    T* target = reinterpret_cast<T*>(to);
    const T* source = reinterpret_cast<const T*>(from);
    if (stride == 0) {
      std::fill_n(target, count, *source);
    } else {
      for (std::size_t i = 0; i < count; ++i) target[i] = source[static_cast<std::int64_t>(i) * stride];
    }
  }

  static void copy_run(std::byte* to, const std::byte* from, std::size_t count, std::int64_t stride, std::size_t size) {
    if (stride == 1) {
      std::memcpy(to, from, count * size);
    } else if (size == 4) {
      copy_elements<std::uint32_t>(to, from, count, stride);
    } else if (size == 8) {
      copy_elements<std::uint64_t>(to, from, count, stride);
    } else if (size == 2) {
      copy_elements<std::uint16_t>(to, from, count, stride);
    } else {
      copy_elements<std::uint8_t>(to, from, count, stride);
    }
  }

  void run_block(std::size_t begin, std::size_t count) {
    Tensor& result = results_[0];
    const std::byte* running = nullptr;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const Call& call = steps_[s];
      std::array<const void*, 3> operands{};
      for (std::size_t k = 0; k < call.operands.size(); ++k) {
        operands[k] = call.operands[k] < 0 ? running : operand_block(static_cast<std::size_t>(call.operands[k]), begin, count);
      }
      std::byte* out = s + 1 == steps_.size() ? result.bytes.get() + begin * result.element_size : blocks_[s % 2].data();
      call.function(operands.data(), out, count, call.reals.data());
      running = out;
    }
  }

  std::size_t elements_ = 0;
  std::vector<Source> sources_;
  std::vector<Call> steps_;
  alignas(64) std::array<Block, 2> blocks_{};
};

}  // namespace

Result<std::unique_ptr<CpuKernel>> build_pointwise_loop(const ops::KernelSpec& spec, Layout layout) {
  auto kernel = std::make_unique<PointwiseLoop>(layout);
  XFLOW_CHECK(kernel->prepare(spec));
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace xflow::cost::cpu

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
