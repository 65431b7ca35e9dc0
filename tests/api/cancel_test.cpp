// Cancellation and progress of the calls other than optimize and simplify.
#include <gtest/gtest.h>
#include <xflow/check.h>
#include <xflow/generate.h>
#include <xflow/profile.h>
#include <xflow/verify.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/api/formula_device.h"
#include "tests/api/relu_model.h"

namespace xflow {
namespace {

const Error kCancelled{ErrorCode::limit, "cancelled", ""};

std::filesystem::path folder(const char* name) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

template <typename Progress>
void expect_fractions(const std::vector<Progress>& reported) {
  ASSERT_FALSE(reported.empty());
  for (const Progress& one : reported) {
    EXPECT_GE(one.fraction, 0) << one.message;
    EXPECT_LE(one.fraction, 1) << one.message;
    EXPECT_FALSE(one.message.empty());
  }
}

TEST(CheckProgress, CountsTheRunsOfBothModels) {
  const std::string model = write_relu_model(folder("check_progress") / "m.onnx");
  std::vector<CheckProgress> reported;
  CheckOptions options;
  options.runs = 2;
  options.progress = [&reported](const CheckProgress& progress) { reported.push_back(progress); };
  ASSERT_TRUE(check_files(model, model, options));
  expect_fractions(reported);
  EXPECT_EQ(reported.front().phase, CheckPhase::running_a);
  EXPECT_EQ(reported.front().message, "A in double, inputs 1 of 2");
  EXPECT_EQ(reported.back().phase, CheckPhase::running_b);
  EXPECT_EQ(reported.back().message, "B in float, inputs 2 of 2");
  for (std::size_t k = 1; k < reported.size(); ++k) EXPECT_GE(reported[k].fraction, reported[k - 1].fraction);
  EXPECT_STREQ(to_string(CheckPhase::running_a), "running A");
}

TEST(CheckCancel, FinishActsAsTheTimeLimit) {
  const std::filesystem::path at = folder("check_cancel");
  const std::string a = write_relu_model(at / "a.onnx");
  CheckOptions options;
  options.runs = 3;
  options.progress = [&options](const CheckProgress& progress) {
    if (progress.message.find("inputs 2 of 3") != std::string::npos) options.cancel.finish();
  };
  const auto undecided = check_files(a, a, options);
  ASSERT_FALSE(undecided);
  EXPECT_EQ(undecided.error().code, ErrorCode::limit);
  EXPECT_EQ(undecided.error().message, "not decided: cancelled after 1 of 3 sets of inputs, on which the models agree");
  options.cancel = {};
  const auto different = check_files(a, write_relu_model(at / "b.onnx", "Sqrt"), options);
  ASSERT_TRUE(different) << different.error().text();
  EXPECT_FALSE(different->equal) << "a difference that was found is a result";
}

TEST(CheckCancel, StopIsAnError) {
  const std::string a = write_relu_model(folder("check_stop") / "a.onnx");
  CheckOptions options;
  options.progress = [&options](const CheckProgress&) { options.cancel.stop(); };
  EXPECT_EQ(check_files(a, a, options).error(), kCancelled);
  EXPECT_EQ(check_files(a, a, options).error(), kCancelled) << "stopped before the call";
}

constexpr std::string_view kRule = "rule relu-twice\n  source\n    y = relu(relu(x))\n  target\n    y = relu(x)\n";

RuleSet one_rule() {
  auto rules = RuleSet::parse(kRule, "my.rules");
  EXPECT_TRUE(rules) << rules.error().text();
  return rules ? *rules : RuleSet();
}

// So many rules that relu of this number of relus is relu.
RuleSet rules_of(int count) {
  std::string text;
  for (int k = 2; k < count + 2; ++k) {
    std::string nested = "x";
    for (int n = 0; n < k; ++n) nested = "relu(" + nested + ")";
    text += "rule relu-" + std::to_string(k) + "\n  source\n    y = " + nested + "\n  target\n    y = relu(x)\n";
  }
  auto rules = RuleSet::parse(text, "my.rules");
  EXPECT_TRUE(rules) << rules.error().text();
  return rules ? *rules : RuleSet();
}

TEST(VerifyProgress, CountsRulesThatAreDecided) {
  std::vector<std::pair<std::size_t, std::size_t>> reported;
  VerifyOptions options;
  options.progress = [&](std::size_t done, std::size_t all) { reported.emplace_back(done, all); };
  ASSERT_TRUE(verify(rules_of(3), options));
  EXPECT_EQ(reported, (std::vector<std::pair<std::size_t, std::size_t>>{{1, 3}, {2, 3}, {3, 3}}));
}

TEST(VerifyProgress, ComesFromTheCallingThreadAlone) {
  const auto caller = std::this_thread::get_id();
  std::size_t calls = 0;
  VerifyOptions options;
  options.jobs = 3;
  options.progress = [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_TRUE(done >= 1 && done <= 8 && all == 8) << done << " of " << all;
    ++calls;
  };
  ASSERT_TRUE(verify(rules_of(8), options));
  EXPECT_LE(calls, 8U);
}

TEST(VerifyProgress, MayThrow) {
  VerifyOptions options;
  options.jobs = 2;
  options.progress = [](std::size_t, std::size_t) { throw std::runtime_error("enough"); };
  const auto decided = verify(rules_of(4), options);
  // With another thread the calling one may have had no rule.
  EXPECT_TRUE(decided || decided.error().text().find("enough") != std::string::npos) << decided.error().text();
  options.jobs = 1;
  const auto alone = verify(rules_of(4), options);
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().text().find("enough"), std::string::npos) << alone.error().text();
}

TEST(VerifyCancel, FinishLeavesRulesUndecided) {
  VerifyOptions options;
  options.cancel.finish();
  const auto decisions = verify(one_rule(), options);
  ASSERT_TRUE(decisions) << decisions.error().text();
  ASSERT_FALSE(decisions->empty());
  for (const RuleDecision& decision : *decisions) {
    EXPECT_EQ(decision.rule, "relu-twice");
    EXPECT_EQ(decision.verdict, Verdict::timeout);
    EXPECT_EQ(decision.open, "cancelled");
  }
}

TEST(VerifyCancel, StopIsAnError) {
  VerifyOptions options;
  options.cancel.stop();
  EXPECT_EQ(verify(one_rule(), options).error(), kCancelled);
  EXPECT_EQ(explain(one_rule(), options).error(), kCancelled);
  EXPECT_EQ(infer_guards(one_rule(), options).error(), kCancelled);
}

GenerateOptions small_job(const char* name) {
  GenerateOptions options;
  options.operators = {"relu", "transpose"};
  options.max_operators = 2;
  options.out = folder(name);
  return options;
}

TEST(GenerateProgress, HasAPhaseAndAFraction) {
  std::vector<GenerateProgress> reported;
  GenerateOptions options = small_job("generate_progress");
  options.progress = [&reported](const GenerateProgress& progress) { reported.push_back(progress); };
  ASSERT_TRUE(generate(options));
  expect_fractions(reported);
  EXPECT_EQ(reported.front().phase, GeneratePhase::enumerating);
  EXPECT_NE(reported.front().message.find("graphs: 1 of "), std::string::npos) << reported.front().message;
  EXPECT_EQ(reported.back().phase, GeneratePhase::deriving);
  EXPECT_EQ(reported.back().fraction, 1);
  EXPECT_STREQ(to_string(GeneratePhase::grouping), "grouping");
}

TEST(GenerateCancel, ALaterCallContinues) {
  GenerateOptions whole = small_job("generate_whole");
  ASSERT_TRUE(generate(whole));
  for (const GeneratePhase phase : {GeneratePhase::enumerating, GeneratePhase::grouping, GeneratePhase::deriving}) {
    GenerateOptions options = small_job("generate_cancelled");
    options.progress = [&options, phase](const GenerateProgress& progress) {
      if (progress.phase == phase) options.cancel.finish();
    };
    EXPECT_EQ(generate(options).error(), kCancelled) << to_string(phase);
    EXPECT_FALSE(std::filesystem::exists(options.out + "/generated.rules"));
    EXPECT_EQ(generate(options).error(), kCancelled) << "the token is still set";
    options.cancel = {};
    options.progress = {};
    const auto done = generate(options);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(text_of(options.out + "/generated.rules"), text_of(whole.out + "/generated.rules")) << to_string(phase);
  }
}

OptimizeOptions by_formula() {
  OptimizeOptions options;
  options.search.max_states = 10;
  options.device.own = std::make_shared<FormulaDevice>();
  return options;
}

TEST(ProfileProgress, NamesTheModel) {
  const std::string model = write_relu_model(folder("profile_progress") / "m.onnx");
  std::vector<ProfileProgress> reported;
  const auto profile =
      Profile::record({model}, by_formula(), [&reported](const ProfileProgress& progress) { reported.push_back(progress); });
  ASSERT_TRUE(profile) << profile.error().text();
  expect_fractions(reported);
  EXPECT_EQ(reported.front().phase, ProfilePhase::measuring);
  EXPECT_EQ(reported.front().fraction, 0);
  EXPECT_EQ(reported.front().model, model);
  EXPECT_EQ(reported.front().message, "timing the kernels of " + model);
  EXPECT_EQ(reported.back().phase, ProfilePhase::searching);
  EXPECT_STREQ(to_string(ProfilePhase::measuring), "measuring");
}

TEST(ProfileCancel, FinishKeepsTheKernelsSoFar) {
  const std::filesystem::path at = folder("profile_cancel");
  const std::string first = write_relu_model(at / "a.onnx");
  const std::string second = write_relu_model(at / "b.onnx", "Sqrt");
  OptimizeOptions options = by_formula();
  const auto both = Profile::record({first, second}, options);
  ASSERT_TRUE(both) << both.error().text();
  const auto early = Profile::record({first, second}, options, [&options](const ProfileProgress& progress) {
    if (progress.phase == ProfilePhase::searching) options.cancel.finish();
  });
  ASSERT_TRUE(early) << early.error().text();
  EXPECT_GT(early->kernels(), 0U);
  EXPECT_LT(early->kernels(), both->kernels());
  EXPECT_EQ(Profile::record({first}, options).error(), kCancelled) << "no kernel was timed";
}

TEST(ProfileCancel, StopIsAnError) {
  const std::string model = write_relu_model(folder("profile_stop") / "m.onnx");
  OptimizeOptions options = by_formula();
  const auto stopped = Profile::record({model}, options, [&options](const ProfileProgress&) { options.cancel.stop(); });
  EXPECT_EQ(stopped.error(), kCancelled);
}

}  // namespace
}  // namespace xflow
