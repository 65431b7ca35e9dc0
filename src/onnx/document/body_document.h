// Turns the body of an If, Loop or Scan, or a local function, into a document of its own.
#pragma once

#include <xflow/error.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {

// What is known about a value that a body may capture: its type, sizes that are numbers, and a small
// constant.
struct KnownValue {
  ir::DataType data_type = ir::DataType::undefined;
  bool ranked = false;
  std::vector<Dimension> dims;
  std::optional<ir::Constant> constant = {};  // of at most ir::Constant::kSmall elements
};
using KnownValues = std::unordered_map<std::string, KnownValue>;

// Returns the known values of a lifted graph.
KnownValues known_values(const LiftedModel& model, const ir::Arena& arena);

// Returns a document whose main graph is the graph `body` of `document`. Nodes and initializers keep their
// order, so an edit of its main graph is an edit of `body` (edit_of_body).
//
// Captured values become further inputs, and captured constants further initializers, after the body's own;
// they keep their names. The inputs of a function get the types that `captured` has for their names; its
// outputs have no types. Opsets are those of `document`, or of the function that contains the body;
// functions and IR version are those of `document`. Errors: as Document::parse.
Result<Document> body_document(const Document& document, GraphId body, const KnownValues& captured);

// Converts an edit of the main graph of a body_document into an edit of `document`. Captured constants stay
// where they are. A function has no initializers, so new initializers become Constant nodes there. Errors:
// unsupported if the function's opset has no Constant.
Result<GraphEdit> edit_of_body(const Document& document, GraphId body, GraphEdit edit);

}  // namespace xflow::onnx_io
