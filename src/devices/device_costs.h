// The device of the options, opened, and what is known of its costs.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

namespace xflow::cost {
class Database;
class Device;
}  // namespace xflow::cost
namespace xflow::cost::cpu {
class CpuDevice;
}
namespace xflow::cost::gpu {
class Gpu;
class GpuDevice;
}  // namespace xflow::cost::gpu
namespace xflow::cost::profile {
class ProfileDevice;
}
namespace xflow::cost::runner {
class RunnerDevice;
}

namespace xflow::api {

constexpr double kLeastPatience = 1;  // seconds that a runner has for an answer, whatever the budget

// Seconds that a runner may take until it answers for the first time.
double start_patience(const OptimizeOptions& options, double seconds_left);

// Whether whole ONNX models are run by the runner of the options, or by a device of the caller.
bool runs_models(const DeviceOptions& options);

// The device of the options, and what is known of its costs.
struct DeviceCosts {
  DeviceCosts();
  ~DeviceCosts();
  // The kind that the options name opens the device (device_kind.h). `bytes_of_run`: of what is going to be run there, for the caches of
  // this CPU, which is asked for where it matters. `seconds_left`: that a runner may take to start. Errors: unsupported for a device that
  // is not here and a runner that cannot be started, those of reading a profile.
  Result<void> open(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run,
                    double seconds_left = std::numeric_limits<double>::infinity());
  cost::Device& device() const;
  // Whether open() would open the same device again.
  bool serves(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run) const;
  // Whether it may stay open when nobody uses it: a runner holds memory and may be gone, a profile's file may be another by then, and a GPU
  // that was lost does nothing any more.
  bool can_be_kept() const;
  std::unique_ptr<cost::gpu::Gpu> opened_gpu;  // what `gpu` is on
  std::unique_ptr<cost::cpu::CpuDevice> cpu;   // one of these
  std::unique_ptr<cost::gpu::GpuDevice> gpu;
  std::unique_ptr<cost::profile::ProfileDevice> profile;
  std::unique_ptr<cost::runner::RunnerDevice> runner;
  std::unique_ptr<cost::Device> other;
  std::shared_ptr<cost::Database> database;
  std::optional<DeviceOptions> options;  // that it was opened for
  // What the caches hold after a run through so many bytes; null: the device has no such choice.
  std::function<std::size_t(std::size_t)> between_for;
  std::size_t between = 0;  // the same for the run that it was opened for
};

}  // namespace xflow::api
