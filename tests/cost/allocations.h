// Counts what a piece of code allocates: operator new of this test program is replaced.
#pragma once

#include <cstddef>
#include <functional>

namespace xflow::testing {

// Allocations by operator new while `run` runs, less those that oneDNN makes for itself.
std::size_t allocations_of(const std::function<void()>& run);

}  // namespace xflow::testing
