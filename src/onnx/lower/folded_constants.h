// Constants that nodes of a model compute, to be stored instead.
#pragma once

#include <cstdint>
#include <functional>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/folded_shapes.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"

namespace xflow::onnx_io {

struct FoldLimits {
  // Bytes that the graph may have, nodes and stored constants together, as a factor of what it has. If all constants are more, the largest
  // ones stay computed.
  double max_growth = 0.05;
  // Numbers of floating point stay computed, unless what computes them only moves data: an initializer is computed elsewhere than in the
  // runtime.
  bool exact = false;
  // Asked before every constant; true ends folding: all constants stay computed. Null: never.
  std::function<bool()> stop = {};
};

// Adds to `folds.constants` the values of the main graph that are constants and that nodes compute, where something that runs reads them,
// and to `folds.folded` the nodes that the graph then needs no more, in the order of the document. Values that `fold` cannot compute,
// and outputs stay. Before IR version 4, in which an initializer is an input, Constant nodes stay as well.
void add_folded_constants(const Document& document, const LiftedModel& model, const ir::Arena& arena, const Fold& fold,
                          const FoldLimits& limits, FoldedShapes& folds);

}  // namespace xflow::onnx_io
