// The body of an If, Loop or Scan, or a local function, as a document of its own.
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

// What is known of values that a body may capture: their types, with sizes that are numbers, and small constants.
struct KnownValue {
  ir::DataType data_type = ir::DataType::undefined;
  bool ranked = false;
  std::vector<Dimension> dims;
  std::optional<ir::Constant> constant = {};  // of at most ir::Constant::kSmall elements
};
using KnownValues = std::unordered_map<std::string, KnownValue>;

// Of the values of a lifted graph.
KnownValues known_values(const LiftedModel& model, const ir::Arena& arena);

// A document whose main graph is the graph `body` of `document`: the same nodes and initializers in the same order, so that an edit of its
// main graph is one of `body` (edit_of_body). Values that the body captures are further inputs, and constants further initializers, behind
// its own; they keep their names. The inputs of a function have the types that `captured` has for their names, its outputs have none.
// Opsets are those of `document`, or of the function, functions and IR version those of `document`. Errors: as Document::parse.
Result<Document> body_document(const Document& document, GraphId body, const KnownValues& captured);

// An edit of the main graph of a body_document as an edit of `document`. Captured constants stay where they are; a function has no
// initializers, so that new ones are Constant nodes there. Errors: unsupported where the function's opset has no Constant.
Result<GraphEdit> edit_of_body(const Document& document, GraphId body, GraphEdit edit);

}  // namespace xflow::onnx_io
