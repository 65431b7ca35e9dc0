#include "src/validation/sign_test.h"

#include <algorithm>

#include "src/runtime/median.h"

namespace xflow::cost {

double sign_test(std::size_t heads, std::size_t throws) {
  double p_value = 0;
  for (std::size_t k = heads; k <= throws; ++k) p_value += binomial_probability(k, throws);
  return std::min(p_value, 1.0);
}

}  // namespace xflow::cost
