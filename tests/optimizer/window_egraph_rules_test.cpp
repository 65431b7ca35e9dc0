// E-graphs of windows with the shipped rules: equal values are equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "bench/search/cases.h"
#include "src/eval/evaluate.h"
#include "src/ops/op.h"
#include "src/optimizer/shipped_rules.h"
#include "src/search/rule_rewriter.h"
#include "src/search/window_egraph.h"
#include "tests/search/random_inputs.h"

namespace xflow {
namespace {

const rules::VerifiedRules& shipped_for_windows() {
  static const rules::VerifiedRules rules = [] {
    std::vector<rules::RuleHash> proved;
    for (const rules::ClassifiedRule& rule : api::proved_shipped_rules()) proved.push_back(rule.rule);
    std::ranges::sort(proved);
    rules::VerifiedRules set(proved);
    for (const api::ShippedFile& file : api::shipped_rule_files()) EXPECT_TRUE(set.add(file.text, file.name));
    return set;
  }();
  return rules;
}

using Values = std::vector<std::vector<double>>;

// Evaluated in double precision.
Values values_of(ir::Arena& arena, const ir::Graph& graph, const eval::Bindings& inputs) {
  const auto outputs = eval::evaluate(arena, graph, inputs);
  Values values;
  if (!outputs) ADD_FAILURE() << outputs.error().text();
  if (outputs)
    for (const eval::Tensor& output : *outputs) values.push_back(eval::doubles(output).value());
  return values;
}

void expect_close(const Values& expected, const Values& actual, const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(expected[k].size(), actual[k].size()) << what;
    double largest = 1e-30;
    double difference = 0;
    for (std::size_t i = 0; i < expected[k].size(); ++i) {
      largest = std::max(largest, std::abs(expected[k][i]));
      difference = std::max(difference, std::abs(expected[k][i] - actual[k][i]));
    }
    EXPECT_LE(difference, 1e-5 * largest) << what;  // constants are folded to float
  }
}

// An operation for each class, at random, without cycles: classes are chosen from the inputs on.
class RandomChoice {
 public:
  RandomChoice(const search::WindowEGraph& egraph, std::mt19937_64& random) {
    std::vector<ir::ValueId> members;
    for (std::size_t k = 0; k < egraph.arena().size(); ++k) {
      const auto id = static_cast<ir::NodeId>(k);
      if (!egraph.contains(id) || egraph.arena().node(id).kind != ir::NodeKind::operation || egraph.arena().node(id).is_constant) continue;
      for (std::uint32_t output = 0; output < egraph.arena().node(id).outputs.size(); ++output) members.push_back({id, output});
    }
    std::ranges::shuffle(members, random);
    for (bool changed = true; changed;) {
      changed = false;
      for (const ir::ValueId member : members) {
        const ir::ValueId representative = egraph.representative(member);
        if (egraph.is_free(representative) || chosen_.contains(representative)) continue;
        const bool ready = std::ranges::all_of(egraph.arena().node(member).operands, [&](ir::ValueId operand) {
          return egraph.arena().is_absent(operand) || egraph.is_free(egraph.representative(operand)) ||
                 chosen_.contains(egraph.representative(operand));
        });
        if (!ready) continue;
        chosen_.emplace(representative, member);
        changed = true;
      }
    }
  }
  ir::ValueId operator()(ir::ValueId representative) const { return chosen_.at(representative); }
  const std::map<ir::ValueId, ir::ValueId>& all() const { return chosen_; }

 private:
  std::map<ir::ValueId, ir::ValueId> chosen_;
};

class EachWindowEGraph : public ::testing::TestWithParam<bench::NamedCase> {};

TEST_P(EachWindowEGraph, HoldsGraphsThatComputeTheSame) {
  constexpr int kReduced = 16;
  std::mt19937_64 random(1);
  bench::Case made = GetParam().make(GetParam().sizes.front(), kReduced);
  ir::WorkGraph work(*made.arena, made.graph);
  search::Window window = work.order();
  std::erase_if(window, [&](ir::NodeId id) { return work.arena().node(id).kind != ir::NodeKind::operation; });
  search::WindowEGraph egraph(work, window);
  search::RuleRewriter rewriter(shipped_for_windows(), {});
  egraph.saturate(rewriter, nullptr, {.operations = 400, .rewrites = 5'000}, [] { return false; });
  EXPECT_GT(egraph.operations(), window.size());

  const ir::Graph original{work.outputs()};
  const eval::Bindings inputs = bench::random_inputs(work.arena(), original);
  const Values expected = values_of(work.arena(), original, inputs);
  std::size_t different = 0;
  for (int round = 0; round < 12; ++round) {
    const RandomChoice choice(egraph, random);
    ir::ValueMap known;
    ir::Graph graph = original;
    for (const auto& [outside, value] : egraph.outputs()) {
      const ir::ValueId to = egraph.make(
          work.arena(), value, [&](ir::ValueId v) { return choice(v); }, known);
      EXPECT_EQ(work.arena().type(to), work.arena().type(outside));
      std::ranges::replace(graph.outputs, outside, to);
    }
    different += graph == original ? 0 : 1;
    expect_close(expected, values_of(work.arena(), graph, inputs), "choice " + std::to_string(round));
  }
  EXPECT_GE(different, 6U);
}

// neg(x - y): the operand of neg is represented by x - y, and the second rule matches the other member of its
// class alone.
TEST(WindowEGraphMatching, TriesEveryOperationThatMakesAnOperand) {
  rules::VerifiedRules rules({}, [](const rules::Rule&) { return true; });
  const std::string text = R"(
rule apart
  source
    y = x - z
  target
    y = x + neg(z)

rule turned
  source
    y = neg(x + neg(z))
  target
    y = z - x
)";
  const auto added = rules.add(text, "test.rules");
  ASSERT_TRUE(added) << added.error().text();
  ir::Arena arena;
  const ir::TensorType type{ir::DataType::float32, true, {ir::Poly(4)}};
  const ir::ValueId x = arena.input(type, 0);
  const ir::ValueId z = arena.input(type, 1);
  const ir::Graph graph{{ops::apply(arena, "neg", {ops::apply(arena, "sub", {x, z}).value()}).value()}};
  ir::WorkGraph work(arena, graph);
  search::Window window = work.order();
  std::erase_if(window, [&](ir::NodeId id) { return work.arena().node(id).kind != ir::NodeKind::operation; });
  search::WindowEGraph egraph(work, window);
  search::RuleRewriter rewriter(rules, {});
  EXPECT_TRUE(egraph.saturate(rewriter, nullptr, {}, [] { return false; }));
  const ir::ValueId result = egraph.representative(egraph.outputs().at(0).second);
  std::size_t differences = 0;
  for (const ir::ValueId member : egraph.members(result))
    differences += egraph.arena().node(member).op == work.arena().node(window[0]).op ? 1 : 0;
  EXPECT_EQ(differences, 1U);
}

INSTANTIATE_TEST_SUITE_P(Cases, EachWindowEGraph, ::testing::ValuesIn(bench::cases()), [](const auto& which) {
  std::string name = which.param.name;
  std::ranges::replace(name, ' ', '_');
  return name;
});

}  // namespace
}  // namespace xflow
