// Runs a whole graph on this CPU: the kernels of its cover, one after the other, on the values of the graph.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/devices/cpu/cpu_device.h"
#include "src/eval/tensor.h"
#include "src/runtime/plan.h"

namespace xflow::cost::cpu {

struct ProgramOptions {
  double most_bytes = 8e9;  // of weights and of the memory of a run, with that of the steps in index notation
  // The same while it is set up, when a kernel has tensors of its own beside it, among them constants that turn out to be there already.
  double most_bytes_in_setting_up = std::numeric_limits<double>::infinity();
  // Implementations that were chosen, by kernel, where there are several: what stands there is taken, and what is chosen is added. Programs
  // that share it run equal kernels alike. Null: the program's own.
  std::map<std::string, std::string>* chosen = nullptr;
};

// A run allocates nothing of its own: kernels, packed weights and the block of memory are made before. (oneDNN makes a table of the
// arguments within each launch.) Used by one thread; the device must outlive it.
class Program {
 public:
  // The kernels that were timed for the cover, by `costs`, of a graph in `arena` at `sizes`. Where the device can run a kernel in several
  // ways the one that is fastest at first sight is taken. Errors: limit for more than most_bytes, unsupported where a kernel that was timed
  // cannot be made or a run takes longer than the time that is left, and those of constants that cannot be read.
  static Result<Program> build(CpuDevice& device, ir::Arena& arena, const ir::Graph& graph, CostModel& costs,
                               const ir::Symbols::Valuation& sizes, const ProgramOptions& options = {});

  // The same of a plan that was made at `sizes`.
  static Result<Program> build(CpuDevice& device, ir::Arena& arena, Plan plan, const ir::Symbols::Valuation& sizes,
                               const ProgramOptions& options = {});

  const Plan& plan() const { return plan_; }
  std::size_t memory_bytes() const { return bytes_; }  // of the block

  // Inputs are 0 until they are written, and stay as they are. An input that no kernel reads is accepted. Errors: invalid_argument for a
  // tensor of another type or size.
  Result<void> write(ir::ValueId input, const eval::Tensor& tensor);

  struct Times {
    Nanoseconds thread{};  // CPU time of the calling thread
    Nanoseconds wall{};
  };
  Times run();
  // Whether the last run was ended by Device::stop_when: then outputs and times mean nothing.
  bool was_stopped() const;
  // The time of each launch, by the clock of the device. The clock is read between them, which takes a moment each time.
  void run(std::span<Nanoseconds> launches);

  // An output of the last run. Errors: unsupported for one that is not run.
  Result<eval::Tensor> read(std::size_t output) const;

  // How launch k is run: "brgconv:avx512_core", "loop".
  std::string_view implementation(std::size_t launch) const { return kernels_[launch]->implementation(); }

 private:
  class Builder;
  Program() = default;

  CpuDevice* device_ = nullptr;
  Plan plan_;
  std::vector<std::unique_ptr<Kernel>> kernels_;  // by launch; nullptr where there is nothing to compute
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> offsets_;                // by buffer
  std::vector<std::optional<eval::Tensor>> fixed_;  // outputs that are constants
};

}  // namespace xflow::cost::cpu
