#include "src/devices/runner/runner_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

namespace xflow::cost::runner {
namespace {

using Clock = std::chrono::steady_clock;

// The version of the measurement, to be raised when a change affects the times of kernels.
constexpr int kMethod = 4;

constexpr std::size_t kMostPostOperations = 4;
constexpr int kMostLaunches = 16;        // in addition to the first
constexpr int kLaunchesOfOverhead = 48;  // many, because the overhead is subtracted from every kernel's time
constexpr double kMostBytes = 1.0 * (1ULL << 30U);
// Minimum time of a sample in nanoseconds, so that reading the clock is negligible.
constexpr double kSample = 1e6;
constexpr int kMostRepeats = 50;
constexpr int kRounds = 7;  // minimum
constexpr int kRoundsOfOverhead = 25;
constexpr int kMostRounds = 25;
constexpr double kMostNanoseconds = 50e6;  // for the rounds beyond the minimum
// Rounds continue while the calibration kernel is slower than its fastest time by more than this share.
constexpr double kQuiet = 0.05;
// Rounds end when the interquartile range is at most this share of the median.
constexpr double kAgree = 0.04;
constexpr int kAttempts = 2;
constexpr std::uint32_t kCalibration = 2;  // number of the calibration model and its inputs, after those of the timed models
constexpr int kCalibrationRuns = 4;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double elements_of(const ops::TensorSpec& tensor) {
  double count = 1;
  for (const std::int64_t dim : tensor.dims) count *= static_cast<double>(dim);
  return count;
}

double bytes_of(const ops::KernelSpec& spec) {
  double count = 0;
  for (const ops::TensorSpec& tensor : spec.operands) count += elements_of(tensor);
  for (const ops::TensorSpec& tensor : spec.results) count += elements_of(tensor);
  for (const ops::PostOperation& post : spec.post)
    for (const ops::TensorSpec& tensor : post.operands) count += elements_of(tensor);
  return 4 * count;
}

// The number of additional launches that together take about as long as the rest of the model, estimated
// without timing.
int launches_beside_first(const ops::KernelSpec& spec) {
  double work = bytes_of(spec);
  const bool product = spec.operands.size() > 1 && !spec.results.empty() && !spec.results[0].dims.empty();
  if (product && spec.is(ops::KernelFamily::product) && !spec.operands[0].dims.empty())
    work += 0.1 * elements_of(spec.results[0]) * static_cast<double>(spec.operands[0].dims.back());
  if (product && spec.is(ops::KernelFamily::convolution) && spec.results[0].dims.size() > 1 && spec.results[0].dims[1] > 0)
    work += 0.1 * elements_of(spec.results[0]) * elements_of(spec.operands[1]) / static_cast<double>(spec.results[0].dims[1]);
  constexpr double kLong = 4e6;  // about 300 us
  const double most = work > kLong ? 1 : work > kLong / 8 ? 3 : work > kLong / 32 ? 8 : kMostLaunches;
  return static_cast<int>(std::clamp(std::floor(kMostBytes / bytes_of(spec)) - 1, 1.0, most));
}

struct Round {
  double calibration = 0;
  double more = 0;
};

// The half of the rounds with the fastest calibration times: the slowest of these calibration times, and the
// median and interquartile range of the measured difference.
struct Quiet {
  double calibration = 0;
  double more = 0;
  double spread = 0;
};
Quiet quietest(std::vector<Round> rounds) {
  std::ranges::sort(rounds, {}, &Round::calibration);
  rounds.resize((rounds.size() + 1) / 2);
  const double calibration = rounds.back().calibration;
  std::ranges::sort(rounds, {}, &Round::more);
  const std::size_t count = rounds.size();
  return {calibration, rounds[count / 2].more, rounds[3 * count / 4].more - rounds[count / 4].more};
}

bool is_stable(const std::vector<Round>& rounds, double fastest_calibration) {
  const Quiet quiet = quietest(rounds);
  return quiet.calibration <= (1 + kQuiet) * fastest_calibration && quiet.spread <= kAgree * std::abs(quiet.more);
}

}  // namespace

Result<std::unique_ptr<RunnerDevice>> RunnerDevice::open(const RunnerDeviceOptions& options) {
  std::unique_ptr<RunnerDevice> device(new RunnerDevice(options));
  XFLOW_CHECK(device->start());
  return device;
}

Result<void> RunnerDevice::start() {
  runner_.reset();
  ++starts_;
  RunnerOptions options = options_.runner;
  options.stop = [this] { return is_stopped() || (options_.runner.stop && options_.runner.stop()); };
  options.bytes_left = [this] { return bytes_left_ ? bytes_left_() : std::numeric_limits<std::uint64_t>::max(); };
  XFLOW_TRY(runner_, Runner::start(options));
  runner_->set_patience(options_.patience);
  info_ = runner_->info();
  info_.library += fmt::format(", kernels {}", kMethod);
  info_.calibration = "16 sigmoids of 4096 elements, warm, the median of some rounds";
  return load_calibration();
}

bool RunnerDevice::can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const {
  if (!ops::is_anchor(base) || base.results.size() != 1 || base.post.size() >= kMostPostOperations || post.operands.size() > 1)
    return false;
  const ops::TensorSpec& result = base.results[0];
  for (const ops::TensorSpec& operand : post.operands) {
    if (operand.dims.size() > result.dims.size() || operand.data_type != result.data_type) return false;
    const std::size_t offset = result.dims.size() - operand.dims.size();
    for (std::size_t k = 0; k < operand.dims.size(); ++k) {
      if (operand.dims[k] != 1 && operand.dims[k] != result.dims[offset + k]) return false;
    }
  }
  // Runtimes fuse one residual at most.
  const auto is_residual = [](const ops::PostOperation& p) {
    return std::ranges::any_of(p.operands, [](const ops::TensorSpec& operand) { return !operand.constant; });
  };
  return !is_residual(post) || std::ranges::none_of(base.post, is_residual);
}

Result<KernelCost> RunnerDevice::measure(const ops::KernelSpec& spec, Layout /*layout*/) {
  if (spec.is(ops::KernelFamily::none)) return KernelCost{};
  if (std::ranges::all_of(spec.results, [](const ops::TensorSpec& result) { return elements_of(result) == 0; })) return KernelCost{};
  const auto refused = [&](ErrorCode code, std::string_view why) {
    return fail(code, fmt::format("cannot run {} here: {}", ops::to_string(spec), why));
  };
  if (2 * bytes_of(spec) > kMostBytes) return refused(ErrorCode::unsupported, "it needs too much memory");
  if (is_too_large(2 * bytes_of(spec))) return refused(ErrorCode::limit, "it needs more memory than may be used");
  const auto begin = Clock::now();
  Error last;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (seconds_left() <= 0) return refused(ErrorCode::limit, "the time for timing kernels is over");
    if (is_stopped()) return refused(ErrorCode::limit, "timing was stopped");
    if (!runner_ || !runner_->is_running()) {
      if (auto started = start(); !started) return refused(ErrorCode::limit, started.error().text());
    }
    auto cost = timed(spec);
    used_ += seconds_since(begin);
    if (cost) return cost;
    last = cost.error();
    if (runner_->is_running()) return refused(ErrorCode::unsupported, last.message);
    if (last.code == ErrorCode::limit) return refused(ErrorCode::limit, last.message);
  }
  return refused(ErrorCode::unsupported, last.message);
}

double RunnerDevice::seconds_left() const { return options_.max_seconds - used_; }

Result<KernelCost> RunnerDevice::timed(const ops::KernelSpec& spec) {
  const Arrangement arrangement = arrangement_of(spec);
  XFLOW_TRY(const Slope slope, this->slope(spec, arrangement, launches_beside_first(spec), kRounds));
  double time = slope.time.count();
  if (arrangement != Arrangement::chain && arrangement != Arrangement::pooled) {
    XFLOW_TRY(const Overhead extra, overhead());
    time -= extra.of(slope.extras);
  }
  KernelCost cost{Nanoseconds(std::max(time, 0.0)), slope.spread, slope.runs, Layout::plain, Layout::plain, 0};
  cost.interference = slope.calibration.count() / std::max(fastest_calibration_.count(), 1.0) - 1;
  return cost;
}

double RunnerDevice::Overhead::of(const ModelExtras& extras) const {
  const auto times = [](double each, std::size_t count) { return each * static_cast<double>(count); };
  return times(node, extras.nodes) + times(input, extras.inputs) + times(output, extras.outputs) + times(split, extras.split) +
         times(gathered, extras.gathered);
}

// Loads the calibration kernel, a model of small kernels. Its time rises while other processes share the
// core or its clock is low.
Result<void> RunnerDevice::load_calibration() {
  const ops::TensorSpec some{ir::DataType::float32, {4096}, false};
  XFLOW_TRY(const TimedModel calibration, kernel_model(ops::pointwise_spec(ops::Op::Sigmoid, {some}, some), 16, 16, Arrangement::chain));
  XFLOW_CHECK(runner_->load(kCalibration, {calibration.bytes, {}}));
  XFLOW_CHECK(runner_->set_inputs(kCalibration, calibration.inputs));
  XFLOW_CHECK(runner_->run(kCalibration, kCalibration, kCalibrationRuns));
  return {};
}

void RunnerDevice::know_fastest_calibration(Nanoseconds time) {
  if (time.count() > 0) fastest_calibration_ = fastest_calibration_.count() > 0 ? std::min(fastest_calibration_, time) : time;
}

double RunnerDevice::interference() {
  if (!runner_ || !runner_->is_running()) return 0;
  std::vector<Round> rounds;
  for (int k = 0; k < kRounds; ++k) {
    const auto time = calibration();
    if (!time) return 0;
    rounds.push_back({time->count(), 0});
  }
  const Nanoseconds now{quietest(std::move(rounds)).calibration};
  know_fastest_calibration(now);
  return fastest_calibration_.count() > 0 ? now.count() / fastest_calibration_.count() - 1 : 0;
}

// The first run does not count, because previous models have evicted it from the caches.
Result<Nanoseconds> RunnerDevice::calibration() {
  XFLOW_CHECK(runner_->run(kCalibration, kCalibration, 1));
  XFLOW_TRY(const RunTimes times, runner_->run(kCalibration, kCalibration, kCalibrationRuns));
  return times.time;
}

Result<RunnerDevice::Slope> RunnerDevice::slope(const ops::KernelSpec& spec, Arrangement arrangement, int more, int rounds) {
  XFLOW_TRY(const TimedModel few, kernel_model(spec, 1, 1 + more, arrangement));
  XFLOW_TRY(const TimedModel many, kernel_model(spec, 1 + more, 1 + more, arrangement));
  XFLOW_TRY(const Pair pair, time(few, many, rounds));
  return Slope{pair.more / more, pair.spread / more, pair.runs, many.extras, pair.calibration};
}

// Times both models and the calibration kernel in alternating rounds, so that a temporary slowdown of the
// machine affects all three. The result is the median difference of the two models over the rounds with the
// fastest calibration times.
Result<RunnerDevice::Pair> RunnerDevice::time(const TimedModel& few, const TimedModel& many, int rounds) {
  std::array<int, 2> repeats{};
  for (std::uint32_t k = 0; k < 2; ++k) {
    const TimedModel& model = k == 0 ? few : many;
    XFLOW_CHECK(runner_->load(k, {model.bytes, {}}));
    XFLOW_CHECK(runner_->set_inputs(k, model.inputs));
    XFLOW_CHECK(runner_->run(k, k, 1));
    XFLOW_TRY(const RunTimes once, runner_->run(k, k, 1));
    repeats[k] =
        static_cast<int>(std::clamp(std::ceil(kSample / std::max(once.time.count(), 1.0)), 1.0, static_cast<double>(kMostRepeats)));
  }
  std::vector<Round> done;
  Pair pair;
  double used = 0;
  for (int round = 0; round < std::max(rounds, kMostRounds); ++round) {
    if (round >= rounds && (used > kMostNanoseconds || is_stable(done, fastest_calibration_.count()))) break;
    std::array<double, 2> times{};
    for (std::uint32_t k = 0; k < 2; ++k) {
      XFLOW_TRY(const RunTimes run, runner_->run(k, k, repeats[k]));
      times[k] = run.time.count();
      used += run.time.count() * repeats[k];
      pair.runs += repeats[k];
    }
    XFLOW_TRY(const Nanoseconds calibration, this->calibration());
    done.push_back({calibration.count(), times[1] - times[0]});
  }
  for (std::uint32_t k = 0; k < 2; ++k) XFLOW_CHECK(runner_->unload(k));
  const Quiet quiet = quietest(std::move(done));
  pair.more = Nanoseconds(quiet.more);
  pair.spread = Nanoseconds(quiet.spread);
  pair.calibration = Nanoseconds(quiet.calibration);
  // The fastest calibration time is taken over the kept half of the rounds: the fastest single run would
  // show interference on every machine.
  know_fastest_calibration(pair.calibration);
  return pair;
}

// Measures kernels with almost no work: in a chain they consist of nodes only.
Result<RunnerDevice::Overhead> RunnerDevice::overhead() {
  if (overhead_) return *overhead_;
  const auto relu = [&](std::vector<std::int64_t> dims, Arrangement arrangement) -> Result<double> {
    const ops::TensorSpec x{ir::DataType::float32, std::move(dims), false};
    XFLOW_TRY(const Slope time, slope(ops::pointwise_spec(ops::Op::Relu, {x}, x), arrangement, kLaunchesOfOverhead, kRoundsOfOverhead));
    return time.time.count();
  };
  const auto add = [&](std::vector<std::int64_t> dims, Arrangement arrangement) -> Result<double> {
    const ops::TensorSpec x{ir::DataType::float32, dims, false};
    const ops::TensorSpec constant{ir::DataType::float32, std::move(dims), true};
    XFLOW_TRY(const Slope time,
              slope(ops::pointwise_spec(ops::Op::Add, {x, constant}, x), arrangement, kLaunchesOfOverhead, kRoundsOfOverhead));
    return time.time.count();
  };
  Overhead found;
  XFLOW_TRY(found.node, relu({1}, Arrangement::chain));
  // One element is small, so it is split and joined; rank 0 is passed as an input and output of its own.
  for (const bool small : {true, false}) {
    const std::vector<std::int64_t> dims(small ? 1 : 0, 1);
    XFLOW_TRY(const double in_a_row, add(dims, Arrangement::chain));
    XFLOW_TRY(const double own, add(dims, Arrangement::weights));
    XFLOW_TRY(const double beside, relu(dims, Arrangement::beside));
    const double out = std::max(own - in_a_row, 0.0);
    (small ? found.gathered : found.output) = out;
    (small ? found.split : found.input) = std::max(beside - found.node - out, 0.0);
  }
  overhead_ = found;
  return found;
}

}  // namespace xflow::cost::runner
