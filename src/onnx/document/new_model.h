// Builds ONNX models from graphs of the IR, without an original document.
#pragma once

#include <xflow/error.h>

#include <span>
#include <string>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::onnx_io {

// The names of a new model's inputs and outputs.
struct NewModelNames {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// Returns the bytes of a model that computes `graph`. Its inputs are x0, x1, ... in the order of `inputs`,
// its outputs y0, y1, ..., or they have the names `names`. All their sizes must be numbers. The graph must
// not read inputs that are not listed. Adds nodes to `arena`. Errors: unsupported for an operation that
// cannot be exported at `opset`, and for unknown sizes.
Result<std::string> new_model(ir::Arena& arena, const ir::Graph& graph, std::span<const ir::ValueId> inputs, int opset,
                              const NewModelNames* names = nullptr);

}  // namespace xflow::onnx_io
