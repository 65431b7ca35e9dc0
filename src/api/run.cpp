#include "xflow/run.h"

#include <utility>

#include "src/execution/measure_cluster.h"
#include "src/execution/run_parts.h"
#include "src/support/exceptions.h"

namespace xflow {
namespace {

// The other processes would wait for one that has thrown.
template <typename T, typename Body>
Result<T> guarded_run(RunMessages* messages, const Body& body) {
  try {
    return body();
  } catch (...) {
    Error error = api::error_of_exception();
    if (messages != nullptr) messages->abort(error);
    return fail(std::move(error));
  }
}

}  // namespace

Result<RunResult> run_parts(const std::string& path, const RunOptions& options) {
  if (options.repeats < 1 || options.warm_ups < 0)
    return fail(ErrorCode::invalid_argument, "expected at least one step, and no negative number of warm-up steps");
  return guarded_run<RunResult>(options.messages, [&] { return execution::run_parts(path, options); });
}

Result<MeasuredCluster> measure_cluster(RunMessages& messages) {
  return guarded_run<MeasuredCluster>(&messages, [&] { return execution::measure_cluster(messages); });
}

}  // namespace xflow
