// State that calls share: proofs of rules, measured costs, the open device.
//
//   xflow::Context context;
//   for (const std::string& model : models) results.push_back(xflow::optimize(context, model, options));
//
// A call without a context uses a temporary one. Contexts are independent: each thread may have its own.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/graph.h>
#include <xflow/optimize.h>
#include <xflow/profile.h>
#include <xflow/simplify.h>
#include <xflow/verify.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// Keeps between calls:
// - which of the user's rules were proved, and the decisions of verify, by the text of the rule;
// - measured costs, also if the options name no file for them;
// - the device, as long as the options name the same one. Each call starts its own runner, since the memory
//   of the runner counts as memory of the call.
//
// check_files and generate have no overloads with a context, since they would reuse nothing: check_files
// measures no costs, applies no rules and starts its own runner; generate keeps its state in
// GenerateOptions::out. The functions of <xflow/verify.h> for one rule and those of <xflow/rules.h> decide
// rules again, since they return other details.
//
// One call at a time uses a context, and other calls wait. A callback must therefore not use the context of
// its call. A context that was moved from can only be assigned to or destroyed.
class XFLOW_API Context {
 public:
  Context();
  ~Context();
  Context(Context&&) noexcept;             // the state moves
  Context& operator=(Context&&) noexcept;  // the state moves; the former one is dropped
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  struct State;  // implementation detail
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// The functions of <xflow/optimize.h> and <xflow/graph.h> with a context. Same results and errors.
XFLOW_API Result<OptimizeResult> optimize(Context& context, std::string_view model, const OptimizeOptions& options = {},
                                          const ProgressCallback& progress = {});
// optimize_file with a context.
XFLOW_API Result<OptimizeReport> optimize_file(Context& context, const std::string& input, const std::string& output,
                                               const OptimizeOptions& options = {}, const ProgressCallback& progress = {});
// optimize for a graph that is built in code, with a context.
XFLOW_API Result<GraphResult> optimize(Context& context, const Graph& graph, const OptimizeOptions& options = {},
                                       const ProgressCallback& progress = {});
// The functions of <xflow/simplify.h> with a context. They share only the proved rules, since they measure
// nothing.
XFLOW_API Result<SimplifyResult> simplify(Context& context, std::string_view model, const SimplifyOptions& options = {});
// simplify_file with a context.
XFLOW_API Result<SimplifyReport> simplify_file(Context& context, const std::string& input, const std::string& output,
                                               const SimplifyOptions& options = {});

// verify of <xflow/verify.h> with a context. A rule that an earlier call decided gets the same decision with
// time 0, unless the earlier call reached a time limit or was cancelled. optimize, simplify and
// Profile::record do not prove a rule again that verify proved.
XFLOW_API Result<std::vector<RuleDecision>> verify(Context& context, const RuleSet& rules, const VerifyOptions& options = {});
// Profile::record of <xflow/profile.h> has an overload with a context as well.

}  // namespace xflow
