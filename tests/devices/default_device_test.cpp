#include "src/devices/default_device.h"

#include <gtest/gtest.h>

namespace xflow::cost {
namespace {

TEST(DefaultDevice, IsThisCpuWithoutAGpu) {
  const DefaultDevice chosen = choose_device(false, "true", 60);
  EXPECT_EQ(chosen.name, "cpu");
  EXPECT_EQ(chosen.warning, "");
}

TEST(DefaultDevice, IsAGpuThatPassesItsCheck) {
  const DefaultDevice chosen = choose_device(true, "echo cuda:0 computes", 60);
  EXPECT_EQ(chosen.name, "cuda:0");
  EXPECT_EQ(chosen.warning, "");
}

TEST(DefaultDevice, IsThisCpuWhereTheCheckOfTheGpuFails) {
  const std::string how = "; option 'device' = cuda:0 uses it anyway, option 'device' = cpu skips the check";
  const DefaultDevice wrong = choose_device(true, "(echo it computes nonsense >&2; exit 1)", 60);
  EXPECT_EQ(wrong.name, "cpu");
  EXPECT_EQ(wrong.warning, "cuda:0 is not used, because its check failed: it ended with exit status 1: it computes nonsense" + how);
  const DefaultDevice crashed = choose_device(true, "(kill -SEGV $$)", 60);
  EXPECT_EQ(crashed.name, "cpu");
  EXPECT_NE(crashed.warning, "");
  const DefaultDevice hanging = choose_device(true, "sleep 600", 0.1);
  EXPECT_EQ(hanging.name, "cpu");
  EXPECT_EQ(hanging.warning, "cuda:0 is not used, because its check failed: it did not answer within 0.1 s" + how);
}

}  // namespace
}  // namespace xflow::cost
