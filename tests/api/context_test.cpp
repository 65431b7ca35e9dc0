// What calls share that have one context.
#include <gtest/gtest.h>
#include <xflow/context.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/formula_device.h"
#include "tests/api/relu_model.h"
#include "tests/places.h"

namespace xflow {
namespace {

// relu(transpose(transpose(x))): the transposes cancel.
Graph two_transposes(std::int64_t rows) {
  GraphBuilder builder;
  const Value x = builder.input("x", DataType::float32, {rows, 64});
  const Value turned = builder.apply("transpose", {x}, {{"perm", {1, 0}}});
  builder.output("y", builder.apply("relu", {builder.apply("transpose", {turned}, {{"perm", {1, 0}}})}));
  return builder.build().value();
}

// By a profile, which has no noise.
OptimizeOptions elsewhere() {
  OptimizeOptions options;
  options.search.max_states = 100;
  options.device.name = "profile:" + places::repository() + "/tests/fuzz/seeds/profile/roofline.xprof";
  return options;
}

TEST(Context, KeepsWhatWasMeasured) {
  OptimizeOptions options;
  options.search.max_states = 100;
  options.validation.gate = false;
  Context context;
  const auto first = optimize(context, two_transposes(48), options);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_GT(first->report.kernels.measured, 0U);
  const auto second = optimize(context, two_transposes(48), options);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->report.kernels.measured, 0U);
  EXPECT_EQ(second->report.predicted.before, first->report.predicted.before);
  Context other;
  EXPECT_GT(optimize(other, two_transposes(48), options)->report.kernels.measured, 0U);
}

TEST(Context, ServesOptionsThatChange) {
  OptimizeOptions options;
  options.search.max_states = 100;
  options.validation.gate = false;
  Context context;
  ASSERT_TRUE(optimize(context, two_transposes(48), options));
  options.device.threads = 2;
  const auto two = optimize(context, two_transposes(48), options);
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_NE(two->report.device.find("2 threads"), std::string::npos) << two->report.device;
  EXPECT_GT(two->report.kernels.measured, 0U) << "by another number of threads";
  const auto modelled = optimize(context, two_transposes(48), elsewhere());
  ASSERT_TRUE(modelled) << modelled.error().text();
  EXPECT_EQ(modelled->report.kernels.measured, 0U);
  options.search.skip_rules = {"no-such-rule"};
  EXPECT_FALSE(optimize(context, two_transposes(48), options));
  options.search.skip_rules.clear();
  EXPECT_TRUE(optimize(context, two_transposes(48), options)) << "a call that fails leaves the context as it was";
}

TEST(Progress, SaysHowMuchOfThePhaseIsUsedUp) {
  std::vector<OptimizeProgress> calls;
  OptimizeOptions options = elsewhere();
  options.time_limit = Seconds(1000);
  ASSERT_TRUE(optimize(two_transposes(64), options, [&calls](const OptimizeProgress& progress) { calls.push_back(progress); }));
  ASSERT_FALSE(calls.empty());
  for (const OptimizeProgress& one : calls) {
    EXPECT_GE(one.fraction, 0) << one.to_text();
    EXPECT_LE(one.fraction, 1) << one.to_text();
  }
}

TEST(Progress, SaysHowMuchTimeIsLeft) {
  std::vector<OptimizeProgress> reported;
  OptimizeOptions options = elsewhere();
  options.time_limit = Seconds(1000);
  ASSERT_TRUE(optimize(two_transposes(64), options, [&reported](const OptimizeProgress& progress) { reported.push_back(progress); }));
  ASSERT_FALSE(reported.empty());
  double before = 1000;
  for (const OptimizeProgress& one : reported) {
    EXPECT_NEAR(one.time_left.count(), 1000 - one.time.count(), 1) << one.to_text();
    EXPECT_LE(one.time_left.count(), before) << one.to_text();
    before = one.time_left.count();
  }
}

TEST(Context, WarnsWhoeverCalls) {
  std::vector<std::string> warnings;
  OptimizeOptions options;
  options.search.max_states = 100;
  options.validation.gate = false;
  options.device.cost_database = "/proc/no/such/folder/costs.db";
  Context context;
  {
    std::string message;
    options.warning = [&message](const std::string& text) { message = text; };
    ASSERT_TRUE(optimize(context, two_transposes(16), options));
    EXPECT_NE(message.find("costs.db"), std::string::npos) << message;
  }
  options.warning = [&warnings](const std::string& text) { warnings.push_back(text); };
  ASSERT_TRUE(optimize(context, two_transposes(32), options));
  EXPECT_TRUE(warnings.empty()) << "of one file once: " << warnings[0];
}

TEST(Context, KeepsWhatVerifyDecided) {
  const auto rules = RuleSet::parse("rule relu-twice\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n", "my.rules");
  ASSERT_TRUE(rules) << rules.error().text();
  Context context;
  VerifyOptions cancelled;
  cancelled.cancel.finish();
  const auto none = verify(context, *rules, cancelled);
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_EQ((*none)[0].verdict, Verdict::timeout);
  const auto first = verify(context, *rules);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ((*first)[0].verdict, Verdict::proved) << "a decision that was cancelled is not kept";
  const auto later = verify(context, *rules, cancelled);
  ASSERT_TRUE(later) << later.error().text();
  EXPECT_EQ((*later)[0].verdict, Verdict::proved) << "nothing is left to cancel";
  EXPECT_EQ((*later)[0].time, Seconds(0));
  EXPECT_EQ((*later)[0].instances, (*first)[0].instances);
}

TEST(Context, KeepsWhatAProfileMeasured) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "context_profile";
  std::filesystem::create_directories(folder);
  const std::string model = write_relu_model(folder / "m.onnx");
  const auto device = std::make_shared<FormulaDevice>();
  OptimizeOptions options;
  options.search.max_states = 10;
  options.device.own = device;
  Context context;
  const auto first = Profile::record(context, {model}, options);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_GT(device->measured, 0);
  device->measured = 0;
  const auto second = Profile::record(context, {model}, options);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(device->measured, 0);
  EXPECT_EQ(first->text(), second->text());
}

// Also run with the thread sanitizer.
TEST(Contexts, RunSideBySide) {
  constexpr int kThreads = 4;
  const auto alone = optimize(two_transposes(64), elsewhere());
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_TRUE(alone->report.improved);
  std::vector<std::optional<OptimizeReport>> reports(kThreads);
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k)
    threads.emplace_back([&reports, k] {
      Context context;
      for (int n = 0; n < 3; ++n) {
        auto result = optimize(context, two_transposes(64), elsewhere());
        if (result) reports[static_cast<std::size_t>(k)] = std::move(result->report);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& report : reports) {
    ASSERT_TRUE(report);
    EXPECT_EQ(report->predicted.before, alone->report.predicted.before);
    EXPECT_EQ(report->predicted.after, alone->report.predicted.after);
    EXPECT_EQ(report->search.states, alone->report.search.states);
  }
}

// The threads of a search share the model, the rules and the profile. Also run with the thread sanitizer.
// A search with 4 threads gives what one with a single thread gives.
void expect_same_in_several_threads(const Graph& graph, OptimizeOptions options) {
  options.search.max_states = 1'000;
  const auto one = optimize(graph, options);
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_TRUE(one->report.search.gap);
  EXPECT_GT(one->report.search.gap->parts, 2U);
  options.search.threads = 4;
  const auto several = optimize(graph, options);
  ASSERT_TRUE(several) << several.error().text();
  EXPECT_EQ(several->report.predicted.after, one->report.predicted.after);
  EXPECT_EQ(several->report.search.states, one->report.search.states);
  EXPECT_EQ(several->report.search.gap->lower_bound, one->report.search.gap->lower_bound);
  EXPECT_EQ(several->report.search.gap->states, one->report.search.gap->states);
}

TEST(Contexts, SearchInSeveralThreads) {
  GraphBuilder builder;
  Value value = builder.input("x", DataType::float32, {16, 16});
  for (int k = 0; k < 12; ++k) {
    const Value turned = builder.apply("transpose", {value}, {{"perm", {1, 0}}});
    value = builder.apply(k % 3 == 0 ? "sigmoid" : "relu", {builder.apply("matmul", {turned, value})});
  }
  builder.output("y", value);
  expect_same_in_several_threads(builder.build().value(), elsewhere());
}

// Rewrites of open sizes define new symbols, such as the larger of two sizes, in each thread for itself.
TEST(Contexts, SearchGraphsOfOpenSizesInSeveralThreads) {
  GraphBuilder builder;
  Value value = builder.input("x", DataType::float32, {"n", "m", 8});
  const Value other = builder.input("z", DataType::float32, {"k", "m", 8});
  for (int k = 0; k < 8; ++k) {
    const Value both = builder.apply("concat", {value, other}, {{"axis", 0}});
    const Value turned = builder.apply("transpose", {builder.apply("relu", {both})}, {{"perm", {2, 1, 0}}});
    value = builder.apply("transpose", {builder.apply("add", {turned, turned})}, {{"perm", {2, 1, 0}}});
  }
  builder.output("y", value);
  OptimizeOptions options = elsewhere();
  options.input.shapes = {{"x", {3, 4, 8}}, {"z", {2, 4, 8}}};
  expect_same_in_several_threads(builder.build().value(), options);
}

// Calls of one context wait for each other.
TEST(Contexts, MayBeSharedByThreads) {
  Context context;
  std::vector<std::thread> threads;
  std::vector<int> improved(3);
  for (int& one : improved)
    threads.emplace_back([&context, &one] {
      const auto result = optimize(context, two_transposes(64), elsewhere());
      one = result && result->report.improved ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(improved, std::vector<int>(3, 1));
}

}  // namespace
}  // namespace xflow
