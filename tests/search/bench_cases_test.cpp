// The graphs of bench/search: what a benchmark of the search assumes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/search/cases.h"
#include "bench/search/roofline.h"
#include "bench/search/transformer.h"
#include "src/cost/cost_model.h"
#include "src/eval/evaluate.h"
#include "src/ops/op.h"
#include "tests/search/random_inputs.h"

namespace xflow::bench {
namespace {

constexpr int kReduced = 16;

std::vector<std::vector<double>> values_of(Case& made, const ir::Graph& graph) {
  const auto outputs = eval::evaluate(*made.arena, graph, random_inputs(*made.arena, made.graph));
  std::vector<std::vector<double>> values;
  if (!outputs) ADD_FAILURE() << outputs.error().text();
  if (outputs)
    for (const eval::Tensor& output : *outputs) values.push_back(eval::doubles(output).value());
  return values;
}

class EachBenchCase : public ::testing::TestWithParam<NamedCase> {};

TEST_P(EachBenchCase, HasEquivalentsThatComputeTheSame) {
  for (const int size : GetParam().sizes) {
    Case made = GetParam().make(size, kReduced);
    const auto expected = values_of(made, made.graph);
    for (const ir::Graph& other : made.equivalents) {
      const auto actual = values_of(made, other);
      ASSERT_EQ(expected.size(), actual.size());
      for (std::size_t k = 0; k < expected.size(); ++k) {
        ASSERT_EQ(expected[k].size(), actual[k].size());
        double largest = 0;
        double difference = 0;
        for (std::size_t i = 0; i < expected[k].size(); ++i) {
          largest = std::max(largest, std::abs(expected[k][i]));
          difference = std::max(difference, std::abs(expected[k][i] - actual[k][i]));
        }
        EXPECT_GT(largest, 0);
        EXPECT_LE(difference, 1e-6 * largest) << "size " << size;  // constants are folded to float
      }
    }
  }
}

TEST_P(EachBenchCase, HasAnOptimumThatIsCheaperOnARoofline) {
  const int size = GetParam().sizes.back();
  double gain = 0;
  for (const bool copies_are_free : {true, false}) {
    Case made = GetParam().make(size, 1);
    const auto device = roofline(copies_are_free);
    cost::Database database = cost::Database::open("", device->info());
    cost::CostModel model(*made.arena, *device, database, [](ir::SymbolId) { return std::int64_t{128}; });
    const double before = model.cost(made.graph)->time.count();
    for (const ir::Graph& other : made.equivalents) gain = std::max(gain, before - model.cost(other)->time.count());
  }
  EXPECT_GT(gain, 0);
}

std::string name_of(const ::testing::TestParamInfo<NamedCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Bench, EachBenchCase, ::testing::ValuesIn(cases()), name_of);

TEST(BenchRoofline, CountsMultiplicationsOfConvolutionsByGroups) {
  const auto tensor = [](std::vector<std::int64_t> dims) { return ops::TensorSpec{ir::DataType::float32, std::move(dims)}; };
  ops::KernelSpec spec;
  spec.family = ops::KernelFamily::convolution;
  spec.function.op = ops::Op::Conv;
  spec.operands = {tensor({1, 64, 8, 8}), tensor({32, 64 / 4, 3, 3})};
  spec.results = {tensor({1, 32, 8, 8})};
  EXPECT_EQ(operations_of(spec), 2.0 * (32 * 8 * 8) * (64 / 4) * 9);
  spec.function.op = ops::Op::ConvTranspose;
  spec.operands[1] = tensor({64, 32, 2, 2});
  spec.results = {tensor({1, 32, 16, 16})};
  EXPECT_EQ(operations_of(spec), 2.0 * (64 * 8 * 8) * 32 * 4);
}

TEST(BenchTransformer, Has51OperationsInALayer) {
  ir::Arena arena;
  const ir::Graph graph = transformer(arena, 2);
  const auto order = ir::topological_order(arena, graph);
  EXPECT_EQ(std::count_if(order.begin(), order.end(), [&](ir::NodeId id) { return arena.node(id).kind == ir::NodeKind::operation; }),
            2 * 51);
}

}  // namespace
}  // namespace xflow::bench
