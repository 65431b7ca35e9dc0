// The sign test, which compares pairs of times without assuming a distribution of the times.
#pragma once

#include <cstddef>

namespace xflow::cost {

// Returns the probability that a fair coin shows heads at least `heads` times in `throws`. 1 for 0 throws.
double sign_test(std::size_t heads, std::size_t throws);

}  // namespace xflow::cost
