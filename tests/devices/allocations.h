// Counts what a piece of code allocates: operator new of this test program is replaced.
#pragma once

#include <cstddef>
#include <functional>

namespace xflow::testing {

struct Allocations {
  std::size_t own = 0;         // all but those of the library
  std::size_t of_library = 0;  // by code of oneDNN's shared library
};

// Calls of operator new while `run` runs.
Allocations allocations_of(const std::function<void()>& run);

}  // namespace xflow::testing
