// One part of a model, ready to run on this CPU or in a runner.
#pragma once

#include <xflow/error.h>
#include <xflow/time.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/cost/database.h"
#include "src/devices/cpu/cpu_device.h"
#include "src/devices/cpu/program.h"
#include "src/devices/runner/runner.h"
#include "src/execution/part_engine.h"
#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/ops/kernel_spec.h"
#include "src/runtime/plan.h"

namespace xflow::execution {

class PartProgram {
 public:
  // Opens the model of a part. Errors: unreadable.
  static Result<std::unique_ptr<PartProgram>> open(const std::string& path, const std::vector<std::string>& allow_external);

  const onnx_io::Document& document() const { return *document_; }

  // Fixes the sizes of inputs and lifts the part. Afterwards types() are known. Errors: invalid_argument for
  // sizes that the part does not have; unsupported for results of unknown size and, unless a runner runs the
  // part, for nodes that are not operators of xflow.
  Result<void> fix(std::span<const InputShape> inputs, bool is_for_runner);
  // The types of the outputs.
  const std::vector<ops::TensorSpec>& types() const { return types_; }
  // Bytes that a run accesses, which decide how kernels are timed.
  std::size_t bytes_of_run() const;
  // The type of an input, which must have a known size.
  ops::TensorSpec type_of_input(std::string_view name) const;
  // The number of an output.
  std::size_t position_of_output(std::string_view name) const;

  // Times kernels and selects those that run. Errors: unsupported for nodes that the device cannot run.
  Result<void> cover(cost::cpu::CpuDevice& device, cost::Database& database);
  // After cover(): from the first kernel to the end of the last one that writes an output, as predicted.
  Seconds complete_after(std::size_t output) const;
  // What the program of a part has to do with those of others.
  struct Surroundings {
    std::map<std::string, std::size_t, std::less<>> arrivals;  // of inputs that other devices send, as order_launches()
    std::vector<std::string_view> sent;                        // outputs for other devices
    std::map<std::string, std::byte*, std::less<>> inputs;     // memory of inputs of this device, PartEngine::readable_output()
    cost::cpu::PassingMemory* passing = nullptr;               // of all parts of this device
  };
  // After cover(): orders the kernels and builds the program. Inputs with a default have it. Errors: those
  // of building.
  Result<void> build(cost::cpu::CpuDevice& device, const Surroundings& surroundings);
  // Loads the part as model `number` of a runner, which must outlive this. Inputs with a default have it.
  // Errors: those of runner_part; unsupported for inputs of unknown size.
  Result<void> load(cost::runner::Runner& runner, std::uint32_t number);

  // Of a part that was built or loaded.
  PartEngine& engine() const { return *engine_; }

 private:
  PartProgram() = default;
  Result<void> check_operators() const;
  Result<void> check_sizes();

  std::string path_;
  std::optional<onnx_io::Document> document_;
  ir::Arena arena_;
  onnx_io::LiftedModel lifted_;
  ir::Graph graph_;
  std::vector<ops::TensorSpec> types_;
  std::vector<cost::CoveredLaunch> cover_;
  cost::Plan plan_;  // of it
  std::unique_ptr<PartEngine> engine_;
};

// The sizes of a graph all of whose sizes are numbers.
ir::Symbols::Valuation no_open_sizes();

}  // namespace xflow::execution
