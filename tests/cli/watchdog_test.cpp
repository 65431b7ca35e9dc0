// Who complains of whom, and when.
#include "src/cli/processes/watchdog.h"

#include <gtest/gtest.h>

#include <string_view>

namespace xflow::cli {
namespace {

constexpr double kNever = 1e9;

Beat beat_of(RunPhase phase, std::uint64_t part, std::string_view device) {
  Beat beat{phase, part, {}};
  device.copy(beat.device.data(), beat.device.size() - 1);
  return beat;
}

class WatchdogTest : public ::testing::Test {
 protected:
  // All processes but number 2 are heard until `now`.
  Watchdog watchdog(std::size_t process, double now, const Beat& last) {
    Watchdog watchdog(4, process, Seconds(6), 0);
    watchdog.heard(2, last, 1);
    for (const std::size_t other : {0U, 1U, 3U}) watchdog.heard(other, {}, now);
    return watchdog;
  }
  Beat own_ = beat_of(RunPhase::waiting, 1, "gpu");
};

TEST_F(WatchdogTest, ProcessesThatAreHeardAreFine) {
  Watchdog watchdog(2, 0, Seconds(6), 0);
  for (double now = 0; now < 100; ++now) {
    watchdog.heard(1, {}, now);
    EXPECT_EQ(watchdog.complaint(own_, kNever, now + 0.5), std::nullopt);
  }
}

TEST_F(WatchdogTest, ASilentProcessIsNamedWithItsDeviceAndPart) {
  const auto complaint = [&](const Beat& last) { return watchdog(0, 7.1, last).complaint(own_, kNever, 7.1); };
  EXPECT_EQ(complaint(beat_of(RunPhase::computing, 3, "cpu2")),
            "process 2 (device 'cpu2'), which was computing part 3, has not answered for 6 s");
  EXPECT_EQ(complaint(beat_of(RunPhase::waiting, 3, "cpu2")),
            "process 2 (device 'cpu2'), which was waiting for inputs of part 3, has not answered for 6 s");
  EXPECT_EQ(complaint(beat_of(RunPhase::waiting, kNoPart, "cpu2")),
            "process 2 (device 'cpu2'), which was waiting for others, has not answered for 6 s");
  EXPECT_EQ(complaint({}), "process 2 has not answered for 6 s");
}

TEST_F(WatchdogTest, TheFirstOtherProcessSpeaksFirst) {
  const Beat last = beat_of(RunPhase::computing, 3, "cpu2");
  EXPECT_EQ(watchdog(0, 6.9, last).complaint(own_, kNever, 6.9), std::nullopt);
  EXPECT_NE(watchdog(0, 7.1, last).complaint(own_, kNever, 7.1), std::nullopt);
  EXPECT_EQ(watchdog(3, 7.9, last).complaint(own_, kNever, 7.9), std::nullopt);
  EXPECT_NE(watchdog(3, 8.1, last).complaint(own_, kNever, 8.1), std::nullopt);
}

TEST_F(WatchdogTest, AKernelThatDoesNotEnd) {
  const Watchdog watchdog(1, 0, Seconds(6), 0);
  const Beat computing = beat_of(RunPhase::computing, 5, "cpu0");
  EXPECT_EQ(watchdog.complaint(computing, 10, 9.9), std::nullopt);
  EXPECT_EQ(watchdog.complaint(computing, 10, 10.1), "process 0 (device 'cpu0') hangs in part 5: a kernel has not ended in time");
  // Others may take any time.
  EXPECT_EQ(watchdog.complaint(beat_of(RunPhase::waiting, 5, "cpu0"), 10, 1000), std::nullopt);
  EXPECT_EQ(watchdog.complaint(beat_of(RunPhase::preparing, 5, "cpu0"), 10, 1000), std::nullopt);
}

TEST_F(WatchdogTest, AProcessThatWasStoppedAccusesNobody) {
  Watchdog stopped = watchdog(0, 1, own_);
  EXPECT_NE(stopped.complaint(own_, kNever, 100), std::nullopt);
  stopped.resume(100);
  EXPECT_EQ(stopped.complaint(own_, kNever, 105), std::nullopt);
}

TEST_F(WatchdogTest, AfterTheEndTheFirstOtherProcessNamesTheLostOne) {
  const Beat last = beat_of(RunPhase::computing, 3, "cpu2");
  EXPECT_EQ(watchdog(0, 2, last).lost(0.4, 2), "process 2 (device 'cpu2'), which was computing part 3, has ended");
  EXPECT_EQ(watchdog(1, 2, last).lost(0.4, 2), std::nullopt);
  EXPECT_EQ(watchdog(0, 2, last).lost(1.5, 2), std::nullopt);
}

}  // namespace
}  // namespace xflow::cli
