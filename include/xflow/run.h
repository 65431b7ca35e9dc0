// Runs a split model on this CPU, in one process or in one process for each device (docs/run-plan.md).
//
//   auto result = xflow::run_parts("parts", {});
//   if (!result) return report_error(result.error().text());
//   print(result->to_text());
#pragma once

#include <xflow/check.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/input_shape.h>
#include <xflow/time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace xflow {

// What a process of a run does.
enum class RunPhase : std::uint8_t {
  preparing,  // it reads models, times kernels or compares results, for any time
  waiting,    // it waits for another process
  computing,  // it runs kernels
};

// In place of the number of a part: none.
constexpr std::size_t kNoPart = SIZE_MAX;

// Messages between the processes that run the parts of one model: all processes call run_parts with the same
// arguments. The messages have to end all processes if one is lost or computes one kernel for too long;
// run_parts itself waits without a limit. Methods are called by one thread.
class RunMessages {
 public:
  RunMessages() = default;
  virtual ~RunMessages() = default;
  RunMessages(const RunMessages&) = delete;
  RunMessages& operator=(const RunMessages&) = delete;

  virtual std::size_t processes() const = 0;  // their number
  virtual std::size_t process() const = 0;    // the number of this one, from 0

  // Starts to send. The memory must stay as it is until is_done() is true for the number that is returned.
  // Messages of one pair of processes with one tag arrive in order. Tags are below 2^31.
  virtual std::size_t send(std::size_t to, int tag, const std::byte* bytes, std::size_t size) = 0;
  // Starts to receive a message of this size. The same holds for its memory.
  virtual std::size_t receive(std::size_t from, int tag, std::byte* bytes, std::size_t size) = 0;
  // Whether the transfer is complete. Its number is not asked for after that.
  virtual bool is_done(std::size_t transfer) = 0;

  virtual void wait_for_all() = 0;  // returns when all processes have called it
  // Returns the text of process `from` in all processes.
  virtual std::string broadcast(std::size_t from, const std::string& text) = 0;

  // The name of what this process is, for messages of the watchdog: its device.
  virtual void introduce(const std::string& device) = 0;
  // Called at each change, and before each kernel, with the part that is computed or waits for its inputs,
  // or kNoPart. A kernel may take `most`.
  virtual void tell(RunPhase phase, std::size_t part, Seconds most) = 0;
  // Ends all processes, with an error of this one that the others do not know.
  virtual void abort(const Error& error) = 0;
};

// The options of run_parts.
struct RunOptions {
  // .npz files, .pb files and folders of .pb files, as for check_files. The first set of inputs is used.
  // Empty: seeded inputs.
  std::vector<std::string> inputs;
  // Sizes of dynamic inputs. By default an unknown first dimension is 1 and any other 128.
  std::vector<InputShape> shapes;
  std::uint64_t seed = 1;  // of generated inputs
  int warm_ups = 1;        // steps that are run and not counted
  int repeats = 1;         // steps that are timed, at least 1
  // File of measured costs of kernels, which decide how nodes are fused. Empty: they are kept in memory.
  std::string cost_database;
  // A command that starts a runner (docs/runner.md) in each process, which runs the parts in place of the
  // CPU executor. Its own times of the parts are the predicted ones. Inputs with a default keep it. Empty:
  // none.
  std::string runner;
  // A model whose outputs for the same inputs are compared with those of the parts, by the rule of
  // check_files. Empty: nothing is compared.
  std::string check_against;
  // A cluster with the devices of the parts, as for simulate. The step is simulated with the measured times
  // of the kernels of the parts as tasks. Empty: it is not.
  std::string cluster;
  std::vector<std::string> allow_external;          // as InputOptions::allow_external
  std::function<void(const std::string&)> warning;  // null: warnings are dropped
  // Of the processes, as many as devices. Null: this process runs all parts.
  RunMessages* messages = nullptr;
};

// A part as it ran.
struct RunPart {
  std::size_t device = 0;   // position in RunResult::devices
  std::size_t nodes = 0;    // of the part
  std::size_t kernels = 0;  // that it launches; 1 in a runner
  Seconds predicted{};      // the sum of the measured times of its kernels, or its time in the runner
  Seconds median{};         // of its time in each step, without its waits for tensors
  Seconds start{};          // in the step of the median time, since its begin
  Seconds end{};            // the same
};

// A tensor that one process sent to another.
struct RunTransfer {
  std::string tensor;     // its name
  std::size_t from = 0;   // position in RunResult::devices
  std::size_t to = 0;     // position in RunResult::devices
  std::size_t bytes = 0;  // of the tensor
  Seconds median{};       // from its sending to its arrival, which its receiver notices between two kernels
  Seconds start{};        // in the step of the median time, since its begin
  Seconds end{};          // the same
};

// An output of the model.
struct RunOutput {
  std::string name;                // in the model
  std::string type;                // "float32[1,10]"
  std::vector<std::int64_t> dims;  // sizes
  std::string data_type;           // "float32"
  std::string bytes;               // elements, row-major and little-endian
};

// The result of run_parts in the first process.
struct RunResult {
  std::string model;                   // the folder of the parts, or the file of a model
  std::vector<std::string> devices;    // names
  std::size_t processes = 1;           // 1, or a process for each device
  std::string inputs;                  // "x: float32[1,3,128,128], seed 1", "x.npz"
  std::string runner;                  // "onnxruntime 1.31.1, CPUExecutionProvider"; empty without one
  std::size_t steps = 0;               // that were timed
  Seconds step{};                      // median of the times from the begin of a step to the end of its last task
  Seconds fastest{};                   // the least of these times
  std::optional<Seconds> simulated;    // the step, if RunOptions::cluster names a cluster
  std::vector<RunPart> parts;          // in the order of the manifest
  std::vector<RunTransfer> transfers;  // in the order of the parts that read them; none in one process
  std::vector<RunOutput> outputs;      // of the model, in its order
  std::optional<CheckReport> check;    // if RunOptions::check_against names a model

  // Tables of parts, transfers and outputs.
  XFLOW_API std::string to_text() const;
  // The step of the median time in Chrome's trace event format, as SimulationResult::to_trace writes it.
  XFLOW_API std::string to_trace() const;
  // The outputs as a .npz file. Errors: unsupported for a type that NumPy does not have.
  XFLOW_API Result<std::string> to_npz() const;
};

// A cluster of the processes of a run: devices that are CPUs of this machine or others, and links measured
// by messages of several sizes.
struct MeasuredCluster {
  // A size, and the median of half the time to send it and to get it back.
  struct Sample {
    std::size_t bytes = 0;  // of the message
    Seconds time{};         // of one way
  };
  // latency + bytes / bandwidth fits the samples of all pairs that were measured, by relative least squares.
  struct Link {
    Seconds latency{};            // of a message without its bytes
    double bandwidth = 0;         // bytes per second
    std::vector<Sample> samples;  // by pair, by size
  };
  std::string name;                 // "cpu-2"
  std::string kind;                 // the model of the CPU of the first process
  double memory = 0;                // bytes for each process: that of the first one's machine, divided
  std::vector<std::uint32_t> host;  // of each process
  std::optional<Link> inside;       // if two processes are on one host
  std::optional<Link> across;       // if two processes are on two hosts

  // A cluster file (docs/cluster.schema.json).
  XFLOW_API std::string to_json() const;
  // A table of the samples.
  XFLOW_API std::string to_text() const;
};

// Measures the links between the first process and each other one. All processes call it. Errors:
// invalid_argument for one process; those of opening this CPU as a device.
XFLOW_API Result<MeasuredCluster> measure_cluster(RunMessages& messages);

// Runs the parts in the folder `path`, which xflow::split wrote, or the whole model in the file `path`. In
// the first process it returns the result, in others a result without outputs. Errors of one process are
// returned by all of them. Tensors of 2^31 bytes and more are sent, too.
//
// Errors: unreadable for a folder without a manifest, for files that are no models and for inputs that do
// not fit; invalid_argument for shapes that the model does not have and for a number of processes that is
// not that of the devices; unsupported, with the part, for nodes that this CPU or the runner cannot run;
// those of Runner::start and of check_files.
XFLOW_API Result<RunResult> run_parts(const std::string& path, const RunOptions& options);

}  // namespace xflow
