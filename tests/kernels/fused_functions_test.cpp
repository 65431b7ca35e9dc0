// Every row of the table of fused functions is a kernel, and a name without a row is an error.
#include "src/ops/fused_functions.h"

#include <gtest/gtest.h>

#include "src/ir/work_graph.h"
#include "src/kernels/device.h"
#include "src/kernels/kernel_graph.h"
#include "src/kernels/kernel_source.h"
#include "src/kernels/pattern.h"
#include "src/ops/kernel_text.h"
#include "tests/kernels/graph_test.h"

namespace xflow::cost {
namespace {

using ir::ValueId;
using xflow::testing::graphs::GraphTest;

ops::KernelSpec parsed(const std::string& text) {
  auto spec = ops::parse_kernel(text);
  EXPECT_TRUE(spec) << spec.error().text();
  return spec ? *std::move(spec) : ops::KernelSpec{};
}

std::string refusal(const std::string& text) {
  const auto checked = check_shapes(parsed(text));
  return checked ? "" : checked.error().text();
}

TEST(FusedFunctionKernels, AreThereForEveryRow) {
  for (const ops::FusedFunction& function : ops::fused_functions()) {
    SCOPED_TRACE(function.name);
    const std::string name(function.name);
    const bool has_reals = ops::real_count(function) > 0;
    const std::string reals = ops::real_count(function) == 2 ? "{0.25,0.5}" : has_reals ? "{0.25}" : "";
    const std::string after = "matmul(float32[3,4], float32[4,5]) -> float32[3,5] | " + name + reals;
    EXPECT_EQ(refusal(after), "");
    EXPECT_TRUE(kernel_source(parsed(after), "k"));
    if (has_reals || name == "identity") continue;  // the names of attributes are in the text; an identity is no kernel
    const std::string alone = "pointwise/" + name + "(float32[3,5]) -> float32[3,5]";
    EXPECT_EQ(refusal(alone), "");
    EXPECT_TRUE(kernel_source(parsed(alone), "k"));
  }
}

TEST(FusedFunctionKernels, AreErrorsWhereTheirNameIsInNoTable) {
  EXPECT_EQ(refusal("pointwise/swoosh(float32[3]) -> float32[3]"),
            "cannot run pointwise/swoosh(float32[3]) -> float32[3] here: 'swoosh' is neither an operator nor a fused function");
  EXPECT_EQ(
      refusal("matmul(float32[3,4], float32[4,5]) -> float32[3,5] | swoosh"),
      "cannot run matmul(float32[3,4], float32[4,5]) -> float32[3,5] | swoosh here: 'swoosh' is neither an operator nor a fused function");
  EXPECT_EQ(refusal("pointwise/swish:x;x;sigmoid;mull(float32[3]) -> float32[3]"),
            "cannot run pointwise/swish:x;x;sigmoid;mull(float32[3]) -> float32[3] here: "
            "'x;x;sigmoid;mull' is not a graph of a function: no operator or fused function 'mull'");
  EXPECT_EQ(refusal("pointwise/relu(float32[3]) -> float32[3] | swish(float32[3])"),
            "cannot run pointwise/relu(float32[3]) -> float32[3] | swish(float32[3]) here: 'swish' has 1 operand, found 2");
}

class FusedFunctionPattern : public GraphTest {
 protected:
  // The function that the graph of `function` is found as; each as its row has it.
  std::string found(const ops::FusedFunction& function) {
    const ValueId x = input({3, 4});
    const ops::FusedGraph graph = ops::graph_of_function({.fused = function.id}).value();
    const ValueId y = ops::apply_fused_graph(arena, graph, std::span(&x, 1)).value();
    const ir::WorkGraph work(arena, ir::Graph{{y}});
    const auto composite = find_composite(work.arena(), work, work.outputs()[0].node);
    if (!composite) return "";
    EXPECT_EQ(composite->entry.node, work.copy_of(x.node));
    EXPECT_EQ(composite->family, ops::KernelFamily::pointwise);
    return std::string(ops::function_name(composite->function)) + ":" + composite->function.graph;
  }
};

TEST_F(FusedFunctionPattern, FindsTheGraphOfEveryRow) {
  for (const ops::FusedFunction& function : ops::fused_functions()) {
    if (function.is_operator()) continue;
    const ops::FusedGraph graph = ops::graph_of_function({.fused = function.id}).value();
    const bool is_looked_for = !ops::unary_operators(graph).empty();
    const std::string kernel = found(function);
    EXPECT_EQ(kernel.substr(0, kernel.find(':')), is_looked_for ? function.name : "") << function.name;
  }
  EXPECT_EQ(found(*ops::find_function("hard_swish")), "hard_swish:x;x;hard_sigmoid~0.16666667~0.5;mul");
  EXPECT_EQ(found(*ops::find_function("square")), "") << "a power";
}

}  // namespace
}  // namespace xflow::cost
