// Parts of graphs that are one kernel on some devices: attention. (Other composites: cost_model_test.cpp.)
#include "src/kernels/pattern.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/kernels/graph_test.h"

namespace xflow::cost {
namespace {

using ir::Poly;
using ir::ValueId;
using xflow::testing::graphs::list;

class AttentionTest : public xflow::testing::graphs::GraphTest {
 protected:
  // What a graph may do otherwise.
  struct Choice {
    std::string scale = "mul";  // "div", or "" for none
    bool number_first = false;
    std::string mask = "after";  // the scores, "before" them, or "" for none
    std::vector<std::int64_t> perm = {0, 2, 3, 1};
    std::int64_t axis = 3;
  };

  std::optional<Composite> find(const Choice& choice) {
    q_ = input({2, 3, 4, 4});
    k_ = input({2, 4, 3, 4});
    v_ = input({2, 3, 4, 4});
    mask_ = input({4, 4});
    ValueId scores = op("matmul", {q_, op("transpose", {k_}, {{"perm", list(choice.perm)}})});
    const ValueId number = arena.constant(ir::make_constant(ir::DataType::float32, {}, std::vector<double>{4}).value());
    if (!choice.scale.empty()) scores = op(choice.scale, choice.number_first ? std::vector{number, scores} : std::vector{scores, number});
    if (!choice.mask.empty()) scores = op("add", choice.mask == "before" ? std::vector{mask_, scores} : std::vector{scores, mask_});
    const ValueId exit = op("matmul", {op("softmax", {scores}, {{"axis", Poly(choice.axis)}}), v_});
    explored_.clear();
    return find_attention(arena, exit.node, &explored_);
  }

  ValueId q_, k_, v_, mask_;
  std::vector<ir::NodeId> explored_;
};

TEST_F(AttentionTest, IsFoundWhereverItsScaleAndItsMaskStand) {
  for (const char* mask : {"after", "before", ""}) {
    for (const bool number_first : {false, true}) {
      const auto found = find({"mul", number_first, mask, {0, 2, 3, 1}, 3});
      ASSERT_TRUE(found) << mask;
      EXPECT_EQ(found->family, ops::KernelFamily::attention);
      EXPECT_EQ(found->entry, q_);
      EXPECT_EQ(found->entry_uses, 1U);
      EXPECT_EQ(found->scale, 4);
      EXPECT_EQ(found->perm, (std::vector<std::int64_t>{0, 2, 3, 1}));
      std::vector<ValueId> parameters = {k_, v_};
      if (*mask != 0) parameters.push_back(mask_);
      EXPECT_EQ(found->parameters, parameters);
      EXPECT_EQ(found->inner.size(), *mask != 0 ? 5U : 4U);
      EXPECT_EQ(found->inner_uses, std::vector<std::size_t>(found->inner.size(), 1));
      EXPECT_EQ(std::set(explored_.begin(), explored_.end()).size(), found->inner.size() + 1) << "and the exit";
    }
  }
  EXPECT_EQ(find({"div"})->scale, 0.25);
  EXPECT_EQ(find({""})->scale, 1);
}

TEST_F(AttentionTest, IsNotFoundWhereItIsNone) {
  EXPECT_FALSE(find({"div", true})) << "a number is divided by the scores";
  EXPECT_FALSE(find({"mul", false, "after", {0, 2, 3, 1}, 2})) << "the softmax is along the rows";
  EXPECT_FALSE(find({"mul", false, "after", {0, 2, 1, 3}, 3})) << "the depth of the key is not its last dimension";
  EXPECT_FALSE(find({"sub"})) << "a difference is no product";
  const ValueId x = input({2, 3, 4, 4});
  EXPECT_FALSE(find_attention(arena, op("matmul", {x, x}).node));
  EXPECT_FALSE(find_attention(arena, op("matmul", {op("softmax", {op("matmul", {x, x})}, {{"axis", Poly(3)}}), x}).node))
      << "the key is not transposed";
}

}  // namespace
}  // namespace xflow::cost
