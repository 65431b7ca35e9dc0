// Converts exceptions of the standard library to errors. No exception crosses the public interface, and
// users do not see the texts of exceptions, except in bug reports.
#pragma once

#include <xflow/error.h>

namespace xflow::api {

// Converts the exception that is being handled to an error. Call it in a catch block.
Error error_of_exception();

// Returns the result of `body`, or the error for the exception that it threw.
template <typename T, typename Body>
Result<T> guarded(const Body& body) {
  try {
    return body();
  } catch (...) {
    return fail(error_of_exception());
  }
}

}  // namespace xflow::api
