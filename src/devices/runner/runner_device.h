// Kernels timed in a runner, as small models: what they take in the runtime that will serve the model. docs/cost.md says how.
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
  double max_seconds = 300;  // that timing kernels may take in all
  double patience = 20;      // that the runner may take for one answer once it runs
};

// A kernel that ends the runner is tried once more, in another one, and refused if it does so again; the next kernel gets a new runner.
// What is not known because time was over is Error::limit: a later run may know.
class RunnerDevice final : public Device {
 public:
  // Starts the runner. Errors: as Runner::start.
  static Result<std::unique_ptr<RunnerDevice>> open(const RunnerDeviceOptions& options);

  const DeviceInfo& info() const override { return info_; }
  // The runtime keeps its layouts to itself: all that is seen of a model is row-major.
  bool chooses_layout(const ops::KernelSpec&) const override { return false; }
  bool works_in(const ops::KernelSpec&, Layout layout) const override { return layout == Layout::plain; }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override;
  bool reads_function_graphs() const override { return true; }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override;

  double interference() override;
  Nanoseconds fastest_control() const override { return fastest_control_; }
  void know_fastest_control(Nanoseconds time) override;

  std::size_t starts() const { return starts_; }  // of runners so far

 private:
  // What the second of two models takes more.
  struct Pair {
    Nanoseconds more{};
    Nanoseconds spread{};
    int runs = 0;
    Nanoseconds control{};  // meanwhile
  };
  // The time of one launch more, and of what the model has more with it.
  struct Slope {
    Nanoseconds time{};
    Nanoseconds spread{};
    int runs = 0;
    ModelExtras extras;
    Nanoseconds control{};
  };
  // What a launch has beside its kernel in a model.
  struct Overhead {
    double node = 0;  // nanoseconds
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
  Result<void> load_control();
  Result<Nanoseconds> control();  // one round
  double seconds_left() const;

  RunnerDeviceOptions options_;
  DeviceInfo info_;
  std::unique_ptr<Runner> runner_;
  std::size_t starts_ = 0;
  double used_ = 0;
  std::optional<Overhead> overhead_;
  Nanoseconds fastest_control_{};
};

}  // namespace xflow::cost::runner
