// Every operator has a kernel on this CPU, it computes what the operator's index notation says, and allocates nothing while it runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "src/devices/cpu/cpu_device.h"
#include "src/eval/evaluate.h"
#include "src/kernels/kernel_graph.h"
#include "src/kernels/node_launch.h"
#include "src/ops/kernel_text.h"
#include "src/ops/operator.h"
#include "tests/devices/allocations.h"
#include "tests/eval/operator_samples.h"

namespace xflow::cost::cpu {
namespace {

using ir::DataType;
using xflow::testing::Operand;
using xflow::testing::Sample;
using xflow::testing::samples;
using xflow::testing::text_of;
using xflow::testing::values;

// Operators that never reach a device: they move and compute nothing.
const std::set<std::string> kWithoutKernels = {"dropout", "shape", "size", "identity", "reshape"};

TEST(CpuOperators, EachHasASampleOrNoKernel) {
  std::set<std::string> sampled;
  for (const Sample& sample : samples()) sampled.insert(sample.op);
  for (const ops::Operator& op : ops::all_operators()) {
    const std::string name(op.signature.name);
    EXPECT_NE(sampled.contains(name), kWithoutKernels.contains(name)) << name << ": add a sample of it to tests/eval/operator_samples.cpp";
  }
}

ir::Graph graph_of(const ir::Arena& arena, ir::NodeId node) {
  ir::Graph graph;
  for (std::uint32_t k = 0; k < arena.node(node).outputs.size(); ++k) graph.outputs.push_back({node, k});
  return graph;
}

void expect_results(CpuKernel& kernel, const std::vector<eval::Tensor>& expected) {
  SCOPED_TRACE(kernel.implementation());
  EXPECT_EQ(testing::allocations_of([&] { kernel.run(); }).own, 0U);
  for (std::size_t r = 0; r < expected.size(); ++r) {
    const auto found = kernel.read(r);
    ASSERT_TRUE(found) << found.error().text();
    const auto wanted = eval::doubles(expected[r]);
    ASSERT_TRUE(wanted);
    ASSERT_EQ(found->size(), wanted->size());
    const bool floating = ir::is_floating(expected[r].data_type);
    const double tolerance = !floating ? 0 : expected[r].data_type == DataType::float16 ? 2e-3 : 2e-5;
    for (std::size_t i = 0; i < found->size(); ++i)
      ASSERT_NEAR((*found)[i], (*wanted)[i], tolerance * (1 + std::abs((*wanted)[i]))) << "result " << r << ", element " << i;
  }
}

// How a kernel is built from its own text is how fallbacks find what it computes.
TEST(CpuOperators, AreFoundAgainFromTheirKernels) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(text_of(sample));
    ir::Arena arena;
    std::vector<ir::ValueId> operands;
    for (const Operand& operand : sample.operands)
      operands.push_back(arena.input({operand.type, true, ir::polys(operand.dims)}, static_cast<std::uint32_t>(operands.size())));
    ops::Typing typing(arena.symbols());
    const auto node = ops::apply(arena, typing, ops::id_of(sample.op), operands, sample.attributes);
    ASSERT_TRUE(node) << node.error().text();
    const auto spec = kernel_of(arena, *node, [](ir::SymbolId) { return std::nullopt; });
    ASSERT_TRUE(spec) << spec.error().text();
    ir::Arena other;
    const auto read = ops::parse_kernel(ops::to_string(spec->spec));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, spec->spec);
    if (spec->spec.is(ops::KernelFamily::none)) continue;
    const auto found = operation_of(other, *read);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(ops::get(other.node(*found).op).signature.name, sample.op);
    EXPECT_EQ(other.node(*found).outputs, arena.node(*node).outputs);
  }
}

TEST(CpuOperators, ComputeWhatTheirIndexNotationSays) {
  const auto device = open_cpu_device();
  ASSERT_TRUE(device);
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(text_of(sample));
    ir::Arena arena;
    std::vector<ir::ValueId> operands;
    eval::Bindings bindings;
    std::vector<std::vector<double>> inputs;
    for (std::size_t k = 0; k < sample.operands.size(); ++k) {
      const Operand& operand = sample.operands[k];
      operands.push_back(arena.input(ir::TensorType{operand.type, true, ir::polys(operand.dims)}, static_cast<std::uint32_t>(k)));
      inputs.push_back(values(operand, static_cast<unsigned>(k)));
      bindings.emplace(operands.back(), xflow::testing::tensor(operand, inputs.back()));
    }
    ops::Typing typing(arena.symbols());
    const auto node = ops::apply(arena, typing, ops::id_of(sample.op), operands, sample.attributes);
    EXPECT_TRUE(node) << node.error().text();
    if (!node) continue;
    const auto spec = kernel_of(arena, *node, [](ir::SymbolId) { return std::nullopt; });
    ASSERT_TRUE(spec) << spec.error().text();
    if (spec->spec.is(ops::KernelFamily::none)) continue;
    const ir::Graph graph = graph_of(arena, *node);
    const auto expected = eval::evaluate(arena, graph, bindings);
    ASSERT_TRUE(expected) << expected.error().text();
    for (const Layout layout : {Layout::plain, Layout::channels_last, Layout::blocked4}) {
      const bool asked = layout == Layout::plain || (*device)->works_in(spec->spec, layout);
      if (!asked) continue;
      SCOPED_TRACE(name(layout));
      auto kernels = (*device)->build(spec->spec, layout);
      if (!kernels) {
        ADD_FAILURE() << kernels.error().text();
        continue;
      }
      for (const auto& kernel : *kernels) {
        for (std::size_t k = 0; k < spec->operands.size(); ++k) {
          const auto place = static_cast<std::size_t>(std::ranges::find(operands, spec->operands[k]) - operands.begin());
          ASSERT_TRUE(kernel->write(k, inputs[place]));
        }
        expect_results(*kernel, *expected);
      }
    }
  }
}

}  // namespace
}  // namespace xflow::cost::cpu
