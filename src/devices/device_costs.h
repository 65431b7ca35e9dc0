// Opens the device that the options name and holds its cost database.
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
class KernelEstimates;
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

constexpr double kLeastPatience = 1;  // minimum timeout of a runner in seconds, whatever the budget

// The timeout for the first answer of a runner, in seconds.
double start_patience(const OptimizeOptions& options, double seconds_left);
// The timeout for each answer of a runner after an interruption, when the user waits for the call to finish,
// in seconds.
double hurried_patience(const OptimizeOptions& options);
// The error of a runner that did not start: limit if it did not answer in time, unsupported otherwise.
Error error_of_start(const Error& error);

// Whether whole ONNX models are run by the options' runner or by a device of the caller.
bool runs_models(const DeviceOptions& options);

// The open device and its measured costs.
struct DeviceCosts {
  DeviceCosts();
  ~DeviceCosts();
  // Opens the device with the kind that the options name (device_kind.h). `bytes_of_run`: the memory
  // footprint of the graph to run; it decides the cache state in which kernels are timed, and is called only
  // if that depends on it. `seconds_left`: upper bound for starting a runner. Errors: unsupported for an
  // unknown device; error_of_start; those of reading a profile.
  Result<void> open(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run,
                    double seconds_left = std::numeric_limits<double>::infinity());
  cost::Device& device() const;
  // Whether open() would open the same device.
  bool serves(const OptimizeOptions& options, const std::function<std::size_t()>& bytes_of_run) const;
  // Whether the device may stay open while unused. A runner holds memory and may end; a profile's file may
  // change; a lost GPU can run nothing.
  bool can_be_kept() const;
  std::unique_ptr<cost::gpu::Gpu> opened_gpu;  // the GPU under `gpu`
  // Exactly one of the devices cpu, gpu, profile, runner and other is set.
  std::unique_ptr<cost::cpu::CpuDevice> cpu;
  std::unique_ptr<cost::gpu::GpuDevice> gpu;
  std::unique_ptr<cost::profile::ProfileDevice> profile;
  std::unique_ptr<cost::runner::RunnerDevice> runner;
  std::unique_ptr<cost::Device> other;
  std::shared_ptr<cost::Database> database;
  std::unique_ptr<cost::KernelEstimates> estimates;  // from this database
  std::optional<DeviceOptions> options;              // the options passed to open()
  // Maps the memory footprint of a run to the cache state to time kernels in. Null if the device has no
  // cache states.
  std::function<std::size_t(std::size_t)> cache_footprint_for;
  std::size_t cache_footprint = 0;  // the cache state that the device was opened with
};

}  // namespace xflow::api
