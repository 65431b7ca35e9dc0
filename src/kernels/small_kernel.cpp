#include "src/kernels/small_kernel.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "src/ops/op.h"

namespace xflow::cost {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kRows = 256;  // rows (of each thread) and columns of a product
constexpr std::int64_t kTerms = 1024;
constexpr std::int64_t kChannels = 128;
constexpr double kOperations = 1e8;         // of a convolution or pooling, approximately
constexpr std::int64_t kMostPlaces = 1024;  // along one dimension
constexpr std::int64_t kLeastPlaces = 2;

double elements(std::span<const std::int64_t> dims) {
  double count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<double>(dim);
  return count;
}

void cut(std::int64_t& dim, std::int64_t most) { dim = std::min(dim, most); }

// a[..., M, K], b[..., K, N]. A vector is a matrix with one row or column that is missing in the result.
std::optional<ops::KernelSpec> small_product(ops::KernelSpec spec, int threads) {
  if (spec.operands.size() < 2 || spec.results.size() != 1) return std::nullopt;
  Dims& a = spec.operands[0].dims;
  Dims& b = spec.operands[1].dims;
  Dims& result = spec.results[0].dims;
  const std::size_t of_matrix = (a.size() > 1 ? 1U : 0U) + (b.size() > 1 ? 1U : 0U);
  if (a.empty() || b.empty() || result.size() < of_matrix) return std::nullopt;
  std::fill(result.begin(), result.end() - static_cast<std::ptrdiff_t>(of_matrix), 1);
  if (a.size() > 2) std::fill(a.begin(), a.end() - 2, 1);
  if (b.size() > 2) std::fill(b.begin(), b.end() - 2, 1);
  cut(a.back(), kTerms);
  cut(b.size() > 1 ? b[b.size() - 2] : b[0], kTerms);
  if (a.size() > 1) {
    cut(a[a.size() - 2], kRows * threads);
    result[result.size() - of_matrix] = a[a.size() - 2];
  }
  if (b.size() > 1) {
    cut(b.back(), kRows);
    result.back() = b.back();
  }
  return spec;
}

struct Window {
  Dims sizes;
  const Dims* strides = nullptr;
  const Dims* dilations = nullptr;
};

void set_zero(ops::KernelSpec& spec, std::string_view name) {
  for (auto& [known, values] : spec.integers)
    if (known == name) std::ranges::fill(values, 0);
}

// x and the result are [N, C, spatial...]. `each` counts the operations, over all channels, for one position
// of the smaller of the two.
std::optional<ops::KernelSpec> small_windows(ops::KernelSpec spec, const Window& window, double each, bool transposed, int threads) {
  Dims& x = spec.operands[0].dims;
  Dims& result = spec.results[0].dims;
  const std::size_t spatial = window.sizes.size();
  const auto fits = [&](const Dims* list) { return list != nullptr && list->size() == spatial; };
  if (x.size() != spatial + 2 || result.size() != spatial + 2 || spatial == 0 || !fits(window.strides) || !fits(window.dilations))
    return std::nullopt;
  const double places = std::pow(kOperations / std::max(each, 1.0), 1.0 / static_cast<double>(spatial));
  const std::int64_t most = std::clamp(static_cast<std::int64_t>(places), kLeastPlaces, kMostPlaces);
  x[0] = result[0] = std::min<std::int64_t>(x[0], threads);
  Dims& small = transposed ? x : result;
  Dims& large = transposed ? result : x;
  for (std::size_t k = 0; k < spatial; ++k) {
    cut(small[k + 2], most);
    large[k + 2] = (small[k + 2] - 1) * (*window.strides)[k] + (*window.dilations)[k] * (window.sizes[k] - 1) + 1;
  }
  set_zero(spec, "pads");
  set_zero(spec, "output_padding");
  return spec;
}

// Weights are [outputs, inputs / groups, kernel...], for a transposed convolution [inputs, outputs / groups,
// kernel...].
std::optional<ops::KernelSpec> small_convolution(ops::KernelSpec spec, int threads) {
  const bool transposed = spec.is(ops::Op::ConvTranspose);
  if (spec.operands.size() < 2 || spec.results.size() != 1) return std::nullopt;
  Dims& x = spec.operands[0].dims;
  Dims& w = spec.operands[1].dims;
  Dims& result = spec.results[0].dims;
  if (x.size() < 3 || w.size() != x.size() || result.size() != x.size()) return std::nullopt;
  const Dims* groups = spec.find("groups");
  if (groups == nullptr || groups->empty() || groups->front() == 1) {
    for (std::int64_t* channels : {&x[1], &result[1], &w[0], &w[1]}) cut(*channels, kChannels);
  }
  // A bias is an operand of the kernel and has as many elements as the result has channels.
  for (std::size_t k = 2; k < spec.operands.size(); ++k) {
    if (spec.operands[k].dims.size() != 1) return std::nullopt;
    spec.operands[k].dims[0] = std::min(spec.operands[k].dims[0], result[1]);
  }
  const Window window{Dims(w.begin() + 2, w.end()), spec.find("strides"), spec.find("dilations")};
  return small_windows(spec, window, elements(w), transposed, threads);
}

std::optional<ops::KernelSpec> small_pooling(ops::KernelSpec spec, int threads) {
  if (spec.operands.size() != 1 || spec.results.size() != 1) return std::nullopt;
  const Dims* kernel = spec.find("kernel");
  if (kernel == nullptr || spec.operands[0].dims.size() < 3 || spec.results[0].dims.size() < 3) return std::nullopt;
  for (std::int64_t* channels : {&spec.operands[0].dims[1], &spec.results[0].dims[1]}) cut(*channels, kChannels);
  const Window window{*kernel, spec.find("strides"), spec.find("dilations")};
  const double each = elements(*kernel) * static_cast<double>(spec.results[0].dims[1]);
  return small_windows(spec, window, each, false, threads);
}

double operations_of(const ops::KernelSpec& spec) {
  const double results = elements(spec.results[0].dims);
  if (spec.is(ops::KernelFamily::product)) return results * static_cast<double>(spec.operands[0].dims.back());
  if (spec.is(ops::KernelFamily::pooling)) return results * elements(*spec.find("kernel"));
  const double each = elements(std::span(spec.operands[1].dims).subspan(1));
  return each * (spec.is(ops::Op::Conv) ? results : elements(spec.operands[0].dims));
}

}  // namespace

std::optional<SmallKernel> small_kernel_of(const ops::KernelSpec& spec, int threads) {
  ops::KernelSpec bare = spec;
  bare.post.clear();
  std::optional<ops::KernelSpec> small;
  if (spec.is(ops::KernelFamily::product)) {
    small = small_product(std::move(bare), threads);
  } else if (spec.is(ops::KernelFamily::convolution)) {
    small = small_convolution(std::move(bare), threads);
  } else if (spec.is(ops::KernelFamily::pooling)) {
    small = small_pooling(std::move(bare), threads);
  }
  if (!small) return std::nullopt;
  const double operations = operations_of(spec);
  if (!(operations > 0)) return std::nullopt;
  return SmallKernel{*small, operations, operations_of(*small) / operations};
}

}  // namespace xflow::cost
