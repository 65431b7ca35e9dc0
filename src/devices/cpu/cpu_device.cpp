#include "src/devices/cpu/cpu_device.h"

#include <fmt/format.h>
#include <xflow/report.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "src/devices/cpu/block_functions.h"
#include "src/devices/cpu/convert_kernel.h"
#include "src/devices/cpu/dnnl_library.h"
#include "src/devices/cpu/loop_kernel.h"
#include "src/devices/cpu/pins.h"
#include "src/devices/cpu/rotation.h"
#include "src/kernels/small_kernel.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

namespace xflow::cost::cpu {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// Upper bound of the memory of a measurement.
constexpr double kMostBytes = 8.0 * (1ULL << 30U);

double elements(const ops::TensorSpec& tensor) {
  return std::accumulate(tensor.dims.begin(), tensor.dims.end(), 1.0, [](double n, std::int64_t d) { return n * static_cast<double>(d); });
}

class Device final : public CpuDevice {
 public:
  Device(std::unique_ptr<DnnlLibrary> library, const CpuOptions& options) : library_(std::move(library)), options_(options) {
    info_.name = "cpu";
    info_.model = fmt::format("{}, {}", processor_name(), library_->instruction_set());
    info_.library = fmt::format("{}, loops {}", library_->version(), kLoopVersion);
    if (options.cache_footprint > 0) info_.library += fmt::format(", {} MiB between launches", options.cache_footprint >> 20U);
    info_.threads = options.threads;
    info_.clock = to_string(options.threads == 1 ? xflow::Clock::thread_cpu_time : xflow::Clock::wall_time);
    info_.calibration = calibration_name();
    // A run reads constants once; kernels that run shortly after each other share result buffers.
    rotation_ = {options.cache_footprint, std::min(options.cache_footprint / 2, kResultBytes)};
  }

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceInfo& info() const override { return info_; }

  bool chooses_layout(const ops::KernelSpec& spec) const override { return spec.is(ops::KernelFamily::convolution); }

  bool works_in(const ops::KernelSpec& spec, Layout layout) const override {
    if (layout == Layout::plain) return true;
    if (spec.operands.empty() || spec.results.empty() || !has_layouts(spec.results[0])) return false;
    const bool blocked = layout != Layout::channels_last;
    const ir::DataType type = spec.results[0].data_type;
    const bool single = type == ir::DataType::float32 || type == ir::DataType::float16;
    if (is_pointwise(spec)) {
      // Only oneDNN handles blocked layouts. It needs two eltwise steps for a hard sigmoid, and does not
      // keep the padding of blocks at 0.
      return !blocked || (library_steps(spec) && single && fills_blocks(spec, layout) && !spec.is(ops::Op::HardSigmoid));
    }
    if (spec.is(ops::KernelFamily::pooling)) return has_layouts(spec.operands[0]) && (single || type == ir::DataType::bfloat16);
    if (spec.is(ops::KernelFamily::reduction)) {
      const auto* keeps = spec.find("keep_dims");
      return !blocked && has_layouts(spec.operands[0]) && spec.operands[0].dims.size() == spec.results[0].dims.size() &&
             (keeps == nullptr || keeps->empty() || (*keeps)[0] != 0);
    }
    if (!spec.is(ops::KernelFamily::copy) || blocked) return false;
    if (spec.is(ops::Op::Resize)) return dnnl_resamples(spec);
    const bool moves = spec.is(ops::Op::Concat) || spec.is(ops::Op::Split) || spec.is(ops::Op::Slice) ||
                       (spec.is(ops::Op::Pad) && spec.word("mode") == "constant");
    return moves && spec.operands[0].dims.size() == spec.results[0].dims.size();
  }

  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override {
    if (base.results.size() != 1 || post.operands.size() > 1) return false;
    const ops::TensorSpec& result = base.results[0];
    if (!std::ranges::all_of(post.operands, [&](const ops::TensorSpec& operand) { return broadcasts_to(operand, result); })) return false;
    const ir::DataType type = result.data_type == ir::DataType::float16 ? ir::DataType::float32 : result.data_type;
    if (is_pointwise(base)) return find_block_operator(post.function, type, type).has_value();
    if (!ops::is_anchor(base)) return false;
    if (type != ir::DataType::float32 && type != ir::DataType::bfloat16) return false;
    // Libraries and runtimes fuse one residual at most.
    const auto is_residual = [&](const ops::PostOperation& p) {
      return std::ranges::any_of(p.operands,
                                 [&](const ops::TensorSpec& operand) { return !operand.constant && operand.dims == result.dims; });
    };
    if (is_residual(post) && std::ranges::any_of(base.post, is_residual)) return false;
    return base.post.size() < kMostPostOperations && dnnl_has_step(post.function, post.position);
  }

  // Kernels are timed on operands that are aligned to cache lines.
  ViewSupport views() const override { return {{ops::Op::Slice, ops::Op::Split}, 64}; }

  Result<std::vector<std::unique_ptr<CpuKernel>>> build(const ops::KernelSpec& spec, Layout layout) override {
    if (spec.is(ops::KernelFamily::reorder) && spec.operands[0].data_type == ir::DataType::float16) {
      // Only moves elements of two bytes.
      ops::KernelSpec same = spec;
      same.operands[0].data_type = same.results[0].data_type = ir::DataType::bfloat16;
      return build(same, layout);
    }
    if (computes_with_half(spec)) {
      auto kernels = build_on_half(spec, layout);
      if (kernels) return kernels;
    }
    auto library = library_->build(spec, layout);
    std::vector<std::unique_ptr<CpuKernel>> kernels;
    std::vector<Error> errors;
    if (library) {
      kernels = *std::move(library);
    } else {
      errors.push_back(library.error());
    }
    const auto collect = [&](Result<std::unique_ptr<CpuKernel>> kernel) {
      if (kernel) {
        kernels.push_back(*std::move(kernel));
      } else {
        errors.push_back(kernel.error());
      }
    };
    if (is_pointwise(spec)) {
      collect(build_pointwise_loop(spec, layout));
    } else if (spec.is(ops::KernelFamily::copy)) {
      collect(build_copy_loop(spec, layout));
      if (kernels.empty()) collect(build_index_loop(spec, layout));
    } else if (spec.is(ops::KernelFamily::product) && kernels.empty()) {
      collect(build_matmul_loop(spec));
    } else if (spec.is(ops::Op::Cumsum)) {
      collect(build_index_loop(spec, layout));
    } else if ((spec.is(ops::KernelFamily::reduction) || ops::is_normalization(spec)) && !spec.operands.empty()) {
      collect(build_reduce_loop(spec, layout));
    }
    const bool has_other_types = spec.is(ops::KernelFamily::reduction) || spec.is(ops::KernelFamily::softmax);
    if (kernels.empty() && has_other_types && !spec.operands.empty()) collect(build_other_types_loop(spec, layout));
    const bool plain = layout == Layout::plain || layout == Layout::any;
    if (kernels.empty() && plain && spec.post.empty()) {
      if (auto kernel = build_notation_kernel(spec)) kernels.push_back(*std::move(kernel));
    }
    if (kernels.empty()) return fail(errors.back());
    return kernels;
  }

  void use_threads() const override { library_->use_threads(); }

  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override {
    if (spec.is(ops::KernelFamily::none)) return KernelCost{};
    if (std::ranges::all_of(spec.results, [](const ops::TensorSpec& result) { return elements(result) == 0; })) return KernelCost{};
    double bytes = 0;
    for (const ops::TensorSpec& tensor : all_operands(spec)) bytes += 8 * elements(tensor);
    for (const ops::TensorSpec& tensor : spec.results) bytes += 8 * elements(tensor);
    if (bytes > kMostBytes) {
      return fail(ErrorCode::unsupported,
                  fmt::format("cannot run {} here: it needs {:.0f} GiB", ops::to_string(spec), bytes / (1ULL << 30U)));
    }
    if (is_too_large(bytes)) {
      return fail(ErrorCode::limit, fmt::format("cannot run {} here: it needs {:.0f} MiB, more than may be used", ops::to_string(spec),
                                                bytes / (1ULL << 20U)));
    }
    const auto stopped = [&] {
      return fail(ErrorCode::limit, fmt::format("cannot run {} here: timing was stopped", ops::to_string(spec)));
    };
    if (is_stopped()) return stopped();
    if (spec.is(ops::KernelFamily::reorder)) {
      const auto from = static_cast<Layout>(spec.find("from")->at(0));
      const auto to = static_cast<Layout>(spec.find("to")->at(0));
      if (same_bytes(spec.operands[0], from, to)) return KernelCost{{}, {}, 0, from, to};
    }
    const double seconds = kLeastLaunches * least_time(spec, layout).count() / 1e9;
    if (const double left = seconds_left(); seconds > left) {
      return fail(ErrorCode::limit, fmt::format("cannot run {} here: timing it takes at least {:.2g} s, and {:.2g} s are left",
                                                ops::to_string(spec), seconds, left));
    }
    library_->use_threads();
    XFLOW_TRY(std::vector<std::unique_ptr<CpuKernel>> kernels, build(spec, layout));
    for (const std::unique_ptr<CpuKernel>& kernel : kernels) kernel->stop_when(ask_);
    if (layout == Layout::any && spec.is(ops::KernelFamily::convolution)) add_channels_last(spec, kernels);
    const Pins pins(options_.threads);
    drop_slow(kernels);
    std::vector<KernelCost> costs = time_quietly(kernels, spec);
    if (is_stopped()) return stopped();
    const KernelCost* best = nullptr;
    double least = 0;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      KernelCost& cost = costs[k];
      if (kernels[k]->implementation().ends_with("loop")) {
        cost.median += Nanoseconds{kLaunchesOfARuntime * launch_time().count()};
      } else {
        cost.median += time_between_others();
      }
      cost.operands = kernels[k]->operand_layout();
      cost.results = kernels[k]->result_layout();
      // If oneDNN may choose, a layout other than channels last must be clearly faster, because it causes
      // reorders.
      const double handicap = layout == Layout::any && !is_channels_last(*kernels[k]) ? kReorderShare : 1;
      if (best != nullptr && cost.median.count() * handicap >= least) continue;
      best = &cost;
      least = cost.median.count() * handicap;
    }
    return *best;
  }

  Nanoseconds least_time(const ops::KernelSpec& spec, Layout layout) override {
    if (!seconds_left_) return {};
    const auto small = small_kernel_of(spec, options_.threads);
    if (!small || small->operations < kLongOperations) return {};
    const std::string text = fmt::format("{}@{}", ops::to_string(small->spec), name(layout));
    auto known = small_kernels_.find(text);
    if (known == small_kernels_.end()) {
      const Nanoseconds time = time_of_small_kernel(small->spec, layout);
      if (is_stopped()) return {};
      known = small_kernels_.emplace(text, time).first;
    }
    return Nanoseconds{known->second.count() / small->share / kFasterThanSmallKernel};
  }

  const std::function<bool()>& stop_of_kernels() const override { return ask_; }

  double interference() override {
    const Nanoseconds calibration = calibration_time(options_.threads == 1);
    fastest_calibration_ = std::min(fastest_calibration_, calibration);
    return calibration.count() / fastest_calibration_.count() - 1;
  }
  Nanoseconds fastest_calibration() const override { return fastest_calibration_ == kNever ? Nanoseconds{} : fastest_calibration_; }
  void know_fastest_calibration(Nanoseconds time) override {
    if (time.count() > 0) fastest_calibration_ = std::min(fastest_calibration_, time);
  }

 private:
  Result<std::vector<std::unique_ptr<CpuKernel>>> build_on_half(const ops::KernelSpec& spec, Layout layout) {
    std::vector<std::unique_ptr<CpuKernel>> kernels;
    if (auto cast = build_half_cast(spec, layout)) {
      kernels.push_back(*std::move(cast));
      return kernels;
    }
    XFLOW_TRY(kernels, build(on_float(spec), layout));
    for (std::unique_ptr<CpuKernel>& kernel : kernels) kernel = convert_around(spec, std::move(kernel));
    return kernels;
  }

  // The time of the fastest implementation; 0 if there is none.
  Nanoseconds time_of_small_kernel(const ops::KernelSpec& small, Layout layout) {
    library_->use_threads();
    const auto kernels = build(small, layout);
    if (!kernels) return {};
    const Pins pins(options_.threads);
    const TimingOptions glance{.sample = {}, .round = {}, .most = {}, .least_rounds = 3, .stop = stop_};
    const std::vector<KernelCost> times = time_interleaved(runs_of(*kernels), glance, options_.threads == 1);
    return std::ranges::min(times, {}, &KernelCost::median).median;
  }

  static constexpr double kLongOperations = 2e9;       // at least a second on a slow machine, by a slow kernel
  static constexpr double kFasterThanSmallKernel = 2;  // safety margin of the lower bound
  // Launches that timing needs: a warm-up, one that determines the sample size, and three rounds.
  static constexpr double kLeastLaunches = 5;
  static constexpr std::size_t kMostPostOperations = 8;
  // A convolution in channels last may be slower by this factor, because it needs no reorders.
  static constexpr double kReorderShare = 1.25;
  static constexpr double kClearlySlower = 1.6;
  // Chosen by hand: ONNX Runtime 1.31 took 0.8 to 1.3 us for an operator on 384 elements that takes oneDNN
  // 0.28 us.
  static constexpr double kLaunchesOfARuntime = 4;
  static constexpr int kAttempts = 2;
  static constexpr std::size_t kResultBytes = std::size_t{2} << 20U;
  static constexpr std::size_t kOtherBytes = std::size_t{4} << 20U;
  static constexpr std::size_t kCacheLine = 64;
  static constexpr Nanoseconds kNever{1e18};
  // If the calibration kernel is slower than its fastest time by this factor, other processes interfere.
  static constexpr double kQuiet = 1.15;

  static bool is_channels_last(const CpuKernel& kernel) {
    return kernel.operand_layout() == Layout::channels_last && kernel.result_layout() == Layout::channels_last;
  }

  // If oneDNN chooses a layout other than channels last, channels last is timed as well. Nearly all kernels
  // of oneDNN choose channels last, so it saves reorders, and some kernels that oneDNN prefers are slower.
  void add_channels_last(const ops::KernelSpec& spec, std::vector<std::unique_ptr<CpuKernel>>& kernels) {
    if (std::ranges::any_of(kernels, [](const auto& kernel) { return is_channels_last(*kernel); })) return;
    auto others = build(spec, Layout::channels_last);
    if (!others || is_reference(*others->front())) return;
    if (is_reference(*kernels[0])) kernels.clear();
    for (std::unique_ptr<CpuKernel>& other : *others) kernels.push_back(std::move(other));
  }

  // Drops kernels that are clearly slower in a short measurement.
  void drop_slow(std::vector<std::unique_ptr<CpuKernel>>& kernels) const {
    if (kernels.size() < 2) return;
    const TimingOptions glance{.sample = Nanoseconds(5e3), .round = {}, .most = {}, .least_rounds = 4, .stop = stop_};
    const std::vector<KernelCost> times = time_interleaved(runs_of(kernels), glance, options_.threads == 1);
    const double least = std::ranges::min(times, {}, &KernelCost::median).median.count();
    for (std::size_t k = kernels.size(); k-- > 0;) {
      if (times[k].median.count() > kClearlySlower * least) kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }

  static std::vector<std::function<void()>> runs_of(std::span<const std::unique_ptr<CpuKernel>> kernels) {
    std::vector<std::function<void()>> runs;
    for (const std::unique_ptr<CpuKernel>& kernel : kernels) runs.emplace_back([run = kernel.get()] { run->run(); });
    return runs;
  }

  // The time oneDNN takes to launch a kernel with almost no work. The loops are called directly, but in a
  // runtime they would be nodes like others. kLaunchesOfARuntime times this time is therefore added to their
  // times: otherwise a rewrite that replaces products by copies that are free here would be slower in the
  // runtime.
  Nanoseconds launch_time() {
    if (!launch_) {
      const ops::TensorSpec one{ir::DataType::float32, {1}, false};
      launch_ = Nanoseconds{};
      const ops::KernelSpec spec = ops::pointwise_spec(ops::Op::Relu, {one}, one);
      auto relu = library_->build(spec, Layout::plain);
      // The result is cached, so the measurement must not be cut short.
      const auto stop = std::exchange(stop_, nullptr);
      if (relu) launch_ = time_quietly(*relu, spec)[0].median;
      stop_ = stop;
    }
    return *launch_;
  }

  // The additional time of a oneDNN launch whose code and description have been evicted from the nearest
  // caches by the rest of the graph. It is the difference per launch between different small convolutions
  // run one after the other behind a walk through kOtherBytes of memory, and each convolution timed alone.
  Nanoseconds time_between_others() {
    if (options_.cache_footprint == 0) return {};
    if (!between_others_) {
      between_others_ = Nanoseconds{};
      const std::vector<std::unique_ptr<CpuKernel>> kernels = different_convolutions();
      if (kernels.empty()) return {};
      const bool thread_time = options_.threads == 1;
      const std::vector<std::function<void()>> runs = runs_of(kernels);
      Nanoseconds alone{};
      for (const auto& run : runs) alone += time_interleaved({&run, 1}, options_.timing, thread_time)[0].median;
      const Memory others(kOtherBytes);
      const auto walk = [&] {
        for (std::size_t k = 0; k < kOtherBytes; k += kCacheLine) static_cast<void>(*static_cast<volatile std::byte*>(others.get() + k));
      };
      const auto walk_and_run = [&] {
        walk();
        for (const auto& run : runs) run();
      };
      const std::array<std::function<void()>, 2> functions = {walk, walk_and_run};
      const std::vector<KernelCost> costs = time_interleaved(functions, options_.timing, thread_time);
      const double more = (costs[1].median - costs[0].median - alone).count() / static_cast<double>(runs.size());
      between_others_ = Nanoseconds{std::max(0.0, more)};
    }
    return *between_others_;
  }

  std::vector<std::unique_ptr<CpuKernel>> different_convolutions() {
    std::vector<std::unique_ptr<CpuKernel>> kernels;
    for (std::int64_t size = 1; size <= 4; ++size) {
      for (std::int64_t in = 8; in <= 32; in += 8) {
        for (std::int64_t out = 8; out <= 32; out += 8) {
          ops::KernelSpec spec;
          spec.family = ops::KernelFamily::convolution;
          spec.function.op = ops::Op::Conv;
          spec.operands = {{ir::DataType::float32, {1, in, size, size}, false}, {ir::DataType::float32, {out, in, 1, 1}, true}};
          spec.results = {{ir::DataType::float32, {1, out, size, size}, false}};
          spec.integers = {{"dilations", {1, 1}}, {"groups", {1}}, {"pads", {0, 0, 0, 0}}, {"strides", {1, 1}}};
          auto built = library_->build(spec, Layout::channels_last);
          if (built) kernels.push_back(std::move(built->front()));
        }
      }
    }
    return kernels;
  }

  static bool is_reference(const CpuKernel& kernel) { return kernel.implementation().find("ref") != std::string_view::npos; }

  // Repeats the timing, kAttempts times at most, while the calibration kernel shows interference. The
  // attempt with the fastest calibration time counts.
  std::vector<KernelCost> time_quietly(std::span<const std::unique_ptr<CpuKernel>> kernels, const ops::KernelSpec& spec) {
    TimingOptions timing = options_.timing;
    timing.stop = stop_;
    const bool thread_time = options_.threads == 1;
    std::vector<std::unique_ptr<Rotation>> rotations;
    std::vector<std::function<void()>> runs;
    for (const std::unique_ptr<CpuKernel>& kernel : kernels) {
      rotations.push_back(std::make_unique<Rotation>(*kernel, spec, rotation_));
      runs.emplace_back([rotation = rotations.back().get()] { rotation->launch(); });
    }
    std::vector<KernelCost> best;
    Nanoseconds best_calibration = kNever;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Nanoseconds before = calibration_time(thread_time);
      std::vector<KernelCost> costs = time_interleaved(runs, timing, thread_time);
      const Nanoseconds calibration = std::max(before, calibration_time(thread_time));
      fastest_calibration_ = std::min(fastest_calibration_, calibration);
      if (calibration < best_calibration) {
        best = std::move(costs);
        best_calibration = calibration;
      }
      if (calibration.count() <= kQuiet * fastest_calibration_.count()) break;
    }
    for (KernelCost& cost : best) cost.interference = best_calibration.count() / fastest_calibration_.count() - 1;
    return best;
  }

  // Whether no block is padded and no operand computed at run time has a lower rank, which would be
  // row-major.
  static bool fills_blocks(const ops::KernelSpec& spec, Layout layout) {
    const std::int64_t block = layout == Layout::blocked4 ? 4 : layout == Layout::blocked8 ? 8 : 16;
    const std::size_t rank = spec.results[0].dims.size();
    return spec.results[0].dims[1] % block == 0 && std::ranges::all_of(all_operands(spec), [&](const ops::TensorSpec& operand) {
             return operand.constant || operand.dims.size() == rank;
           });
  }

  static bool library_steps(const ops::KernelSpec& spec) {
    return std::ranges::all_of(pointwise_steps(spec), [](const Step& step) { return dnnl_has_step(step.function, step.position); });
  }

  std::unique_ptr<DnnlLibrary> library_;
  CpuOptions options_;
  DeviceInfo info_;
  Nanoseconds fastest_calibration_ = kNever;
  std::optional<Nanoseconds> launch_;
  std::optional<Nanoseconds> between_others_;
  std::map<std::string, Nanoseconds> small_kernels_;  // times by text and layout
  const std::function<bool()> ask_ = [this] { return is_stopped(); };
  RotationSizes rotation_;
};

}  // namespace

Result<std::unique_ptr<CpuDevice>> open_cpu_device(const CpuOptions& options) {
  if (options.threads < 1) return fail(ErrorCode::invalid_argument, fmt::format("expected at least 1 thread, found {}", options.threads));
  XFLOW_TRY(std::unique_ptr<DnnlLibrary> library, DnnlLibrary::open(options.threads));
  return std::unique_ptr<CpuDevice>(std::make_unique<Device>(std::move(library), options));
}

}  // namespace xflow::cost::cpu
