#include <gtest/gtest.h>

#include "src/optimizer/simplifications.h"

namespace xflow::api {
namespace {

TEST(Simplifications, AloneAreNoGain) {
  const std::vector<Simplification> simplifications = {{"merge-equal-nodes", "", {}, {}}, {"drop-unused", "", {}, {}},
                                                       {"merge-equal-nodes", "", {}, {}}, {"fold-shapes", "", {}, {}},
                                                       {"drop-identity", "", {}, {}},     {"drop-identity", "", {}, {}}};
  EXPECT_EQ(no_gain_of_simplifications(simplifications),
            "only equal nodes (2), unused nodes (1), copies of constants (2) and computations of known shapes (1) can be removed; the "
            "timed original has none of them either, so no gain can be measured; option 'runner' measures it, option 'gate' = false writes "
            "the result unmeasured");
}

}  // namespace
}  // namespace xflow::api
