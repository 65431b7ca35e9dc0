// One part of a model, ready to run on this CPU.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/cost/database.h"
#include "src/devices/cpu/program.h"
#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/ops/kernel_spec.h"

namespace xflow::execution {

class PartProgram {
 public:
  // Opens the model of a part. Errors: unreadable.
  static Result<std::unique_ptr<PartProgram>> open(const std::string& path, const std::vector<std::string>& allow_external);

  const onnx_io::Document& document() const { return *document_; }

  // Fixes the sizes of inputs and lifts the part. Afterwards types() are known. Errors: invalid_argument for
  // sizes that the part does not have; unsupported for nodes that are not operators of xflow and for results
  // of unknown size.
  Result<void> fix(std::span<const InputShape> inputs);
  // The types of the outputs.
  const std::vector<ops::TensorSpec>& types() const { return types_; }
  // Bytes that a run accesses, which decide how kernels are timed.
  std::size_t bytes_of_run() const;
  // The type of an input, which must have a known size.
  ops::TensorSpec type_of_input(std::string_view name) const;
  // The number of an output.
  std::size_t position_of_output(std::string_view name) const;

  // Times kernels and builds the program. Inputs with a default have it. Errors: unsupported for nodes that
  // the device cannot run; those of building.
  Result<void> build(cost::cpu::CpuDevice& device, cost::Database& database);
  // Sets an input. Errors: unreadable for a tensor of another type.
  Result<void> write(std::string_view input, const eval::Tensor& tensor);

  cost::cpu::Program& program() { return *program_; }
  std::vector<std::span<std::byte>> input_memory(std::string_view input);

 private:
  PartProgram() = default;
  Result<void> check_sizes();

  std::string path_;
  std::optional<onnx_io::Document> document_;
  ir::Arena arena_;
  onnx_io::LiftedModel lifted_;
  ir::Graph graph_;
  std::vector<ops::TensorSpec> types_;
  std::optional<cost::cpu::Program> program_;
};

// The sizes of a graph all of whose sizes are numbers.
ir::Symbols::Valuation no_open_sizes();

}  // namespace xflow::execution
