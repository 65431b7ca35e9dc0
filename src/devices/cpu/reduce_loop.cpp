#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "src/devices/cpu/loop_kernel.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define XFLOW_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define XFLOW_CLONES
#endif

namespace xflow::cost::cpu {
namespace {

constexpr std::size_t kPartials = 32;  // independent partial results of one row, which break the dependence chain of the loop

enum class Fold : std::uint8_t { sum, squares, maximum, minimum, product };

template <Fold fold>
inline __attribute__((always_inline)) float combine(float a, float x) {
  if constexpr (fold == Fold::sum) return a + x;
  if constexpr (fold == Fold::squares) return a + x * x;
  if constexpr (fold == Fold::maximum) return a > x ? a : x;
  if constexpr (fold == Fold::minimum) return a < x ? a : x;
  return a * x;
}
template <Fold fold>
inline __attribute__((always_inline)) float join(float a, float b) {  // combines two partial results
  return combine < fold == Fold::squares ? Fold::sum : fold > (a, b);
}

template <Fold fold>
XFLOW_CLONES float fold_row(const float* x, std::size_t n, float start) {
  std::array<float, kPartials> partials;
  partials.fill(start);
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials) {
    for (std::size_t k = 0; k < kPartials; ++k) partials[k] = combine<fold>(partials[k], x[i + k]);
  }
  for (std::size_t k = 0; i + k < n; ++k) partials[k] = combine<fold>(partials[k], x[i + k]);
  float result = partials[0];
  for (std::size_t k = 1; k < kPartials; ++k) result = join<fold>(result, partials[k]);
  return result;
}

template <Fold fold>
XFLOW_CLONES void fold_rows(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = combine<fold>(y[i], x[i]);
}

struct Folder {
  float (*row)(const float*, std::size_t, float);
  void (*rows)(const float*, float*, std::size_t);
  float (*join)(float, float);
  float start;
};

template <Fold fold>
Folder folder(float start) {
  return {&fold_row<fold>, &fold_rows<fold>, &join<fold>, start};
}

// y = (x - mean) * factor, followed by an elementwise scale and shift if they are not null.
XFLOW_CLONES void normalize_row(const float* x, float* y, std::size_t n, float mean, float factor, const float* scale, const float* shift) {
  for (std::size_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor;
  if (scale != nullptr) {
    for (std::size_t i = 0; i < n; ++i) y[i] *= scale[i];
  }
  if (shift != nullptr) {
    for (std::size_t i = 0; i < n; ++i) y[i] += shift[i];
  }
}

XFLOW_CLONES float squares_about(const float* x, std::size_t n, float mean) {
  std::array<float, kPartials> partials{};
  std::size_t i = 0;
  for (; i + kPartials <= n; i += kPartials) {
    for (std::size_t k = 0; k < kPartials; ++k) partials[k] += (x[i + k] - mean) * (x[i + k] - mean);
  }
  for (std::size_t k = 0; i + k < n; ++k) partials[k] += (x[i + k] - mean) * (x[i + k] - mean);
  float sum = 0;
  for (const float partial : partials) sum += partial;
  return sum;
}

Result<std::vector<bool>> reduced_dimensions(const ops::KernelSpec& spec) {
  const std::size_t rank = spec.operands.at(0).dims.size();
  std::vector<bool> reduced(rank, false);
  const Dims* axes = spec.find("axes");
  if (axes == nullptr) return no_loop(spec, "a reduction without axes");
  for (const std::int64_t axis : *axes) {
    const std::int64_t k = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (k < 0 || k >= static_cast<std::int64_t>(rank)) return no_loop(spec, "this axis");
    reduced[static_cast<std::size_t>(k)] = true;
  }
  return reduced;
}

// The dimensions from the slowest to the fastest in memory.
std::vector<std::size_t> memory_order(const Dims& strides) {
  std::vector<std::size_t> order(strides.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  return order;
}

class ReduceLoop final : public LoopKernel {
 public:
  explicit ReduceLoop(Layout layout) : LoopKernel(layout) {}

  Result<void> prepare(const ops::KernelSpec& spec) {
    if (spec.operands.size() != 1 || !spec.post.empty() || spec.operands[0].data_type != ir::DataType::float32) {
      return no_loop(spec, "this reduction");
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    function_ = spec.function;
    if (function_.is(ops::Op::ReduceSum) || function_.is(ops::Op::ReduceMean)) {
      folder_ = folder<Fold::sum>(0);
    } else if (function_.is(ops::Op::ReduceL2)) {
      folder_ = folder<Fold::squares>(0);
    } else if (function_.is(ops::Op::ReduceMax)) {
      folder_ = folder<Fold::maximum>(-kInfinity);
    } else if (function_.is(ops::Op::ReduceMin)) {
      folder_ = folder<Fold::minimum>(kInfinity);
    } else {
      return no_loop(spec, ops::kernel_variant(spec));
    }
    XFLOW_CHECK(add_buffers(spec));
    XFLOW_TRY(const std::vector<bool> reduced, reduced_dimensions(spec));
    const Tensor& x = operands_[0];
    // The result with the reduced dimensions kept: their strides are 0.
    Dims kept = x.dims;
    for (std::size_t k = 0; k < kept.size(); ++k) kept[k] = reduced[k] ? 1 : kept[k];
    const bool keeps = results_[0].dims.size() == kept.size();
    if (!keeps && operand_layout() != Layout::plain) return no_loop(spec, "dropped dimensions in this layout");
    Dims strides = layout_strides(kept, operand_layout());
    Dims dims;
    std::vector<Dims> sorted(2);
    count_ = 1;
    for (const std::size_t k : memory_order(x.strides)) {
      if (reduced[k]) count_ *= static_cast<float>(x.dims[k]);
      dims.push_back(x.dims[k]);
      sorted[0].push_back(x.strides[k]);
      sorted[1].push_back(reduced[k] ? 0 : strides[k]);
    }
    nest_ = collapse(dims, std::move(sorted));
    return {};
  }

  void run() override {
    const auto* x = reinterpret_cast<const float*>(operands_[0].bytes.get());
    auto* y = reinterpret_cast<float*>(results_[0].bytes.get());
    const std::size_t outputs = results_[0].elements();
    std::fill_n(y, outputs, folder_.start);
    if (operands_[0].elements() > 0) walk(x, y);
    if (function_.is(ops::Op::ReduceMean)) {
      for (std::size_t i = 0; i < outputs; ++i) y[i] /= count_;
    } else if (function_.is(ops::Op::ReduceL2)) {
      for (std::size_t i = 0; i < outputs; ++i) y[i] = std::sqrt(y[i]);
    }
  }

 private:
  void walk(const float* x, float* y) {
    const std::size_t last = nest_.dims.size() - 1;
    const auto n = static_cast<std::size_t>(nest_.dims[last]);
    Indices index(nest_.dims.size());
    while (true) {
      if (nest_.strides[1][last] == 0) {
        *y = folder_.join(*y, folder_.row(x, n, folder_.start));
      } else {
        folder_.rows(x, y, n);
      }
      std::size_t k = last;
      while (k-- > 0) {
        x += nest_.strides[0][k];
        y += nest_.strides[1][k];
        if (++index[k] < nest_.dims[k]) break;
        x -= nest_.dims[k] * nest_.strides[0][k];
        y -= nest_.dims[k] * nest_.strides[1][k];
        index[k] = 0;
      }
      if (k == static_cast<std::size_t>(-1)) return;
    }
  }

  ops::StepFunction function_;
  Folder folder_{};
  LoopNest nest_;
  float count_ = 1;
};

// Normalisation over the last dimensions of a row-major tensor, row by row: (x - mean) / sqrt(variance +
// epsilon) * scale + shift, or without mean x / sqrt(mean of squares + epsilon) * scale. Scale and shift
// vary along the row, or are one number per row (instance normalisation).
class NormalizationLoop final : public LoopKernel {
 public:
  NormalizationLoop() : LoopKernel(Layout::plain) {}

  Result<void> prepare(const ops::KernelSpec& spec) {
    if (spec.operands.empty() || spec.operands.size() > 3 || spec.operands[0].data_type != ir::DataType::float32 || !spec.post.empty()) {
      return no_loop(spec, "this normalisation");
    }
    XFLOW_TRY(const std::vector<bool> reduced, reduced_dimensions(spec));
    if (!std::is_sorted(reduced.begin(), reduced.end())) return no_loop(spec, "normalisation over other than the last dimensions");
    centered_ = spec.is(ops::KernelFamily::layer_normalization);
    epsilon_ = static_cast<float>(spec.real("epsilon").value_or(epsilon_));
    XFLOW_CHECK(add_buffers(spec));
    for (std::size_t k = 0; k < reduced.size(); ++k) {
      (reduced[k] ? row_ : rows_) *= static_cast<std::size_t>(operands_[0].dims[k]);
    }
    for (std::size_t k = 1; k < operands_.size(); ++k) {
      const Dims own = padded_to(operands_[k].dims, reduced.size());
      if (own.size() != reduced.size()) return no_loop(spec, "this scale");
      const auto first = static_cast<std::size_t>(std::ranges::find(reduced, true) - reduced.begin());
      const auto is_one = [](std::int64_t d) { return d == 1; };
      const auto inner = own.begin() + static_cast<std::ptrdiff_t>(first);
      const auto& dims = operands_[0].dims;
      // Scale and shift cover a whole row, or have one number per row; they may repeat along leading
      // dimensions.
      const bool along = std::all_of(own.begin(), inner, is_one) && std::equal(inner, own.end(), dims.begin() + (inner - own.begin()));
      const auto varying = std::find_if_not(own.begin(), inner, is_one);
      const bool across = std::all_of(inner, own.end(), is_one) && std::equal(varying, inner, dims.begin() + (varying - own.begin()));
      if (!along && !across) return no_loop(spec, "this scale");
      along_[k - 1] = along;
    }
    return {};
  }

  void run() override {
    const auto* x = reinterpret_cast<const float*>(operands_[0].bytes.get());
    auto* y = reinterpret_cast<float*>(results_[0].bytes.get());
    const auto n = static_cast<float>(row_);
    for (std::size_t r = 0; r < rows_; ++r, x += row_, y += row_) {
      const float mean = centered_ ? fold_row<Fold::sum>(x, row_, 0) / n : 0;
      float factor = 1.0F / std::sqrt(squares_about(x, row_, mean) / n + epsilon_);
      const float* scale = along_row(1);
      const float* shift = along_row(2);
      if (operands_.size() > 1 && scale == nullptr) factor *= of_row(1, r);
      normalize_row(x, y, row_, mean, factor, scale, shift);
      if (operands_.size() > 2 && shift == nullptr) {
        const float add = of_row(2, r);
        for (std::size_t i = 0; i < row_; ++i) y[i] += add;
      }
    }
  }

 private:
  const float* along_row(std::size_t k) const {
    return k < operands_.size() && along_[k - 1] ? reinterpret_cast<const float*>(operands_[k].bytes.get()) : nullptr;
  }
  float of_row(std::size_t k, std::size_t row) const {
    return reinterpret_cast<const float*>(operands_[k].bytes.get())[row % operands_[k].elements()];
  }

  bool centered_ = true;
  float epsilon_ = 1e-5F;
  std::size_t rows_ = 1;
  std::size_t row_ = 1;
  std::array<bool, 2> along_{};  // whether scale and shift vary along the row
};

}  // namespace

Result<std::unique_ptr<CpuKernel>> build_reduce_loop(const ops::KernelSpec& spec, Layout layout) {
  if (ops::is_normalization(spec)) {
    if (has_layouts(spec.operands.at(0)) && layout != Layout::plain) return no_loop(spec, "layouts");
    auto kernel = std::make_unique<NormalizationLoop>();
    XFLOW_CHECK(kernel->prepare(spec));
    return std::unique_ptr<CpuKernel>(std::move(kernel));
  }
  auto kernel = std::make_unique<ReduceLoop>(layout);
  XFLOW_CHECK(kernel->prepare(spec));
  return std::unique_ptr<CpuKernel>(std::move(kernel));
}

}  // namespace xflow::cost::cpu

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
