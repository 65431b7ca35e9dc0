// A rewrite that does not agree with what it replaced is taken back; the others stay.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/eval/evaluate.h"
#include "src/ops/operator.h"
#include "src/optimizer/run.h"

namespace xflow::api {
namespace {

using ir::ValueId;

// One right rule and one that is wrong on purpose. Nothing proves them: the set takes everybody's word.
constexpr const char* kRules = R"(
rule relu-twice
  source
    y = relu(relu(x))
  target
    y = relu(x)

rule tanh-twice-is-once
  source
    y = tanh(tanh(x))
  target
    y = tanh(x)
)";

class WrongRule : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(rules_.add(kRules, "test.rules"));
    input_ = arena_.input({ir::DataType::float32, true, ir::polys(std::vector<std::int64_t>{64, 64})}, 0);
  }
  ValueId op(const char* name, ValueId x) { return ops::apply(arena_, name, {x}).value(); }
  ValueId twice(const char* name, ValueId x) { return op(name, op(name, x)); }
  std::size_t count(const ir::Graph& graph, std::string_view name) const {
    std::size_t n = 0;
    for (const ir::NodeId id : ir::topological_order(arena_, graph))
      if (arena_.node(id).kind == ir::NodeKind::operation && ops::get(arena_.node(id).op).signature.name == name) ++n;
    return n;
  }
  search::Outcome improve(const ir::Graph& graph) {
    Problem problem{arena_, graph, {{"x", input_}}};
    problem.name_of = [](ValueId) { return std::string("v"); };
    problem.place_of = [this](ValueId v) { return "the " + std::string(ops::get(arena_.node(v).op).signature.name); };
    problem.fold = [this](ValueId v) { return eval::fold(arena_, v); };
    problem.rules = &rules_;
    OptimizeOptions options;
    options.search.max_states = 300;
    auto outcome = api::improve(problem, options, {}, report_);
    EXPECT_TRUE(outcome) << outcome.error().text();
    return *std::move(outcome);
  }
  bool all_agree() const {
    return std::ranges::all_of(report_.regions.checked, [](const CheckedRegion& region) { return region.agrees; });
  }

  ir::Arena arena_;
  ValueId input_;
  rules::VerifiedRules rules_{{}, [](const rules::Rule&) { return true; }};
  OptimizeReport report_;
};

TEST_F(WrongRule, IsTakenBackWhereItWasAppliedAndRewritesElsewhereStay) {
  const ir::Graph graph{{twice("relu", op("exp", input_)), twice("tanh", op("sin", input_)), twice("relu", op("cos", input_))}};
  const search::Outcome outcome = improve(graph);
  EXPECT_EQ(count(outcome.best, "relu"), 2U);
  EXPECT_EQ(count(outcome.best, "tanh"), 2U);
  ASSERT_EQ(outcome.steps.size(), 2U);
  EXPECT_EQ(outcome.steps[0].rule, "relu-twice");
  EXPECT_EQ(outcome.steps[1].rule, "relu-twice");
  EXPECT_LT(outcome.after, outcome.before);
  EXPECT_EQ(report_.regions.checked.size(), 2U);
  EXPECT_TRUE(all_agree());
  ASSERT_EQ(report_.regions.withdrawn.size(), 1U);
  EXPECT_EQ(report_.regions.withdrawn[0].rule, "tanh-twice-is-once");
  EXPECT_EQ(report_.regions.withdrawn[0].where, "the tanh");
  EXPECT_EQ(report_.regions.withdrawn[0].value, "v");
  EXPECT_FALSE(report_.regions.withdrawn[0].message.empty());
  EXPECT_NE(report_.to_text().find("taken back  tanh-twice-is-once at the tanh, whose value 'v' does not agree with the original: " +
                                   report_.regions.withdrawn[0].message + "\n"),
            std::string::npos)
      << report_.to_text();
  EXPECT_NE(report_.to_json().find(R"("rule": "tanh-twice-is-once",)"), std::string::npos);
}

// An interruption is a limit that comes when the test wants it: after the first search, before its result is found to be wrong.
TEST_F(WrongRule, IsTakenBackThoughTheSearchHadToEnd) {
  Problem problem{arena_, {{twice("relu", op("exp", input_)), twice("tanh", op("sin", input_))}}, {{"x", input_}}};
  problem.name_of = [](ValueId) { return std::string("v"); };
  problem.fold = [this](ValueId v) { return eval::fold(arena_, v); };
  problem.rules = &rules_;
  OptimizeOptions options;
  options.search.max_states = 300;
  const RunLimits limits(options);
  problem.limits = &limits;
  const auto interrupt = [&](const OptimizeProgress& progress) {
    if (progress.phase == Phase::checking) options.cancel.finish();
  };
  const auto outcome = api::improve(problem, options, interrupt, report_);
  ASSERT_TRUE(outcome) << outcome.error().text();
  ASSERT_EQ(outcome->steps.size(), 1U) << report_.reason;
  EXPECT_EQ(outcome->steps[0].rule, "relu-twice");
  EXPECT_TRUE(all_agree());
  EXPECT_EQ(report_.regions.withdrawn.size(), 1U);
  EXPECT_EQ(report_.search.stop_reason, StopReason::cancelled);
}

TEST_F(WrongRule, ThatReadsWhatARightOneMadeIsTakenBackAlone) {
  const search::Outcome outcome = improve(ir::Graph{{twice("relu", twice("tanh", twice("relu", op("exp", input_))))}});
  EXPECT_EQ(count(outcome.best, "relu"), 2U);
  EXPECT_EQ(count(outcome.best, "tanh"), 2U);
  EXPECT_TRUE(all_agree());
}

TEST_F(WrongRule, ThatFitsAgainWhereItWasTakenBackEndsAll) {
  ValueId y = op("exp", input_);
  for (int k = 0; k < 12; ++k) y = op("tanh", y);
  const search::Outcome outcome = improve(ir::Graph{{op("relu", y), twice("relu", op("sin", input_))}});
  EXPECT_EQ(count(outcome.best, "relu"), 2U);
  EXPECT_EQ(count(outcome.best, "tanh"), 12U);
  EXPECT_EQ(outcome.steps.size(), 1U);
  EXPECT_TRUE(all_agree());
  EXPECT_GE(report_.regions.withdrawn.size(), 1U);
}

TEST_F(WrongRule, LeavesTheOriginalIfItIsAllThereWas) {
  const ir::Graph graph{{twice("tanh", op("sin", input_))}};
  const search::Outcome outcome = improve(graph);
  EXPECT_EQ(outcome.best, graph);
  EXPECT_TRUE(outcome.steps.empty());
  EXPECT_EQ(outcome.after, outcome.before);
  EXPECT_EQ(report_.reason, "no proved rule makes it cheaper");
  EXPECT_EQ(report_.regions.withdrawn.size(), 1U);
}

}  // namespace
}  // namespace xflow::api
