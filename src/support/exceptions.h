// Exceptions of the standard library as errors: none crosses the public interface, and nobody reads their texts.
#pragma once

#include <xflow/error.h>

namespace xflow::api {

// What the exception that is being handled means. Call it in a catch block.
Error error_of_exception();

// The result of `body`, or the error of the exception that it threw.
template <typename T, typename Body>
Result<T> guarded(const Body& body) {
  try {
    return body();
  } catch (...) {
    return fail(error_of_exception());
  }
}

}  // namespace xflow::api
