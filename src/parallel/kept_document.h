// Writes a part of a plan that has nodes of the document as they are.
#pragma once

#include <xflow/error.h>

#include <string>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/parallel/plan_parts.h"

namespace xflow::parallel {

// The bytes of a model that computes the part. Nodes of the document, the initializers that they read, and
// all fields of the model but its graph are those of the document, byte for byte; the IR version is at least
// 8. External data stays where it is. Other nodes are new, with names that no graph of the document has.
// Adds nodes to `arena`. Errors: those of new_model.
Result<std::string> kept_document(const onnx_io::Document& document, const onnx_io::LiftedModel& lifted, ir::Arena& arena,
                                  const PlanPart& part);

// A prefix of names: no graph of the document has a name that begins with it and goes on with a number.
std::string unused_prefix(const onnx_io::Document& document);

}  // namespace xflow::parallel
