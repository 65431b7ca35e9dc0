#include "src/devices/profile/wave_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "src/devices/profile/linear_system.h"
#include "src/ir/type.h"
#include "src/ops/op.h"

namespace xflow::cost::profile {
namespace {

using Coefficients = std::array<double, WaveModel::kCoefficients>;
enum Coefficient : std::uint8_t {
  efficiency,   // share of the peak in full waves
  start,        // steps of the inner size that the beginning and the end of a tile take
  rounding,     // odds that a wave is rounded up
  launch,       // microseconds
  memory,       // inverse share of the bandwidth
  norm,         // p - 1
  write,        // weight of a written byte
  occupancy,    // tiles of a multiprocessor at a time
  reload,       // inverse share of the bandwidth that reloads have
  cached,       // size of the second matrix in caches at which half of the reloads miss the cache
  reload_tile,  // rows and columns of a tile that reloads
  reload_wave,  // tiles of a multiprocessor that reload at a time
  // Of Winograd's algorithm; in its place are the efficiency and the memory of the implicit product.
  winograd_efficiency,
  winograd_memory,
  winograd_launches,  // more than the implicit product has
};
constexpr std::size_t kOfProducts = winograd_efficiency;  // coefficients that all shapes have

// Where fits begin. Fits to single devices of NeuSight's tables are near these values.
constexpr Coefficients kInitial{0.7, 20, 0.77, 60, 1.6, 0.64, 2, 0.8, 3, 1.1, 32, 8, 0.3, 1, 3};
// bench/profiles/fit_waves.py --coefficients prints these, without launch. The last three are of
// convolutions alone.
constexpr Coefficients kShared{0.887, 36.9, 0.634, 0, 1.47, 0.404, 2.58, 0.13, 0.321, 4.56, 55.8, 0.00371};
constexpr Coefficients kBatched{0.88, 72, 0.861, 0, 1.43, 1.55, 1.93, 0.851, 1.7, 1.15, 15.5, 6.85};
constexpr Coefficients kConvolution{0.441, 8.01, 1.12, 0, 1.05, 0.284, 0.937, 3.09, 3.4, 0.385, 71.6, 11.8, 0.552, 2.2, 3.71};
constexpr Coefficients kBfloat16{0.85, 246, 4.35, 0, 1.14, 0.681, 0.194, 1.69, 0.171, 0.957, 81, 9.55};
constexpr double kUnmeasuredTileRows = 64;
constexpr std::array kTileRows{32.0, 64.0, 128.0};
constexpr double kTileColumns = 8;
constexpr std::size_t kSamples = 600;
constexpr int kFitSteps = 40;
constexpr double kOutlier = 0.1;  // error from which a sample weighs less
constexpr double kPull = 0.1;

// exp of the coefficients.
Coefficients values_of(const Coefficients& logarithms) {
  Coefficients values = logarithms;
  for (double& value : values) value = std::exp(value);
  return values;
}

// Seconds without the launch.
double run_of(const Coefficients& c, double tile_rows, const GpuSizes& gpu, const ProductShape& s) {
  const double at_a_time = gpu.multiprocessors * c[occupancy];
  const double tiles = s.batches * std::ceil(s.rows / tile_rows) * std::ceil(s.columns / kTileColumns);
  const double waves = tiles / at_a_time;
  const double up = c[rounding] / (1 + c[rounding]);
  const double rounded = up * std::ceil(waves) + (1 - up) * std::max(waves, 1.0);
  const double steps = s.inner + c[start];
  const double arithmetic = rounded * at_a_time * 2 * tile_rows * kTileColumns * steps / (c[efficiency] * gpu.peak);
  const double moved = (s.read + c[write] * s.written) * c[memory] / gpu.bandwidth;
  // A wave takes tiles along the columns, then along the rows.
  const double tile_of_row = std::max(s.rows / c[reload_tile], 1.0);
  const double tile_of_column = std::max(s.columns / c[reload_tile], 1.0);
  const double wave = gpu.multiprocessors * c[reload_wave];
  const double columns = std::min(tile_of_column, wave);
  const double rows = std::clamp(wave / columns, 1.0, tile_of_row);
  const double reloads = tile_of_row * tile_of_column / (rows * columns) * (rows + columns);
  const double second = s.inner * s.columns * s.element;
  const double missed = second / (second + gpu.cache * c[cached]);
  const double reloaded = s.batches * s.element * s.inner * reloads * c[reload_tile] * missed * c[reload] / gpu.bandwidth;
  const double p = 1 + c[norm];
  return std::pow(std::pow(arithmetic, p) + std::pow(moved, p) + std::pow(reloaded, p), 1 / p);
}

ProductShape products_of(const WinogradShape& winograd, const ProductShape& s) {
  constexpr double kElements = 36;
  ProductShape products;
  products.batches = kElements;
  products.rows = winograd.tiles;
  products.columns = s.columns;
  products.inner = winograd.channels;
  products.element = s.element;
  products.read = kElements * s.element * winograd.channels * (winograd.tiles + s.columns);
  products.written = kElements * s.element * winograd.tiles * s.columns;
  return products;
}

double seconds_of(const Coefficients& c, double tile_rows, const GpuSizes& gpu, const ProductShape& s) {
  constexpr double kMicrosecond = 1e-6;
  constexpr double kSharpness = 8;  // of the minimum
  const double launched = c[launch] * kMicrosecond;
  const double run = run_of(c, tile_rows, gpu, s);
  if (!s.winograd) return launched + run;
  Coefficients of_winograd = c;
  of_winograd[efficiency] = c[winograd_efficiency];
  of_winograd[memory] = c[winograd_memory];
  const double other = launched * c[winograd_launches] + run_of(of_winograd, tile_rows, gpu, products_of(*s.winograd, s));
  const double least = std::min(run, other);
  return launched + least * std::pow(std::pow(least / run, kSharpness) + std::pow(least / other, kSharpness), -1 / kSharpness);
}

// Errors of the logarithm of the time, then the pull to the initial coefficients.
std::vector<double> errors_of(const Coefficients& x, double tile_rows, const GpuSizes& gpu, std::span<const TimedShape* const> samples) {
  const Coefficients values = values_of(x);
  std::vector<double> errors;
  errors.reserve(samples.size() + x.size());
  for (const TimedShape* sample : samples) errors.push_back(std::log(seconds_of(values, tile_rows, gpu, sample->shape) / sample->seconds));
  for (std::size_t k = 0; k < x.size(); ++k) errors.push_back(kPull * (x[k] - std::log(kInitial[k])));
  return errors;
}

// The smooth absolute value 2·o²·(sqrt(1 + (e/o)²) - 1) of each error e, summed.
double loss_of(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += 2 * kOutlier * kOutlier * (std::sqrt(1 + error * error / (kOutlier * kOutlier)) - 1);
  return sum;
}

struct Fit {
  Coefficients x{};
  double loss = std::numeric_limits<double>::infinity();
};

// Levenberg-Marquardt with weights for outliers and differences as derivatives.
Fit fitted(double tile_rows, const GpuSizes& gpu, std::span<const TimedShape* const> samples) {
  constexpr double kDifference = 1e-4;
  constexpr double kMostStep = 1;
  constexpr double kConverged = 1e-5;
  Fit best;
  for (std::size_t k = 0; k < best.x.size(); ++k) best.x[k] = std::log(kInitial[k]);
  std::vector<double> errors = errors_of(best.x, tile_rows, gpu, samples);
  best.loss = loss_of(errors);
  const bool has_winograd = std::ranges::any_of(samples, [](const TimedShape* sample) { return sample->shape.winograd.has_value(); });
  const std::size_t fitted = has_winograd ? best.x.size() : kOfProducts;
  double damping = 0.1;
  for (int step = 0; step < kFitSteps && damping < 1e6; ++step) {
    std::array<std::vector<double>, WaveModel::kCoefficients> slopes;
    for (std::size_t k = 0; k < slopes.size(); ++k) slopes[k].resize(errors.size());
    for (std::size_t k = 0; k < fitted; ++k) {
      Coefficients moved = best.x;
      moved[k] += kDifference;
      slopes[k] = errors_of(moved, tile_rows, gpu, samples);
      for (std::size_t e = 0; e < errors.size(); ++e) slopes[k][e] = (slopes[k][e] - errors[e]) / kDifference;
    }
    std::array<Coefficients, WaveModel::kCoefficients> normal{};
    Coefficients right{};
    for (std::size_t e = 0; e < errors.size(); ++e) {
      const double weight = 1 / std::sqrt(1 + errors[e] * errors[e] / (kOutlier * kOutlier));
      for (std::size_t row = 0; row < right.size(); ++row) {
        right[row] -= weight * slopes[row][e] * errors[e];
        for (std::size_t column = 0; column < right.size(); ++column) normal[row][column] += weight * slopes[row][e] * slopes[column][e];
      }
    }
    bool improved = false;
    const double before = best.loss;
    while (!improved && damping < 1e6) {
      auto damped = normal;
      for (std::size_t k = 0; k < right.size(); ++k) damped[k][k] += damping * (damped[k][k] + 1);
      const Coefficients change = solve_system(damped, right);
      Coefficients next = best.x;
      for (std::size_t k = 0; k < next.size(); ++k) next[k] += std::clamp(change[k], -kMostStep, kMostStep);
      std::vector<double> next_errors = errors_of(next, tile_rows, gpu, samples);
      const double loss = loss_of(next_errors);
      improved = loss < best.loss;  // false for a loss that is not a number
      damping = improved ? damping / 3 : damping * 4;
      if (!improved) continue;
      best = {next, loss};
      errors = std::move(next_errors);
    }
    if (before - best.loss < kConverged * before) break;
  }
  return best;
}

double elements_of(std::span<const std::int64_t> dims) {
  double count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<double>(dim);
  return count;
}

double bytes_of(const ops::TensorSpec& tensor) { return elements_of(tensor.dims) * static_cast<double>(ir::bits(tensor.data_type)) / 8; }

// Sets what the kernels have in common. nullopt for tensors without elements.
std::optional<ProductShape> completed(ProductShape shape, const ops::KernelSpec& spec, double first, double second) {
  shape.element = static_cast<double>(ir::bits(spec.operands[0].data_type)) / 8;
  for (const ops::TensorSpec& operand : ops::all_operands(spec)) shape.read += bytes_of(operand);
  shape.written = bytes_of(spec.results[0]);
  if (shape.written <= 0 || shape.inner <= 0) return std::nullopt;
  shape.place = {std::log(first), std::log(second), std::log(shape.columns), std::log(shape.inner)};
  return shape;
}

std::optional<ProductShape> of_product(const ops::KernelSpec& spec) {
  const std::vector<std::int64_t>& a = spec.operands[0].dims;
  const std::vector<std::int64_t>& b = spec.operands[1].dims;
  const std::vector<std::int64_t>& result = spec.results[0].dims;
  if (a.size() < 2 || b.size() < 2 || result.size() < 2) return std::nullopt;
  ProductShape shape;
  shape.columns = static_cast<double>(result.back());
  shape.inner = static_cast<double>(a.back());
  const double rows = static_cast<double>(result[result.size() - 2]);
  const double batches = elements_of(std::span(result).first(result.size() - 2));
  const bool shares_second = b.size() == 2;
  shape.kind = shares_second ? ProductKind::shared : ProductKind::batched;
  shape.rows = shares_second ? rows * batches : rows;
  shape.batches = shares_second ? 1 : batches;
  return completed(shape, spec, shape.batches, shape.rows);
}

bool has_windows_of_winograd(const ops::KernelSpec& spec) {
  const std::vector<std::int64_t>& weight = spec.operands[1].dims;
  if (weight.size() != 4 || weight[2] != 3 || weight[3] != 3) return false;
  return std::ranges::all_of(std::array{"strides", "dilations"}, [&](const char* name) {
    const auto* steps = spec.find(name);
    return steps == nullptr || std::ranges::all_of(*steps, [](std::int64_t step) { return step == 1; });
  });
}

std::optional<ProductShape> of_convolution(const ops::KernelSpec& spec) {
  const std::vector<std::int64_t>& weight = spec.operands[1].dims;
  const std::vector<std::int64_t>& result = spec.results[0].dims;
  const auto* groups = spec.find("groups");
  if (weight.size() < 3 || result.size() != weight.size() || (groups != nullptr && !groups->empty() && groups->front() != 1))
    return std::nullopt;
  if (elements_of(std::span(weight).subspan(2)) <= 1) return std::nullopt;
  const auto images = static_cast<double>(result[0]);
  const double pixels = elements_of(std::span(result).subspan(2));
  ProductShape shape;
  shape.kind = ProductKind::convolution;
  shape.rows = images * pixels;
  shape.columns = static_cast<double>(result[1]);
  shape.inner = elements_of(std::span(weight).subspan(1));
  if (has_windows_of_winograd(spec)) {
    constexpr double kTile = 4;
    const double tiles = std::ceil(static_cast<double>(result[2]) / kTile) * std::ceil(static_cast<double>(result[3]) / kTile);
    shape.winograd = WinogradShape{images * tiles, static_cast<double>(weight[1])};
  }
  return completed(shape, spec, images, std::sqrt(pixels));
}

}  // namespace

std::optional<ProductShape> product_shape_of(const ops::KernelSpec& spec) {
  if (spec.operands.size() < 2 || spec.results.size() != 1) return std::nullopt;
  if (spec.is(ops::KernelFamily::product)) return of_product(spec);
  if (spec.is(ops::Op::Conv)) return of_convolution(spec);
  return std::nullopt;
}

std::optional<GpuSizes> gpu_sizes_of(const Roofline& roofline, ir::DataType type) {
  const auto peak = roofline.peak.find(type);
  if (peak == roofline.peak.end() || !roofline.given() || roofline.multiprocessors <= 0 || roofline.cache <= 0) return std::nullopt;
  return GpuSizes{roofline.bandwidth, peak->second, static_cast<double>(roofline.multiprocessors), roofline.cache};
}

WaveModel::WaveModel(std::span<const TimedShape> samples, const GpuSizes& gpu) : gpu_(gpu) {
  std::vector<const TimedShape*> used;
  used.reserve(samples.size());
  for (const TimedShape& sample : samples) used.push_back(&sample);
  // A fixed permutation, so that the used samples are of all sizes.
  std::uint64_t state = 1;
  for (std::size_t k = used.size(); k > 1; --k) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(used[k - 1], used[(state >> 33U) % k]);
  }
  used.resize(std::min(used.size(), kSamples));
  Fit best;
  for (const double rows : kTileRows) {
    const Fit fit = fitted(rows, gpu, used);
    if (fit.loss >= best.loss) continue;
    best = fit;
    tile_rows_ = rows;
  }
  coefficients_ = values_of(best.x);
}

WaveModel::WaveModel(const GpuSizes& gpu, const Coefficients& coefficients, Nanoseconds launch_time)
    : gpu_(gpu), coefficients_(coefficients), tile_rows_(kUnmeasuredTileRows) {
  constexpr double kNanosecondsOfMicrosecond = 1000;
  coefficients_[launch] = launch_time.count() / kNanosecondsOfMicrosecond;
}

std::optional<WaveModel> WaveModel::of_unmeasured(const ProductShape& like, ir::DataType type, const GpuSizes& gpu, Nanoseconds launch) {
  if (type == ir::DataType::bfloat16 && like.kind == ProductKind::shared) return WaveModel(gpu, kBfloat16, launch);
  if (type != ir::DataType::float32) return std::nullopt;
  return WaveModel(gpu, like.kind == ProductKind::batched ? kBatched : like.winograd ? kConvolution : kShared, launch);
}

double WaveModel::time_of(const ProductShape& shape) const { return seconds_of(coefficients_, tile_rows_, gpu_, shape); }

}  // namespace xflow::cost::profile
