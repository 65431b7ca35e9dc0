// Clean-ups of a document until nothing changes, behind every public entry.
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

// What became of a document: the edits `last` of `edited`, or of the document itself where that is null.
struct Simplified {
  SimplifyReport report;
  std::unique_ptr<const onnx_io::Document> edited;
  CleanedUp last;

  // `document` must be the one that was simplified, and outlive the result.
  const onnx_io::Document* base(const onnx_io::Document* document) const { return edited ? edited.get() : document; }
};

// `limits` ends the clean-ups: what was cleaned up by then is the result, and the report says so. Errors: as simplify of
// <xflow/simplify.h>; limit, "cancelled".
Result<Simplified> simplify_document(const onnx_io::Document& document, const SimplifyOptions& options, const RunLimits& limits,
                                     Session& session);

// What cleans up a result of these options.
SimplifyOptions simplify_options(const OptimizeOptions& options);
// The graph of a lifted model after the rewrites alone, those that were made when the time of the run was over. Errors: those of loading
// the rules.
Result<ir::Graph> cleaned_graph(const onnx_io::LiftedModel& model, ir::Arena& arena, const OptimizeOptions& options,
                                const RunLimits& limits, Session& session);

}  // namespace xflow::api
