// Optimises bodies of If, Loop and Scan, each as a graph of its own.
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

// The document that contains a body, and the id of the body's graph.
struct BodyPlace {
  const onnx_io::Document& around;
  onnx_io::GraphId graph{};
};

// The result of optimising a body. `lowered` has no edits if the body stays unchanged.
struct OptimizedBody {
  OptimizeReport report;
  onnx_io::LoweredModel lowered;
};
// Optimises the main graph of `body`, a document of its own (onnx/body_document.h).
using OptimizeBody = std::function<Result<OptimizedBody>(const onnx_io::Document& body, const BodyPlace&, const OptimizeOptions&)>;

struct OptimizedBodies {
  std::vector<onnx_io::GraphEdit> edits;  // of the bodies
  std::vector<ir::Constant> constants;    // own the bytes that the edits point into
  std::vector<BodyReport> bodies;
  std::vector<OptimizeReport> reports;  // by index in `bodies`
};

// Optimises every body in the main graph and every called local function, at any depth, once. Values that a
// body captures become its inputs, with the types that are known around it, and keep their names. The
// searches share the time budgets that `before` leaves. A body that cannot be optimised stays unchanged.
// Errors: those of RunLimits::check if the run is stopped.
Result<OptimizedBodies> optimize_bodies(const onnx_io::Document& document, const OptimizeOptions& options, const RunLimits& limits,
                                        const OptimizeReport& before, const OptimizeBody& optimize);

// Discards the edits of all bodies and records the reason.
void leave_bodies(const std::string& reason, OptimizedBodies& bodies);

// Adds the reports of the bodies to the report of their model.
void add_bodies(OptimizeReport& report, OptimizedBodies bodies);

}  // namespace xflow::api
