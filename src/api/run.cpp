#include "xflow/run.h"

#include <utility>

#include "src/execution/run_parts.h"
#include "src/support/exceptions.h"

namespace xflow {

Result<RunResult> run_parts(const std::string& path, const RunOptions& options) {
  if (options.repeats < 1 || options.warm_ups < 0)
    return fail(ErrorCode::invalid_argument, "expected at least one step, and no negative number of warm-up steps");
  // The other processes would wait for one that has thrown.
  try {
    return execution::run_parts(path, options);
  } catch (...) {
    Error error = api::error_of_exception();
    if (options.messages != nullptr) options.messages->abort(error);
    return fail(std::move(error));
  }
}

}  // namespace xflow
