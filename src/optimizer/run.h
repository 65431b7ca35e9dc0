// One optimisation as a list of named stages, with one loop that runs them.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "src/optimizer/model.h"
#include "src/optimizer/session.h"
#include "src/search/run_limits.h"

namespace xflow::api {

// In the order in which they run. A stage can restart at an earlier one: `remeasure` and `validate` at `search`, `write` at `load`, with
// the result as the model.
enum class Stage : std::uint8_t {
  load,       // the graph in the IR, sizes, rules, the device
  simplify,   // what holds by the definition of a graph
  search,     // rewrites by proved rules
  remeasure,  // kernels that were timed under interference
  validate,   // what was rewritten, executed against what it replaced
  gate,       // whole models in turns
  write,      // the report of what is written
};

// What all parts of a call share.
struct RunContext {
  const RunLimits& limits;
  const ProgressCallback& progress;
  Session& session;
};

struct Finished {
  OptimizeReport report;
  std::unique_ptr<Model> model;  // whose result is to be written; null: the original stays
};

// Optimises a model, and then the result, until that stays as it is, in at most `rounds` searches. Each result is run against the one
// before, where models are run. A later round that fails leaves the result of the one before. Errors: as optimize of <xflow/optimize.h>.
Result<Finished> run(std::unique_ptr<Model> model, const OptimizeOptions& options, const RunContext& context, int rounds = 1);

// The stages up to `validate` alone, on a problem that is in the IR already: measures and searches, and executes what was rewritten against
// what it replaced; fills in what the report says of it. An outcome without steps is the original: report.reason says why. Errors: as run.
Result<search::Outcome> improve(const Problem& problem, const OptimizeOptions& options, const ProgressCallback& progress,
                                OptimizeReport& report);

// Opens the device of the options in the session of a problem that nobody searched. Errors: as Session::open; those of choosing sizes.
Result<void> open_costs(const Problem& problem, const OptimizeOptions& options);

}  // namespace xflow::api
