#include <gtest/gtest.h>

#include "src/optimizer/simplifications.h"

namespace xflow::api {
namespace {

TEST(Simplifications, AloneAreNoGain) {
  const std::vector<Simplification> simplifications = {{"merge-equal-nodes", "", {}, {}}, {"drop-unused", "", {}, {}},
                                                       {"merge-equal-nodes", "", {}, {}}, {"fold-shapes", "", {}, {}},
                                                       {"drop-identity", "", {}, {}},     {"drop-identity", "", {}, {}}};
  EXPECT_EQ(
      no_gain_of_simplifications(simplifications),
      "only nodes that are equal to others (2), unused (1), copies of constants (2) or compute shapes that are known (1) can go, and "
      "what is run of the original is without them as well: no gain that is measured; --runner measures it, --no-gate leaves them out");
}

}  // namespace
}  // namespace xflow::api
