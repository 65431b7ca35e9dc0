// The enumerations of the interface as text, and back.
#include <gtest/gtest.h>
#include <xflow/device.h>
#include <xflow/optimize.h>
#include <xflow/report.h>

#include <string>

namespace xflow {
namespace {

TEST(Names, OfCacheStatesAreThoseThatAreParsed) {
  for (const auto caches :
       {CacheState::automatic, CacheState::warm, CacheState::after_4_mib, CacheState::after_16_mib, CacheState::after_64_mib})
    EXPECT_EQ(parse_cache_state(to_string(caches)).value(), caches);
  EXPECT_STREQ(to_string(CacheState::automatic), "auto");
  EXPECT_STREQ(to_string(CacheState::after_64_mib), "64MiB");
  EXPECT_EQ(parse_cache_state("hot").error().text(), "caches 'hot' is none of auto, warm, 4MiB, 16MiB, 64MiB");
}

TEST(Names, OfNumericsAreThoseThatAreParsed) {
  for (const auto numerics : {Numerics::exact, Numerics::rounding, Numerics::any})
    EXPECT_EQ(parse_numerics(to_string(numerics)).value(), numerics);
  EXPECT_STREQ(to_string(Numerics::rounding), "rounding");
  EXPECT_EQ(parse_numerics("").error().text(), "numerics '' is none of exact, rounding, any");
}

TEST(Names, OfStrategiesAreThoseThatAreParsed) {
  for (const Strategy strategy : {Strategy::automatic, Strategy::backtracking, Strategy::partition, Strategy::egraph})
    EXPECT_EQ(parse_strategy(to_string(strategy)).value(), strategy);
  EXPECT_EQ(parse_strategy("ilp").error().text(), "strategy 'ilp' is none of auto, backtracking, partition, egraph");
}

TEST(Names, AreThoseOfReports) {
  EXPECT_STREQ(to_string(Phase::measuring), "measuring");
  EXPECT_STREQ(to_string(Phase::running), "running");
  EXPECT_STREQ(to_string(GateVerdict::faster), "faster");
  EXPECT_STREQ(to_string(GateVerdict::failed), "failed");
  EXPECT_STREQ(to_string(StopReason::exhausted), "no state left within alpha of the best");
  EXPECT_STREQ(to_string(StopReason::cancelled), "interrupted");
  EXPECT_STREQ(to_string(GateStop::decided), "decided by the sign test");
  EXPECT_STREQ(to_string(GateStop::failure), "failure");
  EXPECT_STREQ(to_string(FloatClass::special), "special");
  EXPECT_STREQ(to_string(Clock::wall_time), "wall time");
  EXPECT_STREQ(to_string(Clock::device_time), "device time");
}

}  // namespace
}  // namespace xflow
