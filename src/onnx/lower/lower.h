// From the IR back to the document.
//
// A value that a node of the document makes is written as that node, byte for byte; what a rewrite made is exported as new nodes with fresh
// names; an expression of constants becomes one initializer. Names of inputs, outputs and captured values stay.
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

// Computes an expression of constants.
using Fold = std::function<Result<ir::Constant>(ir::ValueId)>;

struct LowerOptions {
  // Exports every operation from the IR, as if no node of the document had made it: a test of lifting and export. Constants stay.
  bool reexport = false;
  // Values to be written as the constants that they are, and identities to be read past. Null: they are computed as the document does.
  const FoldedShapes* folds = nullptr;
  // Declares the shapes of values of the written graph that have no declaration. Sizes that are not numbers are declared by the names of
  // the inputs' sizes ("2*N + 1"). Those of opaque nodes' results, and of what is computed from them, are not known.
  bool declare = false;
  // Writes several nodes of the document as one where an operator of ONNX is what they compute: a MatMul and an Add as a Gemm, a Conv and
  // the Add of its bias as a Conv. Floating point results are the same up to rounding.
  bool fuse = false;
  // Names of all graphs of this document are taken, too, and new names begin with `name_prefix`. For a body that is written as a document
  // of its own.
  const Document* around = nullptr;
  std::string name_prefix = "xflow_";
};

struct LoweredModel {
  std::vector<GraphEdit> edits;         // of the main graph; empty if nothing changed
  std::vector<ir::Constant> constants;  // whose bytes the edits point into: keep until the document is written
  std::size_t kept_nodes = 0;           // written back byte for byte
  std::size_t renamed_nodes = 0;        // written back with names of inputs or outputs changed
  std::size_t new_nodes = 0;
  std::size_t dropped_nodes = 0;
  std::size_t fused_nodes = 0;   // of the document, written as part of another one (LowerOptions::fuse)
  std::size_t merged_nodes = 0;  // dropped because an equal node is there
  std::size_t declared = 0;      // values
  std::uint64_t new_constant_bytes = 0;
  std::uint64_t dropped_constant_bytes = 0;
};

// Writes `graph`, whose outputs correspond to model.graph.outputs. `correspondence` says what became of the model's values: where one was
// replaced or rebuilt, an equal value of `graph` (see ir::replace); nodes of the document that read it then stay as they are.
// Error::unsupported if an operation cannot be exported at the model's opset.
Result<LoweredModel> lower(const Document& document, const LiftedModel& model, ir::Arena& arena, const ir::Graph& graph,
                           const ir::ValueMap& correspondence, const Fold& fold, const LowerOptions& options = {});

// Whether an operation can be written at `opset`: what lower would say of it, without writing.
Result<void> can_export(const ir::Arena& arena, ir::NodeId node, int opset);

}  // namespace xflow::onnx_io
