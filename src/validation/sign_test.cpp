#include "src/validation/sign_test.h"

#include <algorithm>

#include "src/runtime/median.h"

namespace xflow::cost {

double sign_test(std::size_t heads, std::size_t throws) {
  double chance = 0;
  for (std::size_t k = heads; k <= throws; ++k) chance += chance_of_heads(k, throws);
  return std::min(chance, 1.0);
}

}  // namespace xflow::cost
