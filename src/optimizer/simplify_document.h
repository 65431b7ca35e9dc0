// Cleans up a document until nothing changes. All public entry points call it.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>
#include <xflow/simplify.h>

#include <functional>
#include <memory>

#include "src/onnx/document/document.h"
#include "src/optimizer/clean_up.h"
#include "src/search/run_limits.h"

namespace xflow::api {

class Session;

// A simplified document: `edited`, or the original document if `edited` is null, with the edits `last`.
struct Simplified {
  SimplifyReport report;
  std::unique_ptr<const onnx_io::Document> edited;
  CleanedUp last;

  // `document` must be the simplified document and must outlive the result.
  const onnx_io::Document* base(const onnx_io::Document* document) const { return edited ? edited.get() : document; }
};

// Cleans up a document. When `limits` ends the clean-ups, the result has those made by then, and the report
// says so. Errors: as simplify of <xflow/simplify.h>; limit, "cancelled".
Result<Simplified> simplify_document(const onnx_io::Document& document, const SimplifyOptions& options, const RunLimits& limits,
                                     Session& session);

// The options of the clean-ups of a result that was optimised with `options`.
SimplifyOptions simplify_options(const OptimizeOptions& options);
// The graph of a lifted model after the clean-up rewrites alone, or those made before the time of the run
// was over. Errors: those of loading the rules.
Result<ir::Graph> cleaned_graph(const onnx_io::LiftedModel& model, ir::Arena& arena, const OptimizeOptions& options,
                                const RunLimits& limits, Session& session);

}  // namespace xflow::api
