#include "src/devices/gpu/gpu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "src/ops/kernel_text.h"
#include "src/ops/operator.h"
#include "src/runtime/median.h"
#include "src/runtime/plan.h"

namespace xflow::cost::gpu {
namespace {

using ops::KernelSpec;
using ops::TensorSpec;

constexpr int kLeastLaunches = 20;  // of one recorded graph, because starting it takes some microseconds
constexpr std::size_t kMostSets = 64;
constexpr int kLeastSamples = 5;
constexpr int kMostSamples = 40;
constexpr int kGlances = 3;
constexpr double kStable = 0.02;
constexpr double kReorderShare = 1.1;
constexpr double kOutlier = 1.5;  // times the median
constexpr std::size_t kMostPostOperations = 8;

std::string key_of(const KernelSpec& spec, Layout layout) { return fmt::format("{}@{}", ops::to_string(spec), name(layout)); }

// Whether the step is a pointwise operator or a fused function.
bool is_known_step(const ops::PostOperation& post) {
  const auto op = post.function.op;
  return op ? ops::get(ops::id_of(*op)).signature.pointwise : post.operands.empty() && post.function.fused;
}

// The bytes of up to 2^18 elements, which are written repeatedly: floating-point values in [1/2, 3/2),
// integers of 0, because they may be indices. Not zeros: products of zeros need less power, so the clock
// stays higher and they run faster than others.
Result<std::vector<std::byte>> some_values(ir::DataType type, std::size_t bytes, std::uint64_t seed) {
  constexpr std::size_t kMost = std::size_t{1} << 18U;
  const auto size = static_cast<std::size_t>(std::max(ir::bits(type), 8)) / 8;
  std::vector<double> values(std::clamp<std::size_t>(bytes / size, 1, kMost));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(0.5, 1.5);
  if (ir::is_floating(type))
    for (double& value : values) value = real(random);
  XFLOW_TRY(const ir::Constant constant, ir::make_constant(type, {static_cast<std::int64_t>(values.size())}, values));
  XFLOW_TRY(const auto found, constant.source->bytes());
  return std::vector<std::byte>(found.begin(), found.end());
}

// Converts a pointwise kernel on channels-last tensors to an equal one on plain tensors with the dimensions
// in memory order. Nothing if an operand has another memory order.
std::optional<KernelSpec> as_it_lies(const KernelSpec& spec) {
  const std::size_t rank = spec.results[0].dims.size();
  const auto turned = [&](const TensorSpec& tensor) -> std::optional<TensorSpec> {
    TensorSpec result = tensor;
    result.dims.insert(result.dims.begin(), rank - tensor.dims.size(), 1);
    // Tensors of lower rank are plain in every layout.
    if (tensor.dims.size() < rank && !same_bytes(result, Layout::plain, Layout::channels_last)) return std::nullopt;
    std::rotate(result.dims.begin() + 1, result.dims.begin() + 2, result.dims.end());
    return result;
  };
  KernelSpec result = spec;
  const auto turn = [&](std::vector<TensorSpec>& tensors) {
    for (TensorSpec& tensor : tensors) {
      const auto other = turned(tensor);
      if (!other) return false;
      tensor = *other;
    }
    return true;
  };
  if (!turn(result.operands) || !turn(result.results)) return std::nullopt;
  for (ops::PostOperation& post : result.post)
    if (!turn(post.operands)) return std::nullopt;
  return result;
}

}  // namespace

// The tensors of timed launches. Launches cycle through sets of them to access as much memory as a run does
// between two launches.
struct GpuDevice::Tensors {
  std::optional<Block> block;
  std::vector<std::vector<Address>> operands;  // by set
  std::vector<std::vector<Address>> results;
  Address workspace{};

  static Result<Tensors> allocate(Gpu& gpu, const KernelSpec& spec, Layout layout, std::span<const std::unique_ptr<Ready>> ways,
                                  const GpuOptions& options) {
    std::size_t turning = 0;  // bytes of one set
    std::size_t staying = 0;
    const std::vector<TensorSpec> all = all_operands(spec);
    const auto bytes = [&](const TensorSpec& tensor) { return aligned(std::max<std::size_t>(bytes_of(tensor, layout), 1)); };
    for (const TensorSpec& tensor : all) (tensor.constant ? turning : staying) += bytes(tensor);
    for (const TensorSpec& tensor : spec.results) turning += bytes(tensor);
    std::size_t scratch_bytes = 0;
    std::size_t workspace_bytes = 0;
    for (const std::unique_ptr<Ready>& way : ways) {
      std::size_t own = 0;
      for (const std::size_t tensor : way->scratch()) own += aligned(tensor);
      scratch_bytes = std::max(scratch_bytes, own);
      workspace_bytes = std::max(workspace_bytes, aligned(way->workspace_bytes()));
    }
    const std::size_t once = staying + turning + scratch_bytes + workspace_bytes;
    if (once > options.most_bytes) return fail(ErrorCode::unsupported, fmt::format("it needs {} MiB", once >> 20U));
    const std::size_t room = (options.most_bytes - once) / turning;
    const std::size_t sets = std::clamp<std::size_t>(options.cache_footprint / turning, 1, std::min(kMostSets, room + 1));
    const std::size_t total = staying + sets * turning + scratch_bytes + workspace_bytes;
    Tensors tensors;
    XFLOW_TRY(tensors.block, Block::allocate(gpu, total));
    Address next = tensors.block->address();
    const auto take = [&](std::size_t size) {
      const Address address = next;
      next = next + size;
      return address;
    };
    std::vector<Address> shared(all.size());
    for (std::size_t k = 0; k < all.size(); ++k)
      if (!all[k].constant) shared[k] = take(bytes(all[k]));
    for (std::size_t set = 0; set < sets; ++set) {
      std::vector<Address>& own = tensors.operands.emplace_back(shared);
      for (std::size_t k = 0; k < all.size(); ++k)
        if (all[k].constant) own[k] = take(bytes(all[k]));
      std::vector<Address>& results = tensors.results.emplace_back();
      for (const TensorSpec& tensor : spec.results) results.push_back(take(bytes(tensor)));
    }
    tensors.workspace = take(workspace_bytes);
    tensors.scratch_begin = next;
    for (std::size_t k = 0; k < all.size(); ++k)
      for (std::size_t set = 0; set < (all[k].constant ? sets : 1); ++set)
        XFLOW_CHECK(fill(gpu, tensors.operands[set][k], all[k].data_type, bytes_of(all[k], layout), k + 1));
    return tensors;
  }

  // Enough launches for a sample; each set is used at least once.
  std::vector<Launch> launches(Ready& way) const {
    std::vector<Launch> made;
    const std::size_t count = std::max<std::size_t>(kLeastLaunches, operands.size());
    std::vector<Address> scratch;
    Address next = scratch_begin;
    for (const std::size_t tensor : way.scratch()) {
      scratch.push_back(next);
      next = next + aligned(tensor);
    }
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t set = k % operands.size();
      made.push_back({&way, operands[set], results[set], scratch, workspace});
    }
    return made;
  }

 private:
  static Result<void> fill(Gpu& gpu, Address address, ir::DataType type, std::size_t bytes, std::uint64_t seed) {
    XFLOW_TRY(const std::vector<std::byte> values, some_values(type, bytes, seed));
    for (std::size_t at = 0; at < bytes; at += values.size())
      XFLOW_CHECK(gpu.write(address + at, std::span(values).first(std::min(values.size(), bytes - at))));
    return {};
  }

  Address scratch_begin{};
};

bool computes_nothing(const KernelSpec& spec) {
  return std::ranges::all_of(spec.results, [](const TensorSpec& tensor) { return std::ranges::find(tensor.dims, 0) != tensor.dims.end(); });
}

GpuDevice::GpuDevice(Gpu& gpu, const GpuOptions& options) : gpu_(gpu), options_(options), info_(gpu.info()) {
  if (gpu.cycle().count() > 0) info_.calibration = "cycle";
  if (options.cache_footprint > 0) info_.library += fmt::format(", {} MiB between launches", options.cache_footprint >> 20U);
}

void GpuDevice::know_fastest_calibration(Nanoseconds time) {
  if (time.count() > 0 && (shortest_cycle_.count() == 0 || time.count() < shortest_cycle_.count())) shortest_cycle_ = time;
}

// The share by which the current cycle time exceeds the shortest one.
double GpuDevice::longer_cycle() {
  const Nanoseconds cycle = gpu_.cycle();
  if (cycle.count() <= 0) return 0;
  know_fastest_calibration(cycle);
  return cycle.count() / shortest_cycle_.count() - 1;
}

bool GpuDevice::chooses_layout(const KernelSpec& spec) const { return spec.is(ops::KernelFamily::convolution); }

bool GpuDevice::works_in(const KernelSpec& spec, Layout layout) const {
  if (layout == Layout::plain) return true;
  if (layout != Layout::channels_last || spec.operands.empty() || spec.results.size() != 1 || !has_layouts(spec.results[0])) return false;
  if (is_pointwise(spec)) return as_it_lies(spec).has_value();
  return convolution_of(spec, layout).has_value();
}

bool GpuDevice::can_fuse(const KernelSpec& base, const ops::PostOperation& post) const {
  if (base.results.size() != 1 || base.post.size() >= kMostPostOperations) return false;
  if (!std::ranges::all_of(post.operands, [&](const TensorSpec& operand) { return broadcasts_to(operand, base.results[0]); })) return false;
  if (is_pointwise(base)) return is_known_step(post);
  KernelSpec fused = base;
  fused.post.push_back(post);
  return product_of(fused) || convolution_of(fused, Layout::plain);
}

Result<std::vector<std::unique_ptr<Ready>>> GpuDevice::ways(const KernelSpec& spec, Layout layout) {
  std::optional<KernelSpec> turned;
  if (layout == Layout::channels_last && is_pointwise(spec) && !spec.results.empty() && has_layouts(spec.results[0]))
    turned = as_it_lies(spec);
  XFLOW_TRY(const std::vector<GpuKernel> kernels, turned ? kernels_of(*turned, Layout::plain, "xflow") : kernels_of(spec, layout, "xflow"));
  std::vector<std::unique_ptr<Ready>> ways;
  std::optional<Error> refusal;
  for (const GpuKernel& kernel : kernels) {
    auto found = gpu_.prepare(kernel);
    if (!found && (found.error().code == ErrorCode::limit || found.error().code == ErrorCode::io)) return fail(found.error());
    if (found) {
      for (std::unique_ptr<Ready>& way : *found) ways.push_back(std::move(way));
    } else {
      refusal = found.error();
    }
  }
  if (ways.empty()) return fail(ErrorCode::unsupported, fmt::format("cannot run {} here: {}", ops::to_string(spec), refusal->message));
  if (ways.size() > options_.most_ways) ways.resize(options_.most_ways);
  return ways;
}

// An implementation of a kernel, recorded on its own tensors.
struct GpuDevice::Choice {
  std::unique_ptr<Ready> way;
  Tensors tensors;
  std::unique_ptr<Recorded> recorded;
  std::size_t launches = 0;
};

// The fastest implementation in a short measurement; implementations that fail are skipped.
Result<GpuDevice::Choice> GpuDevice::choose(const KernelSpec& spec, Layout layout) {
  const auto cannot = [&](const Error& error) {
    return fail(error.code, fmt::format("cannot run {} here: {}", ops::to_string(spec), error.message));
  };
  XFLOW_TRY(std::vector<std::unique_ptr<Ready>> found, ways(spec, layout));
  auto tensors = Tensors::allocate(gpu_, spec, layout, found, options_);
  if (!tensors) return cannot(tensors.error());
  Choice best{nullptr, *std::move(tensors), nullptr, 0};
  double least = 0;
  std::optional<Error> refusal;
  for (std::unique_ptr<Ready>& way : found) {
    const std::vector<Launch> made = best.tensors.launches(*way);
    auto recorded = gpu_.record(made);
    Result<double> time = recorded ? glance(**recorded) : Result<double>(fail(recorded.error()));
    if (!time) {
      if (time.error().code == ErrorCode::io) return fail(time.error());
      refusal = time.error();
      continue;
    }
    if (best.way != nullptr && *time >= least) continue;
    least = *time;
    best.recorded = *std::move(recorded);
    best.way = std::move(way);
    best.launches = made.size();
  }
  if (best.way == nullptr) return cannot(*refusal);
  chosen_[key_of(spec, layout)] = best.way->implementation();
  return best;
}

// The minimum of a few runs after a warm-up run.
Result<double> GpuDevice::glance(Recorded& recorded) {
  XFLOW_CHECK(gpu_.run(recorded, 1));
  double least = 0;
  for (int k = 0; k < kGlances; ++k) {
    XFLOW_TRY(const Nanoseconds time, gpu_.run(recorded, 1));
    if (k == 0 || time.count() < least) least = time.count();
  }
  return least;
}

Result<std::unique_ptr<Ready>> GpuDevice::quickest(const KernelSpec& spec, Layout layout) {
  if (const auto known = chosen_.find(key_of(spec, layout)); known != chosen_.end()) {
    XFLOW_TRY(std::vector<std::unique_ptr<Ready>> found, ways(spec, layout));
    for (std::unique_ptr<Ready>& way : found)
      if (way->implementation() == known->second) return std::move(way);
  }
  XFLOW_TRY(Choice choice, choose(spec, layout));
  choice.recorded.reset();
  return std::move(choice.way);
}

Result<KernelCost> GpuDevice::measure_in_any(const KernelSpec& spec) {
  auto plain = measure(spec, Layout::plain);
  if (!convolution_of(spec, Layout::channels_last)) return plain;
  auto last = measure(spec, Layout::channels_last);
  if (!last) return plain;
  return !plain || last->median.count() * kReorderShare < plain->median.count() ? last : plain;
}

Result<KernelCost> GpuDevice::measure(const KernelSpec& spec, Layout layout) {
  if (layout == Layout::any) return chooses_layout(spec) ? measure_in_any(spec) : measure(spec, Layout::plain);
  if (spec.is(ops::KernelFamily::none) || computes_nothing(spec)) return KernelCost{};
  KernelCost cost;
  cost.operands = layout;
  cost.results = layout;
  if (spec.is(ops::KernelFamily::reorder)) {
    cost.operands = static_cast<Layout>(spec.find("from")->at(0));
    cost.results = static_cast<Layout>(spec.find("to")->at(0));
    if (same_bytes(spec.operands[0], cost.operands, cost.results)) return cost;
  }
  XFLOW_TRY(const Choice choice, choose(spec, layout));
  const double before = longer_cycle();
  std::vector<double> samples;
  MedianInterval interval;
  while (samples.size() < kMostSamples) {
    XFLOW_TRY(const Nanoseconds time, gpu_.run(*choice.recorded, 1));
    samples.push_back(time.count() / static_cast<double>(choice.launches));
    if (samples.size() < kLeastSamples) continue;
    interval = median_interval(samples);
    if (interval.high - interval.low <= kStable * interval.median) break;
  }
  cost.interference = std::max(before, longer_cycle());
  std::ranges::sort(samples);
  cost.median = Nanoseconds(interval.median);
  cost.spread = Nanoseconds(samples[samples.size() * 3 / 4] - samples[samples.size() / 4]);
  cost.repeats = static_cast<int>(samples.size() * choice.launches);
  cost.samples = static_cast<int>(samples.size());
  cost.outliers = static_cast<int>(std::ranges::count_if(samples, [&](double time) { return time > kOutlier * interval.median; }));
  return cost;
}

}  // namespace xflow::cost::gpu
