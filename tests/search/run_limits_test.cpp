#include "src/search/run_limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace xflow::api {
namespace {

TEST(RunLimits, SayWhichPartOfTheTimeIsUsedUp) {
  EXPECT_EQ(RunLimits().fraction(), 0) << "without a limit";
  OptimizeOptions options;
  options.time_limit = Seconds(1e-9);
  EXPECT_EQ(RunLimits(options).fraction(), 1) << "never more than all of it";
  options.time_limit = Seconds(1e9);
  const RunLimits limits(options);
  EXPECT_GE(limits.fraction(), 0);
  EXPECT_LT(limits.fraction(), 0.01);
}

TEST(RunLimits, AreFiveMinutesAndHalfOfTheMachine) {
  const RunLimits limits{OptimizeOptions()};
  EXPECT_LE(limits.seconds_left(), 300);
  EXPECT_GT(limits.seconds_left(), 290);
  EXPECT_GT(machine_bytes(), 0U);
  EXPECT_EQ(limits.max_bytes(), machine_bytes() / 2);
  EXPECT_FALSE(limits.is_over());
  EXPECT_FALSE(limits.ends_search());
}

// Docker and systemd bound memory by control groups. In the tests either the machine or its group is the bound.
TEST(RunLimits, CountTheMemoryOfTheMachineOrItsCgroup) {
  std::vector<std::uint64_t> bounds = {static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                       static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))};
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::string text;
    if (std::ifstream file(path); file >> text && text != "max") bounds.push_back(std::stoull(text));
  }
  EXPECT_EQ(machine_bytes(), *std::ranges::min_element(bounds));
}

TEST(RunLimits, AreTenTimesALongerBudget) {
  OptimizeOptions options;
  options.search.max_time = Seconds(100);
  EXPECT_GT(RunLimits(options).seconds_left(), 990);
  EXPECT_LE(RunLimits(options).seconds_left(), 1000);
  options.search.max_time = Seconds(29);
  EXPECT_GT(RunLimits(options).seconds_left(), 290);
  EXPECT_LE(RunLimits(options).seconds_left(), 300) << "never less than five minutes";
  options.time_limit = Seconds(7);
  EXPECT_LE(RunLimits(options).seconds_left(), 7);
}

TEST(RunLimits, OfNoTimeAreOver) {
  OptimizeOptions options;
  options.time_limit = Seconds(0);
  const RunLimits limits(options);
  EXPECT_TRUE(limits.is_over());
  EXPECT_EQ(limits.seconds_left(), 0);
  EXPECT_EQ(limits.ends_search(), search::StopReason::time_limit);
  EXPECT_EQ(limits.may_continue(), refused("the time limit of 0 s is over"));
  EXPECT_TRUE(limits.check());  // what was checked is still written
}

TEST(RunLimits, LeaveTheRestOfTheRunToAFinishingCall) {
  const OptimizeOptions options;
  const RunLimits limits(options);
  options.cancel.finish();
  EXPECT_EQ(limits.ends_search(), search::StopReason::cancelled);
  EXPECT_FALSE(limits.is_over());
  options.cancel.stop();
  EXPECT_TRUE(limits.is_over());
  EXPECT_EQ(limits.check().error().text(), "cancelled");
  options.cancel.finish();  // takes nothing back
  EXPECT_TRUE(limits.is_over());
}

TEST(RunLimits, EndTheSearchWhereMemoryIsShort) {
  OptimizeOptions options;
  options.max_memory = 1;
  const RunLimits limits(options);
  EXPECT_GT(resident_bytes(), 1U);
  EXPECT_EQ(limits.ends_search(), search::StopReason::memory_limit);
  EXPECT_FALSE(limits.is_over());
  EXPECT_EQ(within(limits).most_elements, 0U);
}

TEST(RunLimits, OfNothingAreNone) {
  const RunLimits limits;
  EXPECT_EQ(limits.seconds_left(), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(limits.ends_search());
  EXPECT_EQ(limits.may_continue(), accepted());
}

}  // namespace
}  // namespace xflow::api
