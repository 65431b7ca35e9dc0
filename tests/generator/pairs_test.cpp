#include "src/generator/enumerate/pairs.h"

#include <gtest/gtest.h>

#include <array>

#include "src/generator/enumerate/enumerate.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

class Pairs : public testing::Test {
 protected:
  // Leaf 0 to 3 are square matrices; value(k) is the output of operation k where all have one.
  static std::uint8_t value(int k) { return static_cast<std::uint8_t>(signature().leaves().size() + static_cast<std::size_t>(k)); }
  static const GraphSignature& signature() {
    static const GraphSignature made =
        GraphSignature::make({TensorKind::matrix, {"add", "concat", "matmul", "relu", "transpose"}, 4}).value();
    return made;
  }
  static ChoiceId op(std::string_view name) { return choice(signature(), name); }
  static std::vector<std::uint64_t> values(const SmallGraph& graph) {
    static Evaluator evaluator(signature(), {.max_operators = 6});
    return evaluator.values(graph);
  }
  static RuleCandidate without_ends(RuleCandidate c) { return without_common_ends(signature(), std::move(c), values); }
};

// x0 x1; x0 x2 and, for want of a split, (x0 (x1 ++ x2)) twice.
TEST_F(Pairs, GainWhatTheyShare) {
  const GraphSignature& u = signature();
  const SmallGraph apart{{{op("matmul"), {0, 1}}, {op("matmul"), {0, 2}}}, {value(0), value(1)}};
  const SmallGraph together{{{op("concat 1"), {1, 2}}, {op("matmul"), {0, value(0)}}, {op("relu"), {value(1)}}}, {value(1), value(2)}};
  EXPECT_TRUE(can_gain_together(u, apart, together));
  EXPECT_FALSE(can_gain_together(u, together, apart));
  // No input in common.
  EXPECT_FALSE(can_gain_together(u, {{{op("matmul"), {0, 1}}, {op("matmul"), {3, 2}}}, {value(0), value(1)}}, together));
  // Cheaper, but nothing is computed together.
  const SmallGraph cheap{{{op("relu"), {0}}, {op("relu"), {1}}}, {value(0), value(1)}};
  EXPECT_LT(weight_of(u, cheap), weight_of(u, apart));
  EXPECT_FALSE(can_gain_together(u, apart, cheap));
}

TEST_F(Pairs, AreTwoRewritesWhereEachReadsWhatItHas) {
  const SmallGraph source{{{op("relu"), {0}}, {op("matmul"), {0, 1}}, {op("relu"), {1}}}, {value(0), value(1)}};
  const SmallGraph swapped{source.nodes, {value(1), value(2)}};
  EXPECT_TRUE(are_two_rewrites(signature(), {source, source}));
  EXPECT_TRUE(are_two_rewrites(signature(), {{source.nodes, {value(1), value(2)}}, swapped}));
  // The second output would have to read leaf 0, which it does not know.
  EXPECT_FALSE(are_two_rewrites(signature(), {{source.nodes, {value(1), value(2)}}, {source.nodes, {value(1), value(0)}}}));
}

// What is left is the end that differs: the sum stays, as without it both outputs were one.
TEST_F(Pairs, LoseCommonEnds) {
  const RuleCandidate found = without_ends(
      {{{{op("relu"), {0}}, {op("relu"), {value(0)}}, {op("relu"), {1}}, {op("add"), {value(1), value(2)}}, {op("matmul"), {3, value(3)}}},
        {value(0), value(4)}},
       {{{op("relu"), {0}}, {op("relu"), {1}}, {op("add"), {value(1), value(0)}}, {op("matmul"), {3, value(2)}}}, {value(0), value(3)}}});
  EXPECT_EQ(to_string(signature(), found.source), "relu(a0); add(relu(relu(a0)), relu(a1))");
  EXPECT_EQ(to_string(signature(), found.target), "relu(a0); add(relu(a0), relu(a1))");
}

TEST_F(Pairs, KeepEndsOfWhatIsNotTheSame) {
  const auto stays = [&](const RuleCandidate& c) { EXPECT_EQ(without_ends(c), c) << to_string(signature(), c.source); };
  // Other values below.
  stays({{{{op("relu"), {0}}, {op("add"), {0, 1}}, {op("transpose"), {value(1)}}}, {value(0), value(2)}},
         {{{op("relu"), {0}}, {op("add"), {0, 2}}, {op("transpose"), {value(1)}}}, {value(0), value(2)}}});
  // The outputs would have no input in common.
  stays({{{{op("relu"), {0}}, {op("relu"), {1}}, {op("relu"), {value(1)}}, {op("matmul"), {0, value(2)}}}, {value(0), value(3)}},
         {{{op("relu"), {0}}, {op("relu"), {1}}, {op("matmul"), {0, value(1)}}}, {value(0), value(2)}}});
  // The first output is made of the second.
  stays({{{{op("add"), {0, 1}}, {op("relu"), {value(0)}}, {op("relu"), {value(1)}}, {op("transpose"), {value(2)}}}, {value(3), value(2)}},
         {{{op("add"), {0, 1}}, {op("relu"), {value(0)}}, {op("transpose"), {value(1)}}}, {value(2), value(1)}}});
}

}  // namespace
}  // namespace xflow::generator
