// What calls share: proofs of rules, kernels that were timed, the device that was opened.
//
//   xflow::Context context;
//   for (const std::string& model : models) results.push_back(xflow::optimize(context, model, options));
//
// A call without a context has one of its own. Contexts are independent: each thread may use another one.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/graph.h>
#include <xflow/optimize.h>
#include <xflow/simplify.h>

#include <memory>
#include <string>
#include <string_view>

namespace xflow {

// Keeps between calls: which of the user's own rules were proved, by their text; costs that were measured, also where
// the options name no file for them; and the device, while the options ask for the same. A runner is started by each
// call, as what it holds counts for the memory of the call. One call at a time: others wait, so that a callback of a call
// must not use the context of that call. A context that was moved from can only be assigned to or destroyed.
class XFLOW_API Context {
 public:
  Context();
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  struct State;  // of the implementation
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// As the functions without a context.
XFLOW_API Result<OptimizeResult> optimize(Context& context, std::string_view model, const OptimizeOptions& options = {},
                                          const ProgressCallback& progress = {});
XFLOW_API Result<OptimizeReport> optimize_file(Context& context, const std::string& input, const std::string& output,
                                               const OptimizeOptions& options = {}, const ProgressCallback& progress = {});
XFLOW_API Result<GraphResult> optimize(Context& context, const Graph& graph, const OptimizeOptions& options = {},
                                       const ProgressCallback& progress = {});
// These share the rules alone: nothing is measured.
XFLOW_API Result<SimplifyResult> simplify(Context& context, std::string_view model, const SimplifyOptions& options = {});
XFLOW_API Result<SimplifyReport> simplify_file(Context& context, const std::string& input, const std::string& output,
                                               const SimplifyOptions& options = {});

}  // namespace xflow
