// The shipped rules together: blocks of known networks become what they are known to be.
#include <algorithm>
#include <map>
#include <set>

#include "src/rules/apply.h"
#include "src/rules/verified_rules.h"
#include "tests/places.h"
#include "tests/rules/rules_for_tests.h"

namespace xflow::rules {
namespace {

using ir::DataType;
using ir::Poly;
using ir::ValueId;

class Collapse : public ::testing::Test {
 protected:
  static const VerifiedRules& rules() {
    static const VerifiedRules set = [] {
      VerifiedRules all({}, [](const Rule&) { return true; });
      const auto added = all.add_path(places::repository() + "/substitutions");
      EXPECT_TRUE(added) << (added ? "" : added.error().text());
      return all;
    }();
    return set;
  }
  ValueId input(ir::Shape shape) { return arena_.input({DataType::float32, true, std::move(shape)}, serial_++); }
  // A constant whose elements nobody looks at.
  ValueId weight(std::vector<std::int64_t> dims) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    const std::vector<double> values(count, 0.125 * ++seed_);
    return arena_.constant(*ir::make_constant(DataType::float32, std::move(dims), values));
  }
  ValueId number(double value) { return arena_.constant(*ir::make_constant(DataType::float32, {}, std::span(&value, 1))); }
  ValueId op(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    auto value = ops::apply(arena_, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << (value ? "" : value.error().text());
    return *value;
  }
  ValueId conv(ValueId x, ValueId w, std::int64_t stride, std::int64_t pad, std::int64_t groups = 1) {
    return op("conv", {x, w},
              {{"strides", ir::polys(std::vector<std::int64_t>{stride, stride})},
               {"pads", ir::polys(std::vector<std::int64_t>{pad, pad, pad, pad})},
               {"dilations", ir::polys(std::vector<std::int64_t>{1, 1})},
               {"groups", Poly(groups)}});
  }
  // As batch normalisation is lifted: x s + t with s and t of shape [C, 1, 1].
  ValueId normalised(ValueId x, std::int64_t channels) {
    return op("add", {op("mul", {x, weight({channels, 1, 1})}), weight({channels, 1, 1})});
  }

  // The names of the operations that are not computed from constants, sorted.
  std::string operations(const ir::Graph& graph) const {
    std::multiset<std::string> names;
    const ir::Uses uses(arena_, graph);
    for (const ir::NodeId id : uses.order()) {
      const ir::Node& node = arena_.node(id);
      if (node.kind == ir::NodeKind::operation && !node.is_constant) names.insert(std::string(ops::get(node.op).signature.name));
    }
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
  }

  // Best first by the number of operations, where no step has more than the one before. Returns the operations of the best graph.
  std::string collapsed(const ir::Graph& start, std::size_t budget = 2000) {
    const auto size = [&](const ir::Graph& graph) {
      const std::string text = operations(graph);
      return std::count(text.begin(), text.end(), ' ');
    };
    std::multimap<std::ptrdiff_t, ir::Graph> open;
    std::set<std::vector<ValueId>> seen = {start.outputs};
    ir::Graph best = start;
    open.emplace(size(start), start);
    for (std::size_t state = 0; state < budget && !open.empty(); ++state) {
      const ir::Graph graph = open.begin()->second;
      const std::ptrdiff_t cost = open.begin()->first;
      open.erase(open.begin());
      if (cost < size(best)) best = graph;
      const ir::Uses uses(arena_, graph);
      for (const ir::NodeId node : uses.order()) {
        rules().match(arena_, uses, node, {}, [&](RuleId, Match& match) {
          auto replacements = apply(arena_, match);
          if (!replacements) return true;
          const auto next = ir::replace(arena_, graph, *replacements);
          if (next && size(*next) <= cost && seen.insert(next->outputs).second) open.emplace(size(*next), *next);
          return true;
        });
      }
    }
    return operations(best);
  }

  ir::Arena arena_;
  std::uint32_t serial_ = 0;
  int seed_ = 0;
};

TEST_F(Collapse, BatchNormalisationBehindAConvolution) {
  const ValueId x = input({arena_.symbols().named(ir::SymbolKind::dimension, "N"), 3, 32, 32});
  EXPECT_EQ(collapsed({{op("relu", {normalised(conv(x, weight({8, 3, 3, 3}), 2, 1), 8)})}}), "add conv relu");
}

TEST_F(Collapse, BatchNormalisationBehindABiasedConvolution) {
  const ValueId x = input({1, 3, 32, 32});
  const ValueId biased = op("add", {conv(x, weight({8, 3, 3, 3}), 1, 1), weight({1, 8, 1, 1})});
  EXPECT_EQ(collapsed({{normalised(biased, 8)}}), "add conv");
}

TEST_F(Collapse, RepVggBlock) {
  const ValueId x = input({1, 16, 24, 24});
  const ValueId three = normalised(conv(x, weight({16, 16, 3, 3}), 1, 1), 16);
  const ValueId one = normalised(conv(x, weight({16, 16, 1, 1}), 1, 0), 16);
  EXPECT_EQ(collapsed({{op("relu", {op("add", {op("add", {three, one}), normalised(x, 16)})})}}), "add conv relu");
  // In another order, and without the identity where the stride is 2.
  EXPECT_EQ(collapsed({{op("relu", {op("add", {op("add", {normalised(x, 16), one}), three})})}}), "add conv relu");
  const ValueId strided = normalised(conv(x, weight({32, 16, 3, 3}), 2, 1), 32);
  const ValueId strided_one = normalised(conv(x, weight({32, 16, 1, 1}), 2, 0), 32);
  EXPECT_EQ(collapsed({{op("relu", {op("add", {strided, strided_one})})}}), "add conv relu");
}

TEST_F(Collapse, RepVggBlockWithGroups) {
  const ValueId x = input({1, 16, 24, 24});
  const ValueId three = normalised(conv(x, weight({16, 4, 3, 3}), 1, 1, 4), 16);
  const ValueId one = normalised(conv(x, weight({16, 4, 1, 1}), 1, 0, 4), 16);
  EXPECT_EQ(collapsed({{op("relu", {op("add", {op("add", {three, one}), normalised(x, 16)})})}}), "add conv relu");
}

TEST_F(Collapse, MobileOneBlock) {
  // Depthwise: several 3x3 branches, one 1x1 branch and the identity; then the same with 1x1 convolutions.
  const ValueId x = input({1, 16, 24, 24});
  ValueId sum = normalised(x, 16);
  for (int k = 0; k < 4; ++k) sum = op("add", {sum, normalised(conv(x, weight({16, 1, 3, 3}), 1, 1, 16), 16)});
  sum = op("add", {sum, normalised(conv(x, weight({16, 1, 1, 1}), 1, 0, 16), 16)});
  EXPECT_EQ(collapsed({{op("relu", {sum})}}), "add conv relu");
}

TEST_F(Collapse, HardSwish) {
  const ValueId x = input({1, 16, 24, 24});
  const ValueId clipped = op("clip", {op("add", {x, number(3)})}, {{"min", ir::Real(0)}, {"max", ir::Real(6)}});
  EXPECT_EQ(collapsed({{op("div", {op("mul", {x, clipped}), number(6)})}}), "hard_sigmoid mul");
  EXPECT_EQ(collapsed({{op("mul", {op("mul", {clipped, x}), number(1.0 / 6)})}}), "hard_sigmoid mul");
  EXPECT_EQ(collapsed({{op("mul", {x, op("div", {clipped, number(6)})})}}), "hard_sigmoid mul");
}

TEST_F(Collapse, NumbersAroundBiasedConvolutions) {
  // As in a text detector: scale and shift by numbers on both sides of a 1x1 convolution with bias.
  const ValueId x = input({1, 16, 24, 24});
  const auto scaled = [&](ValueId v) { return op("add", {op("mul", {weight({1}), v}), weight({1})}); };
  const ValueId biased = op("add", {conv(scaled(op("relu", {x})), weight({32, 16, 1, 1}), 1, 0), weight({32, 1, 1})});
  EXPECT_EQ(collapsed({{scaled(biased)}}), "add conv relu");
  // Before padding the shift stays, the scale does not.
  const ValueId padded = op("add", {conv(scaled(op("relu", {x})), weight({16, 1, 3, 3}), 2, 1, 16), weight({16, 1, 1})});
  EXPECT_EQ(collapsed({{scaled(padded)}}), "add add conv relu");
}

TEST_F(Collapse, QueryKeyAndValue) {
  const ValueId x = input({2, 7, 8});
  const ValueId q = op("matmul", {x, weight({8, 8})});
  const ValueId k = op("matmul", {x, weight({8, 8})});
  const ValueId v = op("matmul", {x, weight({8, 8})});
  EXPECT_EQ(collapsed({{op("relu", {q}), op("tanh", {k}), op("sigmoid", {v})}}), "matmul relu sigmoid split tanh");
}

TEST(ShippedRules, PrintAndParseBack) {
  const auto files = rule_files(places::repository() + "/substitutions");
  ASSERT_TRUE(files);
  std::size_t count = 0;
  for (const std::string& file : *files) {
    const auto text = read_rule_file(file);
    ASSERT_TRUE(text);
    for (const Rule& rule : parsed(*text)) {
      ++count;
      EXPECT_FALSE(rule.comment.empty()) << rule.name << " says no equation";
      const std::string printed = print(rule);
      const auto reparsed = parse_rules(printed, file);
      ASSERT_TRUE(reparsed) << reparsed.error().text();
      EXPECT_EQ(print(reparsed->at(0)), printed);
      EXPECT_EQ(reparsed->at(0).hash, rule.hash);
    }
  }
  EXPECT_GE(count, 40U);
}

}  // namespace
}  // namespace xflow::rules
