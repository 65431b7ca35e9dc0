#include "src/api/context_state.h"
#include "src/optimizer/optimize_graph.h"
#include "src/optimizer/optimize_model.h"
#include "src/optimizer/simplify_model.h"
#include "src/support/exceptions.h"

namespace xflow {

Context::Context() : state_(std::make_unique<State>()) {}
Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

Result<OptimizeResult> optimize(Context& context, std::string_view model, const OptimizeOptions& options,
                                const ProgressCallback& progress) {
  const std::lock_guard lock(context.state().in_use);
  return api::guarded<OptimizeResult>([&] { return api::optimize_model(model, options, progress, context.state().session); });
}

Result<OptimizeReport> optimize_file(Context& context, const std::string& input, const std::string& output, const OptimizeOptions& options,
                                     const ProgressCallback& progress) {
  const std::lock_guard lock(context.state().in_use);
  return api::guarded<OptimizeReport>([&] { return api::optimize_model_file(input, output, options, progress, context.state().session); });
}

Result<GraphResult> optimize(Context& context, const Graph& graph, const OptimizeOptions& options, const ProgressCallback& progress) {
  const std::lock_guard lock(context.state().in_use);
  return api::guarded<GraphResult>([&] { return api::optimize_graph(graph, options, progress, context.state().session); });
}

Result<SimplifyResult> simplify(Context& context, std::string_view model, const SimplifyOptions& options) {
  const std::lock_guard lock(context.state().in_use);
  return api::guarded<SimplifyResult>([&] { return api::simplify_model(model, options, context.state().session); });
}

Result<SimplifyReport> simplify_file(Context& context, const std::string& input, const std::string& output,
                                     const SimplifyOptions& options) {
  const std::lock_guard lock(context.state().in_use);
  return api::guarded<SimplifyReport>([&] { return api::simplify_model_file(input, output, options, context.state().session); });
}

}  // namespace xflow
