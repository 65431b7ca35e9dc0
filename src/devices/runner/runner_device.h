// Times kernels in a runner as small models, that is, in the runtime that will serve the model
// (docs/cost.md).
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "src/devices/runner/kernel_model.h"
#include "src/devices/runner/runner.h"
#include "src/kernels/device.h"

namespace xflow::cost::runner {

struct RunnerDeviceOptions {
  RunnerOptions runner;
  double max_seconds = 300;  // time limit for timing kernels, in total
  double patience = 20;      // timeout of an answer of the running runner
};

// If a kernel ends the runner, it is tried once more in a new runner and refused if it ends that one, too.
// Kernels that are not timed because time ran out get Error::limit: a later run may time them.
class RunnerDevice final : public Device {
 public:
  // Starts the runner. Errors: see Runner::start.
  static Result<std::unique_ptr<RunnerDevice>> open(const RunnerDeviceOptions& options);

  const DeviceInfo& info() const override { return info_; }
  // The runtime hides its layouts: all inputs and outputs of a model are row-major.
  bool chooses_layout(const ops::KernelSpec&) const override { return false; }
  bool works_in(const ops::KernelSpec&, Layout layout) const override { return layout == Layout::plain; }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override;
  bool reads_function_graphs() const override { return true; }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override;

  double interference() override;
  Nanoseconds fastest_calibration() const override { return fastest_calibration_; }
  void know_fastest_calibration(Nanoseconds time) override;

  std::size_t starts() const { return starts_; }  // of runners so far

 private:
  // The additional time of the second of two models.
  struct Pair {
    Nanoseconds more{};
    Nanoseconds spread{};
    int runs = 0;
    Nanoseconds calibration{};  // calibration time during the measurement
  };
  // The time of one additional launch, including the extras that it adds to the model.
  struct Slope {
    Nanoseconds time{};
    Nanoseconds spread{};
    int runs = 0;
    ModelExtras extras;
    Nanoseconds calibration{};
  };
  // The times of the extras of a launch, in nanoseconds each.
  struct Overhead {
    double node = 0;
    double input = 0;
    double output = 0;
    double split = 0;
    double gathered = 0;
    double of(const ModelExtras& extras) const;
  };

  explicit RunnerDevice(RunnerDeviceOptions options) : options_(std::move(options)) {}
  Result<void> start();
  Result<KernelCost> timed(const ops::KernelSpec& spec);
  Result<Pair> time(const TimedModel& few, const TimedModel& many, int rounds);
  Result<Slope> slope(const ops::KernelSpec& spec, Arrangement arrangement, int more, int rounds);
  Result<Overhead> overhead();
  Result<void> load_calibration();
  Result<Nanoseconds> calibration();  // one round of the calibration kernel
  double seconds_left() const;

  RunnerDeviceOptions options_;
  DeviceInfo info_;
  std::unique_ptr<Runner> runner_;
  std::size_t starts_ = 0;
  double used_ = 0;
  std::optional<Overhead> overhead_;
  Nanoseconds fastest_calibration_{};
};

}  // namespace xflow::cost::runner
