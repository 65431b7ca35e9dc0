// The median of samples and its confidence interval.
#pragma once

#include <cstddef>
#include <span>

namespace xflow::cost {

// The probability that `throws` throws of a fair coin show exactly `heads` heads.
double binomial_probability(std::size_t heads, std::size_t throws);

// The median and an interval that contains the median of the sampled distribution with at least the given
// confidence. The ends are order statistics, so no distribution is assumed. With too few values they are the
// minimum and the maximum.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
};
MedianInterval median_interval(std::span<const double> values, double confidence = 0.95);

}  // namespace xflow::cost
