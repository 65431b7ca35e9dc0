// Bodies of If, Loop and Scan, each optimised as a graph of its own.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <string>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lower/lower.h"
#include "src/search/run_limits.h"

namespace xflow::api {

// The document that holds a body, and which of its graphs the body is.
struct BodyPlace {
  const onnx_io::Document& around;
  onnx_io::GraphId graph{};
};

// What became of a body: the edits of it, none where it stays.
struct OptimizedBody {
  OptimizeReport report;
  onnx_io::LoweredModel lowered;
};
// Optimises the main graph of `body`, a document of its own (onnx/body_document.h).
using OptimizeBody = std::function<Result<OptimizedBody>(const onnx_io::Document& body, const BodyPlace&, const OptimizeOptions&)>;

struct OptimizedBodies {
  std::vector<onnx_io::GraphEdit> edits;  // of bodies
  std::vector<ir::Constant> constants;    // whose bytes the edits point into
  std::vector<BodyReport> bodies;
  std::vector<OptimizeReport> reports;  // of the same bodies
};

// Optimises every body in the main graph of the document, at any depth, once. Values that a body captures are inputs of it, with the types
// that are known around it, and keep their names. Searches share what `before` leaves of budgets of time. Errors: those of `optimize`,
// where the run is stopped; a body that cannot be optimised stays as it is.
Result<OptimizedBodies> optimize_bodies(const onnx_io::Document& document, const OptimizeOptions& options, const RunLimits& limits,
                                        const OptimizeReport& before, const OptimizeBody& optimize);

// Leaves all bodies as they are, for this reason.
void leave_bodies(const std::string& reason, OptimizedBodies& bodies);

// Adds what was done in bodies to the report of their model.
void add_bodies(OptimizeReport& report, OptimizedBodies bodies);

}  // namespace xflow::api
