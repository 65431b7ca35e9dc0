// The interface through which a device runs whole graphs (cost::Device::graph_runner).
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/eval/tensor.h"
#include "src/runtime/executor.h"
#include "src/runtime/plan.h"

namespace xflow::cost {

// A graph on a device, for one choice of sizes.
class GraphProgram {
 public:
  virtual ~GraphProgram() = default;
  virtual const Plan& plan() const = 0;
  // Sets an input. Inputs are 0 until they are written and keep their values over runs. An input that no
  // kernel reads is accepted. Errors: invalid_argument for a tensor of another type or size.
  virtual Result<void> write(ir::ValueId input, const eval::Tensor& tensor) = 0;
  // Runs once. Errors: limit if the device was stopped, io if it was lost.
  virtual Result<void> run_once() = 0;
  // An output of the last run. Errors: unsupported for an output that the program does not compute.
  virtual Result<eval::Tensor> read(std::size_t output) const = 0;

 protected:
  GraphProgram() = default;
  GraphProgram(GraphProgram&&) = default;
  GraphProgram& operator=(GraphProgram&&) = default;
};

// The plan of a graph at one choice of sizes.
struct SizedPlan {
  const Plan* plan = nullptr;
  ir::Symbols::Valuation sizes;
};

// Builds programs of whole graphs, runs them and times them. Used by one thread; the device must outlive it.
class GraphRunner : public Executor {
 public:
  // Whether the memory of a program is memory of this machine.
  virtual bool is_in_memory() const = 0;
  // Is called for a new program, with the number of its choice of sizes.
  using Prepare = std::function<Result<void>(GraphProgram& program, std::size_t sizes)>;
  // Adds the programs of a graph, one for each choice of sizes, each of at most `most_bytes`. They are built
  // and prepared now and for each renewal, so that the arena, the plans and what `prepare` uses must outlive
  // it. Errors: limit if the device has too little memory or a run takes longer than the time that is left,
  // unsupported if a timed kernel cannot be built; those of reading constants and of `prepare`.
  virtual Result<ProgramId> add(ir::Arena& arena, std::vector<SizedPlan> plans, double most_bytes, Prepare prepare) = 0;
  virtual GraphProgram& program(ProgramId id, std::size_t sizes) = 0;
};

// A runner of `Program`s that `ThisExecutor`, a ProgramExecutor, times.
template <typename Device, typename Program, typename ThisExecutor>
class ProgramRunner : public GraphRunner {
 public:
  explicit ProgramRunner(Device& device) : device_(device), executor_(device) {}

  const DeviceInfo& info() const override { return executor_.info(); }
  Clock clock() const override { return executor_.clock(); }
  Result<RunTimes> run(ProgramId id, std::size_t sizes, int repeats) override { return executor_.run(id, sizes, repeats); }
  void renew() override { executor_.renew(); }
  Program& program(ProgramId id, std::size_t sizes) override { return executor_.program(id, sizes); }

  Result<ProgramId> add(ir::Arena& arena, std::vector<SizedPlan> plans, double most_bytes, Prepare prepare) override {
    return executor_.add(
        [this, &arena, plans = std::move(plans), most_bytes, prepare = std::move(prepare)]() -> Result<std::vector<Program>> {
          std::vector<Program> programs;
          programs.reserve(plans.size());
          for (std::size_t k = 0; k < plans.size(); ++k) {
            XFLOW_TRY(Program program, build(arena, plans[k], most_bytes));
            XFLOW_CHECK(prepare(program, k));
            programs.push_back(std::move(program));
          }
          return programs;
        });
  }

 protected:
  Device& device() const { return device_; }

 private:
  virtual Result<Program> build(ir::Arena& arena, const SizedPlan& plan, double most_bytes) = 0;

  Device& device_;
  ThisExecutor executor_;
};

}  // namespace xflow::cost
