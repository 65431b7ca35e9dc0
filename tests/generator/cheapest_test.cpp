#include "src/egraph/cheapest.h"

#include <gtest/gtest.h>

#include <array>

#include "src/generator/rules/shapes.h"
#include "src/ops/operator.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

// Graphs of a signature and of an e-graph are compared.
TEST(Cheapest, WeighsAsSignaturesDo) {
  std::size_t choices = 0;
  for (const TensorKind kind : {TensorKind::matrix, TensorKind::image}) {
    const std::vector<std::string> operators =
        kind == TensorKind::matrix
            ? std::vector<std::string>{"add",    "add_axis",     "cast",       "clip", "concat", "copy",    "div",   "exp",      "expand",
                                       "matmul", "hard_sigmoid", "reduce_sum", "relu", "slice",  "softmax", "split", "transpose"}
            : std::vector<std::string>{"add",     "average_pool", "concat",   "conv", "depthwise_conv",
                                       "enlarge", "mul",          "max_pool", "relu", "split"};
    const GraphSignature u = GraphSignature::make({kind, operators, 3}).value();
    // Any leaves of which an operation can be made.
    for (std::size_t c = 0; c < u.choices().size(); ++c) {
      const auto choice = static_cast<ChoiceId>(c);
      const auto leaves = static_cast<std::uint8_t>(u.leaves().size());
      bool found = false;
      for (std::uint8_t a = 0; a < leaves && !found; ++a) {
        for (std::uint8_t b = 0; b < leaves && !found; ++b) {
          const std::size_t count = u.choice(choice).operands;
          const std::array<TypeId, 2> types = {u.leaves()[a].type, u.leaves()[b].type};
          if (u.type(choice, std::span(types).first(count)).empty()) continue;
          found = true;
          SmallGraphNode node{choice, {a}};
          if (count == 2) node.operands.push_back(b);
          const SmallGraph graph{{node}, {leaves}};
          Vocabulary vocabulary;
          const FlatEquation equation = GeneralShapes(u, {graph, graph}).concrete(vocabulary);
          EXPECT_EQ(weight_of(vocabulary, equation.inputs, equation.source), u.choice(choice).weight) << u.choice(choice).name;
        }
      }
      EXPECT_TRUE(found) << u.choice(choice).name;
      ++choices;
    }
  }
  EXPECT_EQ(choices, 34U);
}

class Small : public testing::Test {
 protected:
  Small() : graph_(vocabulary_) {}
  TypeRef square() { return vocabulary_.type({4, 4}); }
  TermId add(const char* op, std::vector<TermId> operands, const ir::Attributes& attributes = {}, std::uint32_t output = 0) {
    return graph_.add(vocabulary_.op(ops::id_of(op), attributes), output, operands, square());
  }
  bool within(std::vector<TermId> wanted, int most) { return has_graph_within(vocabulary_, graph_, wanted, most); }

  Vocabulary vocabulary_;
  EGraph graph_;
};

TEST_F(Small, CountsEachOperationOnce) {
  const TermId x = graph_.add_input(0, square());
  const TermId product = add("matmul", {x, x});
  const TermId sum = add("add", {product, product});
  EXPECT_TRUE(within({x}, 0));
  EXPECT_TRUE(within({sum}, 18));
  EXPECT_FALSE(within({sum}, 17));
  // The sum is part of both.
  const TermId relu = add("relu", {sum});
  EXPECT_TRUE(within({sum, relu}, 20));
  EXPECT_FALSE(within({sum, relu}, 19));
}

// x a and x b as parts of one product: both outputs of a split are one operation.
TEST_F(Small, SharesWhatIsEqual) {
  const TermId x = graph_.add_input(0, square());
  const TermId a = graph_.add_input(1, square());
  const TermId b = graph_.add_input(2, square());
  const TermId first = add("matmul", {x, a});
  const TermId second = add("matmul", {x, b});
  EXPECT_TRUE(within({first, second}, 32));
  EXPECT_FALSE(within({first, second}, 31));
  const TermId both = add("matmul", {x, add("concat", {a, b}, {{"axis", ir::Poly(1)}})});
  const ir::Attributes halves = {{"axis", ir::Poly(1)}, {"sizes", ir::polys(std::array<std::int64_t, 2>{4, 4})}};
  graph_.merge(first, add("split", {both}, halves, 0), 0);
  graph_.merge(second, add("split", {both}, halves, 1), 0);
  EXPECT_TRUE(within({first, second}, 18));
  EXPECT_FALSE(within({first, second}, 17));
  EXPECT_TRUE(within({first}, 16));
}

// relu(c) is nothing without c, although c is relu(c)^T.
TEST_F(Small, DoesNotGoInCircles) {
  const TermId x = graph_.add_input(0, square());
  const TermId product = add("matmul", {x, x});
  const TermId relu = add("relu", {product});
  graph_.merge(product, add("transpose", {relu}, {{"perm", ir::polys(std::array<std::int64_t, 2>{1, 0})}}), 0);
  EXPECT_FALSE(within({relu}, 17));
  EXPECT_TRUE(within({relu}, 18));
  EXPECT_FALSE(within({relu, product}, 17));
}

}  // namespace
}  // namespace xflow::generator
