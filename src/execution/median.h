// The median of numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace xflow::execution {

// The lower of the two middle ones of an even number of values; 0 of none.
template <typename Number>
Number median_of(std::vector<Number> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace xflow::execution
