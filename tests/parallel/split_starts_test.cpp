// Plans that the search of splits begins with.
#include "src/parallel/split_starts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/parallel/search_budget.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_search.h"
#include "src/parallel/split_workload.h"
#include "tests/parallel/split_graphs.h"

namespace xflow::parallel {
namespace {

TEST(SplitStarts, OfTensorParallelDividesColumnsThenTerms) {
  TestSplit split = split_of(two_products(), cluster_of(4));
  const SplitPlan plan = grid_plan(*split.model, 4, {2, 2, false});
  EXPECT_EQ(to_string(plan[0]), "axis 0 / 2, axis 1 / 2, devices 0 to 3");
  EXPECT_EQ(to_string(plan[1]), "axis 0 / 2, axis 1 / 2, devices 0 to 3");
  EXPECT_EQ(to_string(plan[2]), "axis 0 / 2, sum / 2, devices 0 to 3");
}

TEST(SplitStarts, OfTensorParallelDividesAttentionByHeads) {
  TestSplit split = split_of(attention(), cluster_of(4));
  const SplitPlan plan = grid_plan(*split.model, 4, {1, 4, false});
  std::vector<std::string> texts;
  for (const OperatorPlan& own : plan)
    if (texts.empty() || texts.back() != to_string(own)) texts.push_back(to_string(own));
  EXPECT_EQ(texts.front(), "axis 2 / 4, devices 0 to 3");
  EXPECT_EQ(texts.back(), "4 copies, devices 0 to 3");
  const auto sums = std::ranges::count_if(plan, [](const OperatorPlan& own) { return own.degree(SplitTarget::reduction) == 4; });
  EXPECT_EQ(sums, 2);  // the projection of the heads, and the second product of the feed-forward layer
}

// Four products of 8 x 100 and 100 x 100 elements.
std::unique_ptr<TestGraph> four_products() {
  auto g = std::make_unique<TestGraph>();
  ValueId x = g->input({8, 100});
  for (int layer = 0; layer < 4; ++layer) x = g->apply("matmul", {x, g->weights({100, 100})});
  g->graph.outputs = {x};
  return g;
}

// An embedding of 40 words, a layer, and a projection to as many words.
std::unique_ptr<TestGraph> language_model() {
  auto g = std::make_unique<TestGraph>();
  const ValueId words = g->arena.input({ir::DataType::int64, true, ir::polys(std::vector<std::int64_t>{8, 4})}, g->serial++);
  const ValueId embedded = g->apply("gather", {g->weights({40, 12}), words}, {{"axis", ir::Poly(0)}});
  const ValueId layer = g->apply("tanh", {embedded});
  g->graph.outputs = {g->apply("matmul", {layer, g->weights({12, 40})})};
  return g;
}

TEST(SplitStarts, OfAVocabularyDivideTheRowsOfTablesAndTheColumnsOfTheProjection) {
  TestSplit split = split_of(language_model(), cluster_of(4));
  std::vector<std::string> names;
  for (const NamedPlan& start : start_plans(*split.model, 4, StepKind::training))
    if (start.name.find("vocabulary") != std::string::npos) names.push_back(start.name);
  EXPECT_EQ(names, (std::vector<std::string>{"data 2 x tensor 2, vocabulary", "data 1 x tensor 4, vocabulary"}));
  GridPolicy policy{2, 2};
  const SplitPlan without = grid_plan(*split.model, 4, policy);
  policy.divides_tables = true;
  const SplitPlan plan = grid_plan(*split.model, 4, policy);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(to_string(without[0]), "axis 0 / 2, 2 copies, devices 0 to 3");
  EXPECT_EQ(to_string(plan[0]), "axis 0 / 2, sum / 2, devices 0 to 3");
  EXPECT_EQ(to_string(plan[1]), "axis 0 / 2, 2 copies, devices 0 to 3");
  EXPECT_EQ(to_string(plan[2]), "axis 0 / 2, axis 2 / 2, devices 0 to 3");
  // A device has half of the table and half of the projection.
  const SplitStep step = step_of(*split.model, plan, split.cluster, StepKind::inference);
  double resident = 0;
  for (std::size_t node = 0; node < step.nodes.size(); ++node) resident += step.devices[node] == 0 ? step.workload.nodes[node].bytes : 0;
  EXPECT_EQ(resident, 2 * 20 * 12 * 4);
  // Without tables there are no such plans.
  for (const NamedPlan& start : start_plans(*split_of(four_products(), cluster_of(4)).model, 4, StepKind::training))
    EXPECT_EQ(start.name.find("vocabulary"), std::string::npos) << start.name;
}

TEST(SplitStarts, HaveNoRandomPlanOfManyParts) {
  const auto names_with = [](std::uint32_t devices) {
    TestSplit split = split_of(biased(), cluster_of(devices, devices));
    SearchBudget budget(Seconds(1e12), 1, {}, 1);
    std::vector<std::string> names;
    for (const auto& [name, step] : search_split(*split.model, split.cluster, {}, budget).starts) names.push_back(name);
    EXPECT_EQ(split.model->operators().size() * devices <= kMostRandomParts, devices < 700);
    return names;
  };
  EXPECT_EQ(names_with(4).back(), "random");
  EXPECT_EQ(names_with(701).back(), "m-topo");
}

TEST(SplitStarts, OfAPipelineHaveAStageForEachGroupOfDevices) {
  TestSplit split = split_of(four_products(), cluster_of(4));
  GridPolicy policy{2, 1};
  policy.stages = 2;
  policy.batches = 4;
  const SplitPlan plan = grid_plan(*split.model, 4, policy);
  std::vector<std::string> texts;
  for (const OperatorPlan& own : plan) texts.push_back(to_string(own));
  const std::string first = "axis 0 / 2, axis 0 in 4 batches, devices 0 to 1";
  const std::string second = "axis 0 / 2, axis 0 in 4 batches, devices 2 to 3";
  EXPECT_EQ(texts, (std::vector{first, first, second, second}));
  EXPECT_EQ(to_string(plan[0].by_device()), "axis 0 / 2, devices 0 to 1");
}

TEST(SplitStarts, LeavePipelinesOutWhereHalfOfTheTimeIsOver) {
  SplitSearchOptions options;
  options.kind = StepKind::training;
  for (const bool has_time : {true, false}) {
    TestSplit split = split_of(four_products(), cluster_of(4));
    const std::size_t pipelines = pipeline_policies(*split.model, 4).size();
    ASSERT_GT(pipelines, 2U);
    SearchBudget budget(has_time ? Seconds(1e6) : Seconds(0), 0, {}, 1);
    const FoundSplit found = search_split(*split.model, split.cluster, options, budget);
    const auto is_pipeline = [](const auto& start) { return start.first.starts_with("pipeline"); };
    EXPECT_EQ(has_time ? pipelines : 0, static_cast<std::size_t>(std::ranges::count_if(found.starts, is_pipeline)));
    EXPECT_EQ(has_time ? 0 : pipelines, found.untried);
    EXPECT_GT(found.starts.size(), 3U);
  }
}

TEST(SplitStarts, OfTrainingStepsHavePipelines) {
  TestSplit split = split_of(four_products(), cluster_of(4));
  std::vector<std::string> names;
  for (const NamedPlan& start : start_plans(*split.model, 4, StepKind::training))
    if (start.name.starts_with("pipeline")) names.push_back(start.name);
  // Eight samples are two batches of four for two devices each, and up to eight batches of one.
  EXPECT_EQ(names, (std::vector<std::string>{"pipeline 2 x data 2, 2 batches", "pipeline 2 x tensor 2, 2 batches", "pipeline 4, 4 batches",
                                             "pipeline 2 x data 2, 4 batches", "pipeline 2 x tensor 2, 4 batches", "pipeline 4, 8 batches",
                                             "pipeline 2 x tensor 2, 8 batches"}));
  names.clear();
  for (const NamedPlan& start : start_plans(*split_of(four_products(), cluster_of(8)).model, 8, StepKind::training))
    if (start.name.starts_with("pipeline 2 x data 2 x")) names.push_back(start.name);
  EXPECT_EQ(names, (std::vector<std::string>{"pipeline 2 x data 2 x tensor 2, 2 batches", "pipeline 2 x data 2 x tensor 2, 4 batches"}));
  for (const NamedPlan& start : start_plans(*split.model, 4, StepKind::inference))
    EXPECT_EQ(start.plan, by_device(start.plan)) << start.name;
}

TEST(SplitStarts, HaveARandomPlanThatTheSeedDetermines) {
  for (auto make : {convolutions, attention, recurrent, embeddings, biased}) {
    TestSplit split = split_of(make(), cluster_of(4, 2));
    const SplitPlan plan = random_start(*split.model, 4, 3);
    EXPECT_EQ(plan, random_start(*split.model, 4, 3));
    EXPECT_NE(plan, random_start(*split.model, 4, 4));
    std::size_t divided = 0;
    for (std::uint32_t op = 0; op < plan.size(); ++op) {
      EXPECT_TRUE(is_possible(*split.model, op, plan[op], 4)) << op;
      divided += plan[op].parts() > 1 ? 1 : 0;
    }
    EXPECT_GT(divided, 0U);
    for (const std::uint32_t value : split.model->tied_values()) {
      const auto& tied = split.model->values()[value].tied;
      for (const std::uint32_t op : tied)
        if (split.model->operators()[op].kind == split.model->operators()[tied[0]].kind) {
          EXPECT_EQ(plan[op], plan[tied[0]]);
        }
    }
    SplitSearchOptions options;
    options.seed = 3;
    SearchBudget budget(Seconds(1e12), 1, {}, 1);
    FoundSplit found = search_split(*split.model, split.cluster, options, budget);
    EXPECT_EQ(found.starts.back(), (std::pair<std::string, double>{"random", step_with(split, plan)}));
    // Other plans and proposals do not depend on it.
    options.has_random_start = false;
    SearchBudget without(Seconds(1e12), 300, {}, 1);
    const FoundSplit expected = search_split(*split.model, split.cluster, options, without);
    options.has_random_start = true;
    SearchBudget with(Seconds(1e12), 300, {}, 1);
    found = search_split(*split.model, split.cluster, options, with);
    EXPECT_EQ(found.starts.size(), expected.starts.size() + 1);
    EXPECT_LE(found.step, expected.step);
    if (found.best_start != "random") {
      EXPECT_EQ(found.plan, expected.plan);
    }
  }
}

}  // namespace
}  // namespace xflow::parallel
