// Sources of kernel times: devices of this machine, runners, profiles, and devices of the caller.
#pragma once

#include <xflow/data_type.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xflow {

// State of the CPU caches when a kernel is timed (docs/cost.md, *Caches*).
enum class CacheState : std::uint8_t {
  automatic,     // one of the states below, chosen by the memory footprint of the model
  warm,          // the caches hold everything that the kernel needs
  after_4_mib,   // 4 MiB of other memory were used since the last launch
  after_16_mib,  // 16 MiB
  after_64_mib,  // 64 MiB
};
// Returns the name of a state: "auto", "warm", "4MiB".
constexpr const char* to_string(CacheState caches) {
  switch (caches) {
    case CacheState::automatic:
      return "auto";
    case CacheState::warm:
      return "warm";
    case CacheState::after_4_mib:
      return "4MiB";
    case CacheState::after_16_mib:
      return "16MiB";
    case CacheState::after_64_mib:
      return "64MiB";
  }
  return "";
}
// The inverse of to_string. Errors: invalid_argument for other texts.
XFLOW_API Result<CacheState> parse_cache_state(std::string_view text);

// A dense tensor that a kernel reads or writes.
struct KernelTensor {
  DataType data_type = DataType::float32;  // of its elements
  std::vector<std::int64_t> dims;          // sizes, outermost first
  bool constant = false;                   // known before the run; a device may pack it outside of the timing
};

// A pointwise operation on each element of a kernel's result, in the same launch.
struct FusedOperation {
  std::string name;                    // "relu", "add", "clip"; "sub@1": the kernel's result is operand 1
  std::vector<double> reals;           // real attributes, in the order of docs/rules.md
  std::vector<KernelTensor> operands;  // other operands, broadcast to the result
};

// One kernel launch, as plain data. docs/cost.md, *Kernels*, lists the names and their attributes.
struct Kernel {
  std::string name;                    // "matmul", "convolution", "reduce", "softmax", "pointwise/relu", "copy"
  std::string variant;                 // of the kernel: "sum" of "reduce", "transpose" of "copy"
  std::vector<KernelTensor> operands;  // in the order of the operator
  std::vector<KernelTensor> results;   // in the order of the operator
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> integers;  // "strides": {2, 2}
  std::vector<std::pair<std::string, double>> reals;                        // real attributes
  std::vector<FusedOperation> fused;                                        // in the order in which they are applied
  std::string text;                                                         // the whole kernel in one line; equal kernels have equal texts
};

// A tensor of a model, with its elements: row-major, little-endian.
struct ModelTensor {
  std::string name;                        // of the input or output
  DataType data_type = DataType::float32;  // of its elements
  std::vector<std::int64_t> dims;          // sizes, outermost first
  std::vector<std::byte> bytes;            // the elements
};

// A model that a device has loaded.
class XFLOW_API LoadedModel {
 public:
  LoadedModel() = default;
  virtual ~LoadedModel() = default;
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  // Runs the model `repeats` times in a row and returns the mean time of one run.
  virtual Result<Nanoseconds> time(std::span<const ModelTensor> inputs, int repeats) = 0;
  // Runs the model once and returns its outputs, in the order of the model.
  virtual Result<std::vector<ModelTensor>> outputs(std::span<const ModelTensor> inputs) = 0;
};

// A device of the caller (DeviceOptions::own). It is called from the calling thread only, which waits for
// each answer. Time limits take effect between answers.
class XFLOW_API Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Name of the device and versions of its libraries. Measured costs are stored under this name: devices
  // with the same name share them.
  virtual std::string name() const = 0;
  // Time of one launch. Errors: unsupported if the device lacks the kernel; the search then avoids it.
  virtual Result<Nanoseconds> measure(const Kernel& kernel) = 0;
  // Whether a launch of `kernel` can also execute `next`, after the operations that are already fused.
  virtual bool can_fuse(const Kernel& /*kernel*/, const FusedOperation& /*next*/) const { return false; }

  // Whether the device runs whole models. If not, results are accepted by predicted time.
  virtual bool runs_models() const { return false; }
  // Loads an ONNX model from the file `path`, or from its bytes if `path` is empty. Errors: unsupported if
  // the device runs no models.
  virtual Result<std::unique_ptr<LoadedModel>> load(std::string_view /*model*/, const std::string& /*path*/) {
    return fail(ErrorCode::unsupported, "the device runs no models");
  }
};

// Returns the time of one launch of a kernel.
using CostFunction = std::function<Result<Nanoseconds>(const Kernel&)>;
// A device whose kernel times come from `cost`. It fuses every pointwise operation that follows a kernel,
// and runs no models.
XFLOW_API std::shared_ptr<Device> device_of(std::string name, CostFunction cost);

// Where the times of kernels come from, and what runs whole models.
struct DeviceOptions {
  // One of:
  // - "cpu";
  // - "cuda:N", a GPU (see devices());
  // - "runner", the program of `runner`;
  // - "profile:FILE", the recorded times of a device (docs/cost.md, *Profiles*), which runs no models.
  // Empty: the runner if there is one, else "cpu". The type is no enumeration, since each device is a folder of the
  // library (docs/dev/adding.md).
  std::string name;
  // A device of the caller, used instead of `name`. One call at a time may use it.
  std::shared_ptr<Device> own;
  int threads = 1;                            // threads of one kernel, 1 to 1024
  CacheState caches = CacheState::automatic;  // when kernels are timed
  // Shell command of a program that runs models (docs/runner.md). Empty: the device runs them with its own
  // kernels.
  std::string runner;
  // Wall clock for timing kernels in the runner. Kernels not timed by then are treated as unsupported.
  Seconds max_kernel_time{300};
  // On a GPU, lets products and convolutions of float round their operands to 10 bits of mantissa.
  bool tf32 = false;
  // On a GPU, bytes that a library may use for a kernel beside its tensors.
  std::uint64_t gpu_workspace = std::uint64_t{32} << 20;
  // With a profile, "bf16", "fp16" or "fp8": kernels in float32 have the times of the same kernels in
  // bfloat16 or float16, or in bfloat16 but for the operands of products, which are float8e4m3fn. The model
  // keeps its types. Empty: the times of their own types.
  std::string priced_as;
  // File of measured costs. Empty: costs are kept in memory for the call or its context.
  std::string cost_database;

  friend bool operator==(const DeviceOptions&, const DeviceOptions&) = default;  // compares all members
};

// A device of this machine.
struct DeviceDescription {
  std::string name;  // as DeviceOptions::name: "cpu", "cuda:0"; "cuda" where no GPU is found
  // Hardware and kernel libraries: "Intel(R) Xeon(R) Processor, avx512_core, oneDNN 2.6.3". If the device is
  // not usable, the reason: "there is no CUDA driver: libcuda.so.1 was not found".
  std::string text;
  bool usable = false;  // whether calls can use it
};

// Lists this CPU, then the GPUs. Loads the CUDA libraries if they exist. Never fails: unusable devices have
// a reason.
XFLOW_API std::vector<DeviceDescription> devices();

// The device that `xflow optimize` uses if the user names none.
struct DefaultDevice {
  std::string name;     // "cuda:0" or "cpu"
  std::string warning;  // why a GPU that exists is not used; empty otherwise
};
// Returns "cuda:0" if the first GPU is usable and passes a check, otherwise "cpu". `check` is a shell
// command that calls check_device for the GPU in another process, which a fault of a driver or library may
// end. `patience` bounds the time of the check.
XFLOW_API DefaultDevice default_device(const std::string& check, Seconds patience = Seconds(120));

// The result of check_device.
struct DeviceCheck {
  std::uint64_t graphs = 0;  // graphs whose results agree with the reference
  std::uint64_t values = 0;  // elements compared in these graphs
  bool passed = false;       // all graphs agree
  // The first graph that differs: "the graph of attention: output 1: 0.5 instead of 0.25 at [0,1] ...".
  std::string failure;
};

// Runs small graphs on a device of this machine ("cpu", "cuda:0") in the same way as whole models, and
// compares the results with the reference. Errors: unsupported for a device that cannot be used,
// invalid_argument for a device that runs no models.
XFLOW_API Result<DeviceCheck> check_device(const std::string& name);

}  // namespace xflow
