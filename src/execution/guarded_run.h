// Converts exceptions of one process of a run to errors.
#pragma once

#include <xflow/run.h>

#include <utility>

#include "src/support/exceptions.h"

namespace xflow::execution {

// Returns the result of `body`, or the error for the exception that it threw. The other processes do not
// know of it and would wait for this one, so all are ended. `messages` may be null.
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

}  // namespace xflow::execution
