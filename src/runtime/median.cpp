#include "src/runtime/median.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace xflow::cost {

double binomial_probability(std::size_t heads, std::size_t throws) {
  // Uses logarithms, because 2^throws overflows a double for many throws.
  const auto log_factorial = [](std::size_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  return std::exp(log_factorial(throws) - log_factorial(heads) - log_factorial(throws - heads) -
                  static_cast<double>(throws) * std::log(2.0));
}

MedianInterval median_interval(std::span<const double> values, double confidence) {
  if (values.empty()) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  // P(the median is below the k-th smallest value, counted from 0) = P(at most k heads in n throws).
  double below = binomial_probability(0, n);
  std::size_t k = 0;
  while (k + 1 < (n + 1) / 2 && 2 * (below + binomial_probability(k + 1, n)) <= 1 - confidence) below += binomial_probability(++k, n);
  const double middle = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  return {middle, sorted[k], sorted[n - 1 - k]};
}

}  // namespace xflow::cost
