// Traces of optimisations: written down while a model is optimised, and applied again without a search.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>
#include <xflow/trace.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/rules/verified_rules.h"
#include "src/search/run_limits.h"
#include "src/search/search.h"

namespace xflow::api {

// A hash of the bytes of a model: 32 hexadecimal digits.
std::string model_hash(std::string_view bytes);

// The rewrites of a result, as an entry of a trace, and their rules.
TracedSearch traced_search(const search::Finalist& found, std::uint64_t graph, std::uint64_t pass, bool declares_shapes);
std::vector<TracedRule> traced_rules(const search::Finalist& found, const rules::VerifiedRules& rules);
// Adds the searches and the rules of `more`.
void add_trace(Trace& trace, Trace more);
// The parts of a trace that hold for the whole call: all but its searches and their rules.
void describe_call(const OptimizeOptions& options, bool cleaned_up, std::string model, Trace& trace);

// Says in the report of a call that a trace was applied.
void mark_replayed(OptimizeReport& report);

// The options of a call that replays: without a device, a gate and budgets, and with the sizes of the trace
// unless the options have some. Requires options.search.replay.
OptimizeOptions replay_options(OptimizeOptions options);

// The part of a trace that is not applied yet.
class Replay {
 public:
  explicit Replay(const Trace& trace) : trace_(trace) {}

  // The next search, if it is one of this graph and pass; otherwise null.
  const TracedSearch* next(std::uint64_t graph, std::uint64_t pass) const;
  // The same, and takes it.
  const TracedSearch* take(std::uint64_t graph, std::uint64_t pass);

  // Errors: unsupported if the trace is of another model.
  Result<void> check_model(std::string_view bytes) const;
  // Errors: unsupported if a rule of the trace is missing or another one.
  Result<void> check_rules(const rules::VerifiedRules& rules) const;
  // Errors of the next two: limit if `limits` ended the replay.
  // Errors: unsupported if a rewrite of the search that was taken last was not applied.
  Result<void> check_applied(const TracedSearch& search, const search::Outcome& outcome, const RunLimits& limits) const;
  // Errors: unsupported if searches are left.
  Result<void> check_end(const RunLimits& limits) const;

 private:
  const Trace& trace_;
  std::size_t taken_ = 0;
};

}  // namespace xflow::api
