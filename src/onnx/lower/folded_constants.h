// Finds constants that nodes of a model compute, to store them instead.
#pragma once

#include <cstdint>
#include <functional>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/folded_shapes.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"

namespace xflow::onnx_io {

struct FoldLimits {
  // The most that the graph may grow, nodes and stored constants together, as a fraction of its size in
  // bytes. If storing all constants exceeds this, the largest ones stay computed.
  double max_growth = 0.05;
  std::uint64_t max_growth_bytes = 0;  // or in bytes, if that is more
  // Floating-point constants stay computed unless their nodes only move data, because an initializer is not
  // computed by the runtime.
  bool exact = false;
  // Called before every constant. True ends folding, and all constants stay computed. Null: never.
  std::function<bool()> stop = {};
};

// Finds values of the main graph that are constants, are computed by nodes, and are read by a node that
// runs. Adds them to `folds.constants`, and the nodes that are no longer needed to `folds.folded`, in the
// order of the document. Outputs and values that `fold` cannot compute stay. Before IR version 4, in which
// an initializer must be an input, Constant nodes stay as well.
void add_folded_constants(const Document& document, const LiftedModel& model, const ir::Arena& arena, const Fold& fold,
                          const FoldLimits& limits, FoldedShapes& folds);

}  // namespace xflow::onnx_io
