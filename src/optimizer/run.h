// One optimisation as a list of named stages, with one loop that runs them.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "src/cost/cost_model.h"
#include "src/optimizer/model.h"
#include "src/optimizer/replay.h"
#include "src/optimizer/session.h"
#include "src/search/run_limits.h"
#include "src/search/search.h"

namespace xflow::api {

// The stages in the order in which they run. A stage can restart at an earlier one: `remeasure` and
// `validate` at `search`, and `write` at `load` with the result as the model.
enum class Stage : std::uint8_t {
  load,       // lift the model into the IR
  simplify,   // find built-in simplifications; choose sizes, load rules, open the device
  search,     // search for rewrites by proved rules
  remeasure,  // time kernels again that were timed under interference
  validate,   // execute rewritten regions against the originals
  gate,       // run whole models in alternation
  write,      // complete the report
};

// The arguments that all parts of a call share.
struct RunContext {
  const RunLimits& limits;
  const ProgressCallback& progress;
  Session& session;
  Replay* replay = nullptr;  // the trace that is applied instead of searches; null: none
  std::uint64_t pass = 0;    // of the passes over the bodies (TracedSearch)
};

struct Finished {
  OptimizeReport report;
  std::unique_ptr<Model> model;  // the model whose result is written; null: the original stays
};

// Optimises a model, then its result, until a result stays unchanged, in at most `rounds` searches. If
// models are run, each result runs against the result before it. If a later round fails, the result of the
// round before stands. Errors: as optimize of <xflow/optimize.h>.
Result<Finished> run(std::unique_ptr<Model> model, const OptimizeOptions& options, const RunContext& context, int rounds = 1);

// Runs only the stages up to `validate` on a problem that is already in the IR, and fills in their part of
// the report. An outcome without steps is the original; report.reason says why. Errors: as run.
Result<search::Outcome> improve(const Problem& problem, const OptimizeOptions& options, const ProgressCallback& progress,
                                OptimizeReport& report);

// Runs only the stages `search` and `remeasure`, with the costs of `model` and the rules of `rewriter`.
Result<search::Outcome> remeasured_search(ir::Arena& arena, const ir::Graph& graph, cost::CostModel& model, search::Rewriter& rewriter,
                                          const search::Options& options);

// Opens the device of the options for a problem without a search. Errors: as Session::open; those of
// choosing sizes.
Result<void> open_costs(const Problem& problem, const OptimizeOptions& options);

}  // namespace xflow::api
