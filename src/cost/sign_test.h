// What pairs of times say without any assumption on how times are distributed.
#pragma once

#include <cstddef>
#include <span>

namespace xflow::cost {

// The sign test: the chance that a fair coin shows heads at least `heads` times in `throws`. 1 for 0 throws.
double sign_test(std::size_t heads, std::size_t throws);

// The median, and the ends of an interval that holds the median of what was sampled with at least the given confidence: order statistics,
// so that nothing is assumed. Where there are too few values for that, the least and the largest.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
};
MedianInterval median_interval(std::span<const double> values, double confidence = 0.95);

}  // namespace xflow::cost
