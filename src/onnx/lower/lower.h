// Lowers a graph of the IR into edits of the document.
//
// A value that a node of the document produces is written as that node, byte for byte. Values that rewrites
// made are exported as new nodes with fresh names. An expression of constants becomes one initializer.
// Inputs, outputs and captured values keep their names.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/onnx/document/document_writer.h"
#include "src/onnx/lift/folded_shapes.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {

// Evaluates an expression of constants.
using Fold = std::function<Result<ir::Constant>(ir::ValueId)>;

struct LowerOptions {
  // Exports every operation from the IR, even if a node of the document produces its value. Tests lifting
  // and export. Constants stay.
  bool reexport = false;
  // Values to write as constants, and identities to skip. Null: they are computed as in the document.
  const FoldedShapes* folds = nullptr;
  // Declares the shapes of undeclared values of the written graph. Sizes that are not numbers are declared
  // in terms of the names of the inputs' sizes ("2*N + 1"). Sizes that depend on results of opaque nodes are
  // not declared.
  bool declare = false;
  // Writes several nodes of the document as one if an ONNX operator computes the same: a MatMul and an Add
  // as a Gemm, a Conv and the Add of its bias as a Conv. Floating-point results are equal up to rounding.
  bool fuse = false;
  // Treats the names of all graphs of this document as taken. New names begin with `name_prefix`. Used for a
  // body that is lowered as a document of its own.
  const Document* around = nullptr;
  std::string name_prefix = "xflow_";
};

struct LoweredModel {
  std::vector<GraphEdit> edits;  // edits of the main graph; empty if nothing changed
  // The edits refer to their bytes: keep them until the document is written.
  std::vector<ir::Constant> constants;
  std::size_t kept_nodes = 0;     // nodes written back byte for byte
  std::size_t renamed_nodes = 0;  // nodes written back with changed names of inputs or outputs
  std::size_t new_nodes = 0;
  std::size_t dropped_nodes = 0;
  // Nodes of the document that are written as part of another one (LowerOptions::fuse).
  std::size_t fused_nodes = 0;
  std::size_t merged_nodes = 0;  // nodes dropped because of an equal node
  std::size_t declared = 0;      // values with new declarations
  std::uint64_t new_constant_bytes = 0;
  std::uint64_t dropped_constant_bytes = 0;
};

// Lowers `graph`, whose outputs correspond to model.graph.outputs. `correspondence` maps values of the model
// that were replaced or rebuilt to equal values of `graph` (see ir::replace). Nodes of the document that
// read such values are kept. Error::unsupported if an operation cannot be exported at the model's opset.
Result<LoweredModel> lower(const Document& document, const LiftedModel& model, ir::Arena& arena, const ir::Graph& graph,
                           const ir::ValueMap& correspondence, const Fold& fold, const LowerOptions& options = {});

// Checks that an operation can be exported at `opset`. Errors: as lower.
Result<void> can_export(const ir::Arena& arena, ir::NodeId node, int opset);

}  // namespace xflow::onnx_io
