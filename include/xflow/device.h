// Where costs are measured: devices of this machine, runners, profiles, and devices of the caller.
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

// What the caches of this CPU hold when a kernel is timed (docs/cost.md, Caches).
enum class CacheState : std::uint8_t {
  automatic,     // whichever of the others fits the model
  warm,          // all that the kernel needs
  after_4_mib,   // what is left after a run has gone through so much memory
  after_16_mib,  //
  after_64_mib,
};
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
// The inverse of to_string. Error::invalid_argument for other texts.
XFLOW_API Result<CacheState> parse_cache_state(std::string_view text);

// A dense tensor of a kernel.
struct KernelTensor {
  DataType data_type = DataType::float32;
  std::vector<std::int64_t> dims;
  bool constant = false;  // known before the run: a device may pack it outside the time
};

// A pointwise operation on each element of a kernel's result, in the same launch.
struct FusedOperation {
  std::string name;                    // "relu", "add", "clip"; "sub@1": the result of the kernel is operand 1
  std::vector<double> reals;           // its real attributes, in the order of docs/rules.md
  std::vector<KernelTensor> operands;  // its other operands, broadcast to the result
};

// One launch of a kernel, as plain data. docs/cost.md, *Kernels*, lists the names with their attributes.
struct Kernel {
  std::string name;  // "matmul", "convolution", "reduce", "softmax", "pointwise/relu", "copy"
  std::string word;  // "sum" of "reduce", "transpose" of "copy"
  std::vector<KernelTensor> operands;
  std::vector<KernelTensor> results;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> integers;  // "strides": {2, 2}
  std::vector<std::pair<std::string, double>> reals;
  std::vector<FusedOperation> fused;
  std::string text;  // all of it in one line, equal exactly for equal kernels
};

// A tensor of a whole model: row-major, little-endian.
struct ModelTensor {
  std::string name;
  DataType data_type = DataType::float32;
  std::vector<std::int64_t> dims;
  std::vector<std::byte> bytes;
};

// A model that a device has loaded.
class XFLOW_API LoadedModel {
 public:
  LoadedModel() = default;
  virtual ~LoadedModel() = default;
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  // The mean time of one of `repeats` runs in a row.
  virtual Result<Nanoseconds> time(std::span<const ModelTensor> inputs, int repeats) = 0;
  // The outputs of one run, in the order of the model.
  virtual Result<std::vector<ModelTensor>> outputs(std::span<const ModelTensor> inputs) = 0;
};

// A device of the caller: DeviceOptions::own. Called from the thread of the call alone, which waits for each answer: limits
// of time hold between them.
class XFLOW_API Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The device and the versions of its libraries: measured costs are kept under this name, and known to any device of
  // the same name.
  virtual std::string name() const = 0;
  // The time of one launch. Error::unsupported for a kernel that the device does not have: the search does without it.
  virtual Result<Nanoseconds> measure(const Kernel& kernel) = 0;
  // Whether one launch of `kernel` can do `next` as well, after what is fused already.
  virtual bool can_fuse(const Kernel& /*kernel*/, const FusedOperation& /*next*/) const { return false; }

  // Whether the device runs whole models. Otherwise that a result is faster is predicted.
  virtual bool runs_models() const { return false; }
  // Loads an ONNX model from its bytes, or, if `path` is not empty, from that file.
  virtual Result<std::unique_ptr<LoadedModel>> load(std::string_view /*model*/, const std::string& /*path*/) {
    return fail(ErrorCode::unsupported, "the device runs no models");
  }
};

// The time of one launch of a kernel.
using CostFunction = std::function<Result<Nanoseconds>(const Kernel&)>;
// A device that predicts by a function, fuses whatever can follow a kernel, and runs nothing.
XFLOW_API std::shared_ptr<Device> device_of(std::string name, CostFunction cost);

struct DeviceOptions {
  // "cpu"; "cuda:N", a GPU (see devices()); "runner", the program of `runner`; or "profile:FILE", a device that is
  // not here (docs/cost.md, Profiles), on which nothing is run. Empty: the runner if there is one, else "cpu". Names
  // and no enumeration, since a device is a folder of the library (docs/dev/adding.md).
  std::string name;
  // A device of the caller, in the place of `name`. It is used by one call at a time.
  std::shared_ptr<Device> own;
  int threads = 1;  // of one kernel: 1 to 1024
  CacheState caches = CacheState::automatic;
  // The program that runs models (docs/runner.md), as a command of the shell. Empty: the device runs them, by the
  // kernels that were timed.
  std::string runner;
  Seconds max_kernel_time{300};  // wall clock, of timing kernels in the runner; what is not timed by then counts as not measurable
  bool tf32 = false;             // on a GPU products and convolutions of float may round their operands to 10 bits
  std::uint64_t gpu_workspace = std::uint64_t{32} << 20;  // bytes that a kernel's library may use on a GPU beside its tensors
  std::string cost_database;                              // the file of measured costs; empty: measured in each call, in memory

  friend bool operator==(const DeviceOptions&, const DeviceOptions&) = default;
};

struct DeviceDescription {
  std::string name;  // as DeviceOptions::name: "cpu", "cuda:0"; "cuda" where no GPU is found
  // What it is, with the libraries whose kernels are timed there: "Intel(R) Xeon(R) Processor, avx512_core, oneDNN
  // 2.6.3". Where it cannot be used, why: "there is no CUDA driver: libcuda.so.1 was not found".
  std::string text;
  bool usable = false;
};

// This CPU, then the GPUs. Loads the CUDA libraries where there are some. Never fails: what cannot be used says why.
XFLOW_API std::vector<DeviceDescription> devices();

// The device of a program whose user names none.
struct DefaultDevice {
  std::string name;     // "cuda:0" or "cpu"
  std::string warning;  // of a GPU that is there and is not used; empty if there is none
};
// "cuda:0" where the first GPU can be used and passes a check, otherwise "cpu". `check`: a command of the shell that
// calls check_device for it, in another process, which a fault of a driver or library may end. `patience`: what the
// check may take.
XFLOW_API DefaultDevice default_device(const std::string& check, Seconds patience = Seconds(120));

struct DeviceCheck {
  std::uint64_t graphs = 0;  // that computed what the reference does
  std::uint64_t values = 0;  // of these, compared
  std::string failure;       // of the first that did not: "the graph of attention: output 1: 0.5 instead of 0.25 at [0,1] ..."
};

// Runs some small graphs on a device of this machine ("cpu", "cuda:0") as whole models are run there, and compares
// them with the reference. Errors: unsupported for a device that cannot be used, invalid_argument for one on which
// nothing is run.
XFLOW_API Result<DeviceCheck> check_device(const std::string& name);

}  // namespace xflow
