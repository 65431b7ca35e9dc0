// What a report says.
#include <gtest/gtest.h>

#include "xflow/optimize.h"

namespace xflow {
namespace {

OptimizeReport report() {
  OptimizeReport report;
  report.device = "cpu";
  report.search.stop_reason = StopReason::max_states;
  report.kernels = {12, 300, 0, 0, 0, Seconds(1.25)};
  return report;
}

bool says(const OptimizeReport& report, const std::string& line) { return report.to_text().find(line + "\n") != std::string::npos; }

TEST(Report, SaysWhatWasMeasured) {
  EXPECT_TRUE(says(report(), "kernels     12 measured in 1.2 s, 300 known")) << report().to_text();
  EXPECT_EQ(report().to_text().find("with_interference"), std::string::npos);
  EXPECT_EQ(report().to_text().find("warning"), std::string::npos);
}

TEST(Report, SaysHowFarTheResultMayBeFromTheBest) {
  OptimizeReport searched = report();
  searched.improved = true;
  searched.predicted = {Nanoseconds(200e3), Nanoseconds(103.1e3)};
  EXPECT_EQ(searched.to_text().find("\ngap"), std::string::npos);
  searched.search.gap = GapReport{"", Nanoseconds(100e3), 15, 0, {}, 900};
  EXPECT_TRUE(says(searched, "gap         at most 3.1 % above the best by rewrites inside 15 parts")) << searched.to_text();
  OptimizeReport half = searched;
  half.predicted.after = Nanoseconds(150e3);
  EXPECT_NE(half.to_json().find(R"("gap": {
      "reason": "",
      "above": 0.5,)"),
            std::string::npos)
      << half.to_json();
  searched.search.gap = GapReport{"", Nanoseconds(60e3), 15, 2, Nanoseconds(40e3), 900};
  EXPECT_TRUE(says(searched,
                   "gap         at most 71.9 % above the best by rewrites inside 15 parts; 2 of 15 parts, which take 40 us, were not "
                   "searched whole and count as free"))
      << searched.to_text();
  searched.search.gap = GapReport{"", Nanoseconds(50e3), 15, 2, Nanoseconds(50e3), 900};
  EXPECT_TRUE(says(searched, "gap         no bound: 2 of 15 parts, which take 50 us, were not searched whole")) << searched.to_text();
  EXPECT_NE(searched.to_json().find("\"above\": null"), std::string::npos);
  // Rewrites across parts can do better than the bound.
  searched.search.gap = GapReport{"", Nanoseconds(110e3), 2, 0, {}, 10};
  EXPECT_TRUE(says(searched, "gap         at most 0.0 % above the best by rewrites inside 2 parts")) << searched.to_text();
  searched.search.gap = GapReport{"", Nanoseconds(103.1e3), 1, 0, {}, 10};
  EXPECT_TRUE(says(searched, "gap         0 %: all graphs that the rules reach were visited")) << searched.to_text();
  searched.search.gap = GapReport{"none was looked for"};
  EXPECT_TRUE(says(searched, "gap         no bound: none was looked for")) << searched.to_text();
  // The original counts if it is kept.
  searched.improved = false;
  searched.search.gap = GapReport{"", Nanoseconds(190e3), 3, 0, {}, 10};
  EXPECT_TRUE(says(searched, "gap         at most 5.3 % above the best by rewrites inside 3 parts")) << searched.to_text();
}

TEST(Report, NamesStopReasonsAndFloatClasses) {
  OptimizeReport named = report();
  named.search.rules = {{"associate", 1, 1, 1, FloatClass::rounding, {"re-associates", "drops a factor"}},
                        {"relu-twice", 1, 1, 1, FloatClass::exact},
                        {"fold-shapes", 1, 1, 1}};
  const std::string json = named.to_json();
  for (const char* text : {R"("stop_reason": "budget of states used up")", R"("numbers": "rounding: re-associates, drops a factor")",
                           R"("numbers": "exact")", R"("numbers": "")"})
    EXPECT_NE(json.find(text), std::string::npos) << text << " in " << json;
  EXPECT_TRUE(says(named, "search      0 graphs costed, 0 expanded, budget of states used up")) << named.to_text();
  named.search.stop_reason = std::nullopt;
  EXPECT_NE(named.to_json().find(R"("stop_reason": "")"), std::string::npos);
  EXPECT_TRUE(says(named, "search      0 graphs costed, 0 expanded, ")) << named.to_text();
}

TEST(Report, SaysHowMuchWasNotRun) {
  OptimizeReport partly = report();
  partly.gate.run = true;
  partly.gate.share_not_run = 1.0 / 3;
  EXPECT_TRUE(says(partly, "            33 % of the operations could not run here; the parts between them ran on random values"))
      << partly.to_text();
}

TEST(Report, SaysWhatTheTimeWentInto) {
  OptimizeReport parts = report();
  parts.time = Seconds(29.8);
  parts.search.time = Seconds(5);
  parts.kernels.time = Seconds(16.46);
  parts.regions.time = Seconds(2.2);
  parts.gate.time = Seconds(4.1);
  EXPECT_TRUE(says(parts, "time        29.8 s: search 5.0 s, kernels 16.5 s, checks 2.2 s")) << parts.to_text();
  parts.gate.run = true;
  EXPECT_TRUE(says(parts, "time        29.8 s: search 5.0 s, kernels 16.5 s, checks 2.2 s, runs 4.1 s")) << parts.to_text();
  EXPECT_NE(parts.to_json().find(R"("check_seconds": 2.2)"), std::string::npos);
  parts.replayed = true;
  EXPECT_TRUE(says(parts, "time        29.8 s")) << parts.to_text();
}

TEST(Report, SaysHowManyKernelsWereTimedUnderInterferenceAndWhatBecameOfThem) {
  OptimizeReport with_interference = report();
  with_interference.kernels.samples = 4000;
  with_interference.kernels.outliers = 12;
  EXPECT_TRUE(says(with_interference, "            12 of 4000 samples were outliers (interrupted, or 1.5 times as long as the median)"))
      << with_interference.to_text();
  with_interference.kernels.left_out = 40;
  EXPECT_TRUE(says(with_interference, "kernels     12 measured in 1.2 s, 300 known, 40 not needed")) << with_interference.to_text();
  with_interference.kernels.left_out = 0;
  with_interference.kernels.with_interference = 7;
  with_interference.kernels.timed_again = 7;
  EXPECT_TRUE(says(with_interference, "            7 of them timed under interference, 7 measured again")) << with_interference.to_text();
  EXPECT_EQ(with_interference.to_text().find("warning"), std::string::npos);
  with_interference.kernels.provisional = 2;
  EXPECT_TRUE(
      says(with_interference,
           "warning     2 of 312 kernels were timed under interference: their times may be too long, and the next run measures them again"))
      << with_interference.to_text();
  EXPECT_NE(with_interference.to_json().find(R"("kernels": {
    "measured": 12,
    "known": 300,
    "with_interference": 7,
    "measured_again": 7,
    "provisional": 2,
    "seconds": 1.25,
    "samples": 4000,
    "outliers": 12,
    "recorded": 0,
    "modelled": 0,
    "left_out": 0,
    "refused": 0,
    "failed": 0,
    "failure": "",
    "device_bytes": 0
  })"),
            std::string::npos)
      << with_interference.to_json();
}

TEST(Report, SaysWhatCouldNotBeTimedAndHowMuchMemoryItTook) {
  OptimizeReport gpu = report();
  gpu.kernels.refused = 5;
  gpu.kernels.failed = 1;
  gpu.kernels.failure = "cannot run k here: the GPU has no 512 MiB left";
  gpu.kernels.device_bytes = 1'500'000'000;
  EXPECT_TRUE(says(gpu, "            5 of them cannot run there and are not used")) << gpu.to_text();
  EXPECT_TRUE(says(gpu,
                   "warning     1 kernel could not be timed, and the next run tries again: cannot run k here: the GPU has no "
                   "512 MiB left"))
      << gpu.to_text();
  EXPECT_TRUE(says(gpu, "            at most 1500.0 MB of the device's memory in use")) << gpu.to_text();
  gpu.kernels.failed = 3;
  EXPECT_NE(gpu.to_text().find("warning     3 kernels could not be timed, and the next run tries again"), std::string::npos)
      << gpu.to_text();
}

TEST(Report, ListsOperatorsWhoseNumberChanged) {
  OptimizeReport changed = report();
  changed.operators = {{"Add", 4, 4}, {"Conv", 20, 12}, {"com.microsoft.Gelu\n", 0, 1}};
  const std::string table =
      "\noperator                                       before        after\n"
      "Conv                                               20           12\n"
      "com.microsoft.Gelu\\n                                0            1\n\n";
  EXPECT_NE(changed.to_text().find(table), std::string::npos) << changed.to_text();
  changed.operators = {{"Add", 4, 4}};
  EXPECT_EQ(changed.to_text().find("operator "), std::string::npos);
}

TEST(Report, SaysHowManyKernelsAProfileHeldAndHowManyWereModelled) {
  OptimizeReport elsewhere = report();
  elsewhere.kernels = {.recorded = 120, .modelled = 34};
  EXPECT_TRUE(says(elsewhere, "kernels     120 recorded in the profile, 34 modelled")) << elsewhere.to_text();
  EXPECT_EQ(elsewhere.to_text().find("measured in"), std::string::npos);
}

}  // namespace
}  // namespace xflow
