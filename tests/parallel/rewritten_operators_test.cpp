// Operators of graphs that rewrites made.
#include "src/parallel/rewritten_operators.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/parallel/split_graphs.h"

namespace xflow::parallel {
namespace {

std::vector<std::size_t> sizes_of(const std::vector<OperatorSource>& operators) {
  std::vector<std::size_t> sizes;
  for (const OperatorSource& source : operators) sizes.push_back(source.operations.size());
  return sizes;
}

struct Layer {
  TestGraph graph;
  ValueId x = graph.input({4, 6});
  ValueId a = graph.apply("exp", {x});
  ValueId b = graph.apply("neg", {a});
  ValueId c = graph.apply("relu", {b});
  std::vector<OperatorSource> before = {{"First", "the first", {a.node, b.node}}, {"Second", "the second", {c.node}}};
};

TEST(RewrittenOperators, AreThoseOfAGraphThatStays) {
  Layer layer;
  const auto operators = rewritten_operators(layer.graph.arena, ir::Graph{{layer.c}}, {}, layer.before);
  EXPECT_EQ(sizes_of(operators), (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(operators[0].type, "First");
  EXPECT_EQ(operators[1].place, "the second");
}

// The operand changed; each operation of the first operator is there, on another operand.
TEST(RewrittenOperators, StayOneOnOtherOperands) {
  Layer layer;
  const ValueId other = layer.graph.apply("abs", {layer.x});
  const ValueId a = layer.graph.apply("exp", {other});
  const ValueId b = layer.graph.apply("neg", {a});
  const ValueId c = layer.graph.apply("relu", {b});
  const auto operators = rewritten_operators(layer.graph.arena, ir::Graph{{c}}, {{layer.a, a}, {layer.b, b}, {layer.c, c}}, layer.before);
  EXPECT_EQ(sizes_of(operators), (std::vector<std::size_t>{1, 2, 1}));
  EXPECT_EQ(operators[0].place, "a rewritten operation abs");
  EXPECT_EQ(operators[1].type, "First");
}

// An operator that lost an operation falls apart.
TEST(RewrittenOperators, WithoutAnOperationAreNone) {
  Layer layer;
  const ValueId c = layer.graph.apply("relu", {layer.a});
  const auto operators = rewritten_operators(layer.graph.arena, ir::Graph{{c}}, {{layer.b, layer.a}, {layer.c, c}}, layer.before);
  EXPECT_EQ(sizes_of(operators), (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(operators[0].type, "exp");
}

// exp and relu cannot be one operator if another operator reads one and is read by the other.
TEST(RewrittenOperators, ThatAnotherOneDividesAreNone) {
  Layer layer;
  const std::vector<OperatorSource> before = {{"Around", "around", {layer.a.node, layer.c.node}}, {"Neg", "between", {layer.b.node}}};
  const auto operators = rewritten_operators(layer.graph.arena, ir::Graph{{layer.c}}, {}, before);
  EXPECT_EQ(sizes_of(operators), (std::vector<std::size_t>{1, 1, 1}));
}

}  // namespace
}  // namespace xflow::parallel
