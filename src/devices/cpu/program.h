// Runs a whole graph on this CPU: the kernels of its kernel cover, in order, on the values of the graph.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/devices/cpu/cpu_device.h"
#include "src/eval/tensor.h"
#include "src/runtime/graph_runner.h"
#include "src/runtime/plan.h"

namespace xflow::cost::cpu {

// Memory for what programs write and read in a run alone. Programs that share it run one after the other.
class PassingMemory {
 public:
  // At least so many bytes, all 0 when they are new. More than were taken before are new memory.
  std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_ = 0;
};

struct ProgramOptions {
  double most_bytes = 8e9;  // for weights and the memory of a run, including that of index notation
  // The same bound during set-up, when a kernel temporarily has its own tensors, including constants that
  // turn out to be duplicates.
  double most_bytes_in_setting_up = std::numeric_limits<double>::infinity();
  // The chosen implementation of each kernel that has several. Existing entries are used, new choices are
  // added: programs that share the map run equal kernels alike. Null: the program uses a map of its own.
  std::map<std::string, std::string>* chosen = nullptr;
  PassingMemory* passing = nullptr;  // null: the program has its own
  // Memory of inputs, in the layout of ONNX's raw_data, which outlives the program: aligned to 64 bytes, and
  // CpuKernel::kSlack more bytes may be read. Other inputs have memory of the program.
  std::unordered_map<ir::ValueId, std::byte*> inputs = {};
};

// A run allocates no memory of its own: kernels, packed weights and memory are created before.
// (oneDNN creates a table of arguments in each launch.) Used by one thread; the device must outlive it.
class Program final : public GraphProgram {
 public:
  // Builds the kernels that `costs` timed for the kernel cover of a graph in `arena` at `sizes`. If the
  // device has several implementations of a kernel, a short measurement chooses the fastest. Errors: limit
  // for more than most_bytes; unsupported if a timed kernel cannot be built; limit if a run takes longer
  // than the time that is left; those of reading constants.
  static Result<Program> build(CpuDevice& device, ir::Arena& arena, const ir::Graph& graph, CostModel& costs,
                               const ir::Symbols::Valuation& sizes, const ProgramOptions& options = {});

  // Builds a program from a plan that was made at `sizes`.
  static Result<Program> build(CpuDevice& device, ir::Arena& arena, Plan plan, const ir::Symbols::Valuation& sizes,
                               const ProgramOptions& options = {});

  const Plan& plan() const override { return plan_; }

  Result<void> write(ir::ValueId input, const eval::Tensor& tensor) override;
  Result<void> run_once() override;

  struct Times {
    Nanoseconds thread{};  // CPU time of the calling thread
    Nanoseconds wall{};
  };
  Times run();
  // Whether Device::stop_when ended the last run. Outputs and times are undefined then.
  bool was_stopped() const;
  // Runs once and gives the time of each launch by the clock of the device. The clock is read between
  // launches, which adds to each time.
  void run(std::span<Nanoseconds> launches);

  Result<eval::Tensor> read(std::size_t output) const override;

  // Runs and calls `before` with the number of each launch before it.
  void run(const std::function<void(std::size_t launch)>& before);

  // The memory of an input, in the layout of ONNX's raw_data, for each of its buffers; a run does not change
  // it. None if no kernel reads the input.
  std::vector<std::span<std::byte>> input_memory(ir::ValueId input);
  // The memory of an output of the last run, up to the next run. Errors: as read.
  Result<std::span<const std::byte>> output_memory(std::size_t output) const;

  // The memory of an output as that of an input of another program, ProgramOptions::inputs. Null for a
  // constant, and where it is not aligned.
  std::byte* readable_output(std::size_t output) const;

  // The implementation of launch k: "brgconv:avx512_core", "loop".
  std::string_view implementation(std::size_t launch) const { return kernels_[launch]->implementation(); }

 private:
  class Builder;
  Program() = default;

  CpuDevice* device_ = nullptr;
  Plan plan_;
  std::vector<std::unique_ptr<CpuKernel>> kernels_;  // by launch; nullptr if the launch computes nothing
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte[], Free> kept_;
  std::shared_ptr<std::byte> passing_;
  std::vector<std::byte*> places_;                  // by buffer
  std::vector<std::optional<ir::Constant>> fixed_;  // outputs that are constants
};

}  // namespace xflow::cost::cpu
