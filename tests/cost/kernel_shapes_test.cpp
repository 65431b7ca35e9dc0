// A kernel is never made from shapes that contradict each other.
#include <gtest/gtest.h>

#include "src/cost/kernel_costs.h"
#include "src/kernels/kernel_graph.h"
#include "src/kernels/node_launch.h"
#include "src/ops/operator.h"
#include "tests/kernels/kernel_cases.h"
#include "tests/kernels/random_device.h"
#include "tests/ops/made_kernel.h"

namespace xflow::cost {
namespace {

using testing::KernelCase;
using testing::tensor_spec;

TEST(KernelShapes, OfEveryOperatorAreTaken) {
  for (const KernelCase& kernel : testing::operator_cases()) {
    const auto taken = check_shapes(kernel.spec);
    EXPECT_TRUE(taken) << taken.error().text();
  }
}

TEST(KernelShapes, AreRefusedWhereAResultHasAnotherSize) {
  std::size_t refused = 0;
  for (const KernelCase& kernel : testing::operator_cases()) {
    for (std::size_t k = 0; k < kernel.spec.results.size(); ++k) {
      for (std::size_t d = 0; d < kernel.spec.results[k].dims.size(); ++d) {
        ops::KernelSpec wrong = kernel.spec;
        ++wrong.results[k].dims[d];
        // The sizes of what only moves to another shape are attributes of the kernel.
        if (wrong.is(ops::KernelFamily::none)) continue;
        EXPECT_FALSE(check_shapes(wrong)) << ops::to_string(wrong);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100U);
}

TEST(KernelShapes, AreRefusedWhereAnOperandOfAStepDoesNotBroadcast) {
  ops::KernelSpec spec = ops::kernel_named("pointwise/relu");
  spec.operands = {tensor_spec({2, 8})};
  spec.results = {tensor_spec({2, 8})};
  spec.post = {ops::made_step("add", {}, {tensor_spec({8})})};
  EXPECT_TRUE(check_shapes(spec));
  spec.post[0].operands = {tensor_spec({16})};
  EXPECT_FALSE(check_shapes(spec));
  spec.post[0].operands = {tensor_spec({3, 2, 8})};  // it would make the result larger
  EXPECT_FALSE(check_shapes(spec));
}

TEST(KernelShapes, OfAReorderAreThoseOfItsOperand) {
  ops::KernelSpec spec = reorder_spec(tensor_spec({1, 8, 4, 4}), Layout::plain, Layout::channels_last);
  EXPECT_TRUE(check_shapes(spec));
  spec.results[0].dims[1] = 16;
  const auto refused = check_shapes(spec);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("expected a result with the sizes of the operand"), std::string::npos) << refused.error().text();
}

TEST(KernelShapes, ThatContradictEachOtherAreNotTimed) {
  RandomDevice device(1, RandomDevice::noisy);
  Database database = Database::open("", device.info(), {});
  KernelCosts costs(device, database);
  ops::KernelSpec spec = ops::kernel_named("copy", "concat");
  spec.operands = {tensor_spec({128, 4}), tensor_spec({8, 4})};
  spec.results = {tensor_spec({8, 8})};
  spec.integers = {{"axis", {1}}};
  const DatabaseEntry& entry = costs.of(spec, Layout::plain);
  EXPECT_NE(entry.ran.reason.find("cannot run copy:concat(float32[128,4], float32[8,4]) -> float32[8,8] axis=[1] here: "),
            std::string::npos)
      << entry.ran.reason;
  EXPECT_EQ(device.measured, 0);
}

// The size of what comes from an opaque node was assumed to be 128, and what it is concatenated with has 8.
TEST(KernelOfANode, IsRefusedWhereSizesContradictEachOther) {
  ir::Arena arena;
  const ir::Poly open(arena.symbols().fresh(ir::SymbolKind::dimension, "r"));
  const ir::TensorType type{ir::DataType::float32, true, {open, ir::Poly(4)}};
  const ir::ValueId x{arena.opaque(0, {}, {type}), 0};
  const ir::ValueId y = arena.input({ir::DataType::float32, true, {ir::Poly(8), ir::Poly(4)}}, 0);
  const auto z = ops::apply(arena, "concat", {x, y}, {{"axis", ir::Poly(1)}});
  ASSERT_TRUE(z) << z.error().text();
  const auto at = [&](std::int64_t size) { return kernel_of(arena, z->node, [size](ir::SymbolId) { return size; }); };
  EXPECT_TRUE(at(8));
  const auto refused = at(128);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(refused.error().message.rfind("cannot cost a graph whose sizes contradict each other: expected ", 0), 0U)
      << refused.error().text();
}

}  // namespace
}  // namespace xflow::cost
