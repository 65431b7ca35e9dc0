#include "src/ir/work_graph.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "src/ir/constant.h"

namespace xflow::ir {
namespace {

// A value of operation 1 whose only operand a replacement makes a constant.
bool becomes_constant(bool at_run) {
  Arena source;
  const TensorType type{DataType::float32, true, {Poly(2)}};
  const ValueId x = source.input(type, 0);
  const ValueId y{source.operation(OperatorId{1}, {}, {x}, {type}, at_run), 0};
  WorkGraph graph(source, Graph{{y}});
  const NodeId copy = *graph.copy_of(y.node);
  const WorkGraph::Mark mark = graph.mark();
  const ValueId number = graph.arena().constant(*make_constant(DataType::float32, {2}, std::array{1.0, 1.0}));
  EXPECT_TRUE(graph.replace(std::vector<Replacement>{{graph.arena().node(copy).operands[0], number}}, mark));
  return graph.arena().node(copy).is_constant;
}

TEST(WorkGraph, OperationsOfConstantsAreConstantsUnlessTheyBelongToTheRun) {
  EXPECT_TRUE(becomes_constant(false));
  EXPECT_FALSE(becomes_constant(true)) << "nothing quantised is folded";
}

}  // namespace
}  // namespace xflow::ir
