// What pairs of times say without any assumption on how times are distributed.
#pragma once

#include <cstddef>

namespace xflow::cost {

// The sign test: the chance that a fair coin shows heads at least `heads` times in `throws`. 1 for 0 throws.
double sign_test(std::size_t heads, std::size_t throws);

}  // namespace xflow::cost
