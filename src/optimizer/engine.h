// The optimiser behind every public entry: from a graph in the IR to a cheaper one.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/devices/device_costs.h"
#include "src/optimizer/graph_moves.h"
#include "src/optimizer/session.h"
#include "src/rules/rule_set.h"
#include "src/search/run_limits.h"
#include "src/search/search.h"
#include "src/validation/end_to_end.h"
#include "src/validation/run_inputs.h"
#include "src/validation/sizes.h"

namespace xflow::api {

// The rules of the options, all of them proved: the shipped ones by their hashes, others by a record beside their file that is replayed, or
// decided now. Errors: unreadable or io (a rule file), syntax, not_proved (names the rule and says what was found instead),
// invalid_argument (no rule to skip of that name), limit (a rule that was not decided in `seconds`).
// `known`: hashes of the user's own rules that were proved before; those that are proved now are added. Null: none.
Result<rules::VerifiedRules> load_rules(const OptimizeOptions& options, double seconds = std::numeric_limits<double>::infinity(),
                                        std::function<bool()> stop = {}, std::set<rules::RuleHash>* known = nullptr);

// Whether nothing here can run what the device of the options will: it is known by a profile, and there is no runner.
bool is_elsewhere(const OptimizeOptions& options);
// What the report says of an end-to-end run that did not take place; `option` is how the caller said so.
std::string why_not_run(const OptimizeOptions& options, std::string_view what, std::string_view option);

// What a search may take where no budget is given.
constexpr double kDefaultSeconds = 30;

struct Problem {
  ir::Arena& arena;
  ir::Graph graph;
  std::vector<NamedInput> inputs;
  std::function<Result<void>(const ir::Arena&, ir::NodeId)> can_spell = {};  // null: everything can be written
  std::function<std::string(ir::ValueId)> name_of = {};                      // of a value of `graph`, in reports
  std::function<std::string(ir::ValueId)> place_of = {};                     // "node 'conv1' (Conv)": where it is computed
  std::function<Result<ir::Constant>(ir::ValueId)> fold = {};                // an expression of constants, as it will be written
  std::vector<GraphMove>* moves = nullptr;                                   // that were made already; their gains are filled in
  const rules::VerifiedRules* rules = nullptr;                               // null: those of the options
  const RunInputs* runs = nullptr;                                           // null: at the first shapes of the options, seeded
  const RunLimits* limits = nullptr;                                         // null: none
  Session* session = nullptr;                                                // null: one of its own
};

// Opens the device of the options in the session of a problem that nobody searched. Errors: as Session::open; those of choosing sizes.
Result<void> open_costs(const Problem& problem, const OptimizeOptions& options);

// Measures and searches, and executes what was rewritten against what it replaced; fills in what the report says of it. A rewrite that does
// not agree is taken back and the search goes on without it. An outcome without steps is the original: report.reason says why. Errors: as
// optimize of <xflow/optimize.h>.
Result<search::Outcome> improve(const Problem& problem, const OptimizeOptions& options, const ProgressCallback& progress,
                                OptimizeReport& report);

// By how much predicted times may be wrong, as a part of them: 1 %, and 10 % of what kernels cost that were timed on a disturbed machine
// alone, by their number (docs/cost.md, The noise of prices).
double price_noise(const KernelReport& kernels);
// Why a result whose gain is predicted, `moves` included, is not written: the gain is below the noise of the prices. Empty if it is not.
std::string below_noise(const OptimizeReport& report, std::span<const GraphMove> moves);
// Whether a candidate was run and measured to be faster or equal at every choice of sizes.
bool is_no_slower(const GateReport& run);

// The report of a result that is the original, for this reason. `predicted`: the time of another that was run and not shipped; that
// they were wrong is worth knowing.
void keep_original(std::string reason, std::optional<Nanoseconds> predicted, OptimizeReport& report);

// To be called while whole models are run: tells the progress. The arguments must outlive it.
std::function<void()> running(const ProgressCallback& progress, const OptimizeOptions& options, const RunLimits& limits,
                              const OptimizeReport& report);

}  // namespace xflow::api
