#include "src/cli/option_names.h"

#include <gtest/gtest.h>

namespace xflow::cli {
namespace {

TEST(OptionNames, AreThoseOfTheCommandLine) {
  EXPECT_EQ(with_option_names("give sizes with option 'shapes'"), "give sizes with --shape");
  EXPECT_EQ(with_option_names("option 'max_operators' must be at least 1"), "--max-ops must be at least 1");
  EXPECT_EQ(with_option_names("could remove 1 of 2 nodes with option 'accept' = smaller"),
            "could remove 1 of 2 nodes with --accept smaller");
}

TEST(OptionNames, AreReplacedWhereverTheyOccur) {
  EXPECT_EQ(with_option_names("option 'device' = cuda:0 uses it anyway, option 'device' = cpu skips the check"),
            "--device cuda:0 uses it anyway, --device cpu skips the check");
  EXPECT_EQ(with_option_names("option 'runner' measures it, option 'gate' = false does not"), "--runner measures it, --no-gate does not");
}

TEST(OptionNames, LeaveOtherTextsAlone) {
  EXPECT_EQ(with_option_names(""), "");
  EXPECT_EQ(with_option_names("max_operators, shapes, the option 'shape'"), "max_operators, shapes, the option 'shape'");
}

}  // namespace
}  // namespace xflow::cli
