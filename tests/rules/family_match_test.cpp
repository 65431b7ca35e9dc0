#include "src/rules/family_match.h"

#include <algorithm>
#include <numeric>

#include "src/eval/evaluate.h"
#include "src/rules/apply.h"
#include "src/rules/verified_rules.h"
#include "tests/rules/rules_for_tests.h"
#include "tests/search/random_inputs.h"

namespace xflow::rules {
namespace {

using ir::ValueId;

constexpr const char* kProducts = R"(rule products-{n} for n in 2..
  with
    x: [M, K]
    a{i}: [K, N{i}]
  source
    y{i} = relu(matmul(x, a{i}))
  target
    y{1..n} = split(relu(matmul(x, concat(a{1..n}, axis: -1))), axis: -1, sizes: [N{1..n}])
)";
constexpr const char* kSums = R"(rule sums-{n} for n in 2..
  with
    x{i}: [M, N{i}]
    z{i}: [M, N{i}]
  source
    y{i} = x{i} + z{i}
  target
    y{1..n} = split(concat(x{1..n}, axis: -1) + concat(z{1..n}, axis: -1), axis: -1, sizes: [N{1..n}])
)";
constexpr const char* kParts = R"(rule parts-{n} for n in 2..
  source
    y{1..n} = split(x, axis: a, sizes: [s{1..n}])
    z{i} = tanh(y{i})
  target
    z{1..n} = split(tanh(x), axis: a, sizes: [s{1..n}])
)";

class FamilyMatch : public ::testing::Test {
 protected:
  ValueId input(std::vector<std::int64_t> dims) {
    return arena_.input({ir::DataType::float32, true, ir::polys(std::move(dims))}, serial_++);
  }
  ValueId weight(std::vector<std::int64_t> dims) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    std::vector<double> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), static_cast<double>(serial_++));
    for (double& value : values) value = value / 16 - 1;
    return arena_.constant(*ir::make_constant(ir::DataType::float32, std::move(dims), values));
  }
  ValueId op(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    return *ops::apply(arena_, name, std::move(operands), std::move(attributes));
  }
  std::vector<ValueId> split(ValueId x, std::vector<std::int64_t> sizes) {
    const std::size_t count = sizes.size();
    const ValueId first = op("split", {x}, {{"axis", ir::Poly(1)}, {"sizes", ir::polys(std::move(sizes))}});
    std::vector<ValueId> parts;
    for (std::size_t k = 0; k < count; ++k) parts.push_back({first.node, static_cast<std::uint32_t>(k)});
    return parts;
  }

  // The names of the members that occur in the graph, and what each application gives.
  std::vector<std::string> found(const char* text, std::vector<ValueId> outputs) {
    VerifiedRules rules({}, [](const Rule&) { return true; });
    EXPECT_TRUE(rules.add(text, "f"));
    const ir::Graph graph{std::move(outputs)};
    const ir::Uses uses(arena_, graph);
    std::vector<std::string> names;
    for (const ir::NodeId node : uses.order()) {
      rules.match_families(arena_, uses, node, {}, [&](Match& match) {
        const Rule& rule = match.pattern->rule();
        names.push_back(rule.name);
        const Rule* named = rules.find(rule.name);
        EXPECT_TRUE(named != nullptr && named->hash == rule.hash) << rule.name;
        auto replacements = apply(arena_, match);
        EXPECT_TRUE(replacements);
        const auto replaced = ir::replace(arena_, graph, *replacements);
        EXPECT_TRUE(replaced) << (replaced ? "" : replaced.error().text());
        if (replaced) expect_equal(graph, *replaced);
        return true;
      });
    }
    std::ranges::sort(names);
    return names;
  }

  void expect_equal(const ir::Graph& a, const ir::Graph& b) {
    const eval::Bindings inputs = bench::random_inputs(arena_, a);
    const auto before = eval::evaluate(arena_, a, inputs);
    const auto after = eval::evaluate(arena_, b, inputs);
    ASSERT_TRUE(before && after);
    ASSERT_EQ(before->size(), after->size());
    for (std::size_t k = 0; k < before->size(); ++k) {
      ASSERT_EQ((*before)[k].dims, (*after)[k].dims);
      const std::vector<double> x = *eval::doubles((*before)[k]);
      const std::vector<double> y = *eval::doubles((*after)[k]);
      for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(x[j], y[j], 1e-9);
    }
  }

  ir::Arena arena_;
  std::uint64_t serial_ = 0;
};

TEST_F(FamilyMatch, TakesAllSiblingsAtTheFirst) {
  const ValueId x = input({2, 3});
  std::vector<ValueId> outputs;
  for (const std::int64_t columns : {2, 1, 4, 3, 2}) outputs.push_back(op("relu", {op("matmul", {x, weight({3, columns})})}));
  outputs.push_back(op("tanh", {op("matmul", {x, weight({3, 2})})}));  // another function
  outputs.push_back(op("relu", {op("matmul", {input({2, 3}), weight({3, 2})})}));
  EXPECT_EQ(found(kProducts, outputs), std::vector<std::string>{"products-5"});
}

TEST_F(FamilyMatch, LeavesPairsOfConnectedSiblingsToTheRuleOfTwo) {
  const ValueId x = input({2, 3});
  const auto sibling = [&] { return op("relu", {op("matmul", {x, weight({3, 2})})}); };
  EXPECT_EQ(found(kProducts, {sibling(), sibling()}), std::vector<std::string>());
  EXPECT_EQ(found(kProducts, {sibling(), sibling(), sibling()}), std::vector<std::string>{"products-3"});
}

TEST_F(FamilyMatch, TakesThoseThatTheSameOperatorsRead) {
  const ValueId x = input({2, 3});
  std::vector<ValueId> siblings;
  for (int k = 0; k < 7; ++k) siblings.push_back(op("relu", {op("matmul", {x, weight({3, 2})})}));
  std::vector<ValueId> outputs;
  for (const std::size_t k : {0, 2, 4}) outputs.push_back(op("tanh", {siblings[k]}));
  for (const std::size_t k : {1, 3, 5, 6}) outputs.push_back(op("exp", {siblings[k]}));
  EXPECT_EQ(found(kProducts, outputs), (std::vector<std::string>{"products-3", "products-7"}));
}

TEST_F(FamilyMatch, TakesIndependentValuesOfOneDepthBeforeAll) {
  // The last sum depends on two others.
  const std::vector<ValueId> parts = split(input({2, 8}), {2, 2, 2, 2});
  const ValueId first = op("add", {parts[0], parts[1]});
  const ValueId second = op("add", {parts[2], parts[3]});
  const ValueId third = op("add", {parts[1], op("relu", {parts[2]})});
  EXPECT_EQ(found(kSums, {op("add", {first, second}), third}), (std::vector<std::string>{"sums-2", "sums-3"}));
}

TEST_F(FamilyMatch, DoesNotTakeValuesWithoutACommonOperand) {
  const auto sum = [&] { return op("add", {input({2, 2}), input({2, 2})}); };
  EXPECT_EQ(found(kSums, {sum(), sum()}), std::vector<std::string>());
}

TEST_F(FamilyMatch, DoesNotTakeValuesOfOtherShapes) {
  const std::vector<ValueId> parts = split(input({2, 6}), {2, 2, 2});
  const ValueId wide = op("add", {op("reshape", {parts[2]}, {{"shape", ir::polys(std::vector<std::int64_t>{1, 4})}}), input({1, 4})});
  EXPECT_EQ(found(kSums, {op("add", {parts[0], parts[1]}), wide}), std::vector<std::string>());
}

TEST_F(FamilyMatch, CountsTheOutputsOfASplit) {
  const std::vector<ValueId> parts = split(input({2, 8}), {1, 2, 1, 3, 1});
  std::vector<ValueId> all;
  for (const ValueId part : parts) all.push_back(op("tanh", {part}));
  EXPECT_EQ(found(kParts, all), std::vector<std::string>{"parts-5"});
  all.back() = op("relu", {parts.back()});
  EXPECT_EQ(found(kParts, all), std::vector<std::string>()) << "not all parts have the function";
}

TEST_F(FamilyMatch, TakesNoMemberThatIsARuleOfTheFile) {
  const std::vector<ValueId> parts = split(input({2, 6}), {1, 2, 3});
  EXPECT_EQ(found(kParts, {op("tanh", {parts[0]}), op("tanh", {parts[1]}), op("tanh", {parts[2]})}), std::vector<std::string>());
}

TEST_F(FamilyMatch, NeedsAllMembersOfTheFile) {
  VerifiedRules rules({}, [](const Rule&) { return true; });
  ASSERT_TRUE(rules.add(kParts, "f"));
  EXPECT_NE(rules.find("parts-9"), nullptr);
  EXPECT_EQ(rules.find("parts-1"), nullptr);
  EXPECT_EQ(rules.find("parts-09"), nullptr);
  EXPECT_EQ(rules.find("parts-257"), nullptr);
  ASSERT_TRUE(rules.skip("parts-3"));
  EXPECT_EQ(rules.find("parts-9"), nullptr) << "what holds for three is gone";
  EXPECT_NE(rules.find("parts-2"), nullptr);
}

TEST_F(FamilyMatch, NeedsAProofOfEachMemberOfTheFile) {
  VerifiedRules rules({}, [](const Rule& rule) { return rule.name != "parts-3"; });
  const auto added = rules.add(kParts, "f");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::not_proved);
  EXPECT_EQ(rules.find("parts-9"), nullptr);
}

TEST(OpenFamily, GivesItsMembersTheClassOfThree) {
  const auto rules = parsed(kProducts);
  ASSERT_EQ(rules.size(), 2U);
  for (const Rule& rule : rules) ASSERT_NE(rule.family, nullptr);
  const auto ten = rules[0].family->member(10);
  ASSERT_NE(ten, nullptr);
  EXPECT_EQ(ten->rule().name, "products-10");
  EXPECT_EQ(ten->rule().outputs.size(), 10U);
  EXPECT_EQ(ten->rule().float_class, rules[1].float_class);
  EXPECT_EQ(rules[0].family->member(10), ten) << "it is compiled once";
  EXPECT_EQ(rules[0].family->member(kMostOpenParts + 1), nullptr);
}

}  // namespace
}  // namespace xflow::rules
