// Reductions and softmax of element types that the fast loops and oneDNN lack: doubles and integers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/devices/cpu/loop_kernel.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

namespace xflow::cost::cpu {
namespace {

Unexpected no_loop_of_type(const ops::KernelSpec& spec) {
  return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: there is no loop for it", ops::to_string(spec)));
}

// Walks the operand once in memory order and advances the position in the result alongside.
class OtherReduceLoop final : public LoopKernel {
 public:
  OtherReduceLoop() : LoopKernel(Layout::plain) {}

  Result<void> prepare(const ops::KernelSpec& spec) {
    if (!spec.post.empty() || spec.operands.size() != 1 || spec.operands[0].data_type != spec.results[0].data_type)
      return no_loop_of_type(spec);
    if (spec.is(ops::Op::ReduceSum)) {
      kind_ = Kind::sum;
    } else if (spec.is(ops::Op::ReduceMean)) {
      kind_ = Kind::mean;
    } else if (spec.is(ops::Op::ReduceMax)) {
      kind_ = Kind::max;
    } else if (spec.is(ops::Op::ReduceMin)) {
      kind_ = Kind::min;
    } else {
      return no_loop_of_type(spec);
    }
    switch (spec.operands[0].data_type) {
      case ir::DataType::float64:
        reduce_ = &OtherReduceLoop::reduce<double>;
        break;
      case ir::DataType::int64:
        reduce_ = &OtherReduceLoop::reduce<std::int64_t>;
        break;
      case ir::DataType::int32:
        reduce_ = &OtherReduceLoop::reduce<std::int32_t>;
        break;
      default:
        return no_loop_of_type(spec);
    }
    XFLOW_CHECK(add_buffers(spec));
    dims_ = operands_[0].dims;
    if (dims_.empty()) dims_ = {1};
    const Dims* axes = spec.find("axes");
    to_.assign(dims_.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t k = operands_[0].dims.size(); k-- > 0;) {
      const bool reduced = axes == nullptr || axes->empty() || std::ranges::find(*axes, static_cast<std::int64_t>(k)) != axes->end();
      if (reduced) continue;
      to_[k] = stride;
      stride *= dims_[k];
    }
    return {};
  }

  void run() override { (this->*reduce_)(); }

 private:
  enum class Kind : std::uint8_t { sum, mean, max, min };

  template <typename T, typename Combine>
  void walk(const Combine& combine) {
    const T* x = reinterpret_cast<const T*>(operands_[0].bytes.get());
    T* y = reinterpret_cast<T*>(results_[0].bytes.get());
    const std::int64_t n = dims_.back();
    const std::int64_t step = to_.back();
    Indices index(dims_.size() - 1);
    for (auto left = static_cast<std::int64_t>(operands_[0].elements()); left > 0; left -= n, x += n) {
      T* row = y;
      for (std::size_t k = 0; k < index.size(); ++k) row += index[k] * to_[k];
      for (std::int64_t i = 0; i < n; ++i) row[i * step] = combine(row[i * step], x[i]);
      for (std::size_t k = index.size(); k-- > 0;) {
        if (++index[k] < dims_[k]) break;
        index[k] = 0;
      }
    }
  }

  template <typename T>
  void reduce() {
    T* y = reinterpret_cast<T*>(results_[0].bytes.get());
    const std::size_t count = results_[0].elements();
    const T none = kind_ == Kind::max ? std::numeric_limits<T>::lowest() : kind_ == Kind::min ? std::numeric_limits<T>::max() : T(0);
    std::fill_n(y, count, none);
    if (kind_ == Kind::max) return walk<T>([](T a, T b) { return a > b ? a : b; });
    if (kind_ == Kind::min) return walk<T>([](T a, T b) { return a < b ? a : b; });
    walk<T>([](T a, T b) { return static_cast<T>(a + b); });
    if (kind_ == Kind::sum || count == 0) return;
    const std::size_t terms = operands_[0].elements() / count;
    const T share = static_cast<T>(terms);
    for (std::size_t k = 0; k < count; ++k) y[k] = share == T(0) ? T(0) : static_cast<T>(y[k] / share);
  }

  Kind kind_ = Kind::sum;
  Dims dims_;
  Dims to_;  // strides of the result along the operand's dimensions: 0 if reduced
  void (OtherReduceLoop::*reduce_)() = nullptr;
};

class DoubleSoftmax final : public LoopKernel {
 public:
  DoubleSoftmax() : LoopKernel(Layout::plain) {}

  Result<void> prepare(const ops::KernelSpec& spec) {
    if (!spec.post.empty() || spec.operands.size() != 1 || spec.operands[0].data_type != ir::DataType::float64)
      return no_loop_of_type(spec);
    XFLOW_CHECK(add_buffers(spec));
    const auto rank = static_cast<std::int64_t>(operands_[0].dims.size());
    const Dims* axis = spec.find("axis");
    axis_ = axis == nullptr || axis->empty() ? -1 : (*axis)[0];
    if (axis_ < 0) axis_ += rank;
    if (axis_ < 0 || axis_ >= rank) return no_loop_of_type(spec);
    logarithm_ = spec.is(ops::Op::LogSoftmax);
    return {};
  }

  void run() override {
    const Dims& dims = operands_[0].dims;
    std::int64_t outer = 1;
    std::int64_t inner = 1;
    for (std::size_t k = 0; k < dims.size(); ++k) (static_cast<std::int64_t>(k) < axis_ ? outer : inner) *= dims[k];
    const std::int64_t n = dims[static_cast<std::size_t>(axis_)];
    inner /= std::max<std::int64_t>(n, 1);
    const auto* x = reinterpret_cast<const double*>(operands_[0].bytes.get());
    auto* y = reinterpret_cast<double*>(results_[0].bytes.get());
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) row(x + o * n * inner + i, y + o * n * inner + i, n, inner);
    }
  }

 private:
  void row(const double* x, double* y, std::int64_t n, std::int64_t step) const {
    double most = -std::numeric_limits<double>::infinity();
    for (std::int64_t k = 0; k < n; ++k) most = std::max(most, x[k * step]);
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      y[k * step] = std::exp(x[k * step] - most);
      sum += y[k * step];
    }
    for (std::int64_t k = 0; k < n; ++k) y[k * step] = logarithm_ ? x[k * step] - most - std::log(sum) : y[k * step] / sum;
  }

  std::int64_t axis_ = 0;
  bool logarithm_ = false;
};

}  // namespace

Result<std::unique_ptr<CpuKernel>> build_other_types_loop(const ops::KernelSpec& spec, Layout layout) {
  if (layout != Layout::plain && layout != Layout::any) return no_loop_of_type(spec);
  if (spec.is(ops::KernelFamily::reduction)) {
    auto kernel = std::make_unique<OtherReduceLoop>();
    XFLOW_CHECK(kernel->prepare(spec));
    return std::unique_ptr<CpuKernel>(std::move(kernel));
  }
  auto kernel = std::make_unique<DoubleSoftmax>();
  XFLOW_CHECK(kernel->prepare(spec));
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace xflow::cost::cpu

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
