// Builds ONNX models from graphs of the IR, without an original document.
#pragma once

#include <xflow/error.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

// The names of a new model's inputs and outputs.
struct NewModelNames {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  const Document* around = nullptr;  // new names are in none of its graphs; null: there are none
  bool has_open_sizes = false;       // whether inputs and outputs may have sizes that are not numbers
};

// A ValueInfoProto of a tensor. Sizes that are not numbers are left open.
std::string interface_message(std::string_view name, const ir::TensorType& type);

// Returns the bytes of a model that computes `graph`. Its inputs are x0, x1, ... in the order of `inputs`,
// its outputs y0, y1, ..., or they have the names `names`. Their sizes must be numbers unless `names` says
// otherwise. The graph must not read inputs that are not listed. Adds nodes to `arena`. Errors: unsupported
// for an operation that cannot be exported at `opset`, and for unknown sizes.
Result<std::string> new_model(ir::Arena& arena, const ir::Graph& graph, std::span<const ir::ValueId> inputs, int opset,
                              const NewModelNames* names = nullptr);

}  // namespace xflow::onnx_io
