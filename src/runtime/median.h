// The median of what was sampled, and how well it is known.
#pragma once

#include <cstddef>
#include <span>

namespace xflow::cost {

// The chance that a fair coin shows heads exactly `heads` times in `throws`.
double chance_of_heads(std::size_t heads, std::size_t throws);

// The median, and the ends of an interval that holds the median of what was sampled with at least the given confidence: order statistics,
// so that nothing is assumed. Where there are too few values for that, the least and the largest.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
};
MedianInterval median_interval(std::span<const double> values, double confidence = 0.95);

}  // namespace xflow::cost
