// The device of the options, opened, and what is known of its costs.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>

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

// The device of the options, and what is known of its costs.
struct DeviceCosts {
  DeviceCosts();
  ~DeviceCosts();
  // The kind that the options name opens the device (device_kind.h). `bytes_of_run`: of what is going to be run there, for the caches of
  // this CPU, which is asked for where it matters. `seconds_left`: that a runner may take to start. Errors: unsupported for a device that
  // is not here and a runner that cannot be started, invalid_argument for caches of another name, those of reading a profile.
  Result<void> open(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run,
                    double seconds_left = std::numeric_limits<double>::infinity());
  cost::Device& device() const;
  std::unique_ptr<cost::gpu::Gpu> opened_gpu;  // what `gpu` is on
  std::unique_ptr<cost::cpu::CpuDevice> cpu;   // one of these
  std::unique_ptr<cost::gpu::GpuDevice> gpu;
  std::unique_ptr<cost::profile::ProfileDevice> profile;
  std::unique_ptr<cost::runner::RunnerDevice> runner;
  std::unique_ptr<cost::Device> other;
  std::unique_ptr<cost::Database> database;
};

}  // namespace xflow::api
