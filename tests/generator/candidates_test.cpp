#include "src/generator/enumerate/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/generator/rules/minimize.h"
#include "src/generator/rules/rule_writer.h"
#include "src/rules/rule_parts.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

// What is found among matrices with these operators.
struct FoundCandidates {
  FoundCandidates(std::vector<std::string> operators, const EnumerationOptions& options)
      : signature(*GraphSignature::make({TensorKind::matrix, std::move(operators), 3})) {
    std::vector<Record> records;
    EXPECT_TRUE(enumerate(signature, options, 0, 1, [&](const Record& r) { records.push_back(r); }).has_value());
    const auto codec = GraphCodec::make(signature, options.max_operators);
    std::vector<Record> smaller;
    std::copy_if(records.begin(), records.end(), std::back_inserter(smaller),
                 [&](const Record& r) { return codec->operators(r.code) < options.max_operators; });
    Candidates finder(signature, options);
    finder.learn(smaller);
    const CandidateList list = in_order(signature, finder.find(records));
    candidates = list.part(0, list.size());
    counts = finder.counts();
  }
  std::set<std::string> texts() const {
    std::set<std::string> result;
    for (const RuleCandidate& c : candidates) result.insert(to_string(signature, c.source) + " = " + to_string(signature, c.target));
    return result;
  }
  bool mentions(std::string_view part) const {
    const std::set<std::string> all = texts();
    return std::any_of(all.begin(), all.end(), [&](const std::string& t) { return t.find(part) != std::string::npos; });
  }

  GraphSignature signature;
  std::vector<RuleCandidate> candidates;
  CandidateCounts counts;
};

TEST(Candidates, CompareWhatDependsOnNoInputWithConstants) {
  const FoundCandidates found({"add", "div", "one", "ones"}, {.max_operators = 2});
  EXPECT_TRUE(found.texts().contains("div(a0, a0) = c1"));
  for (const RuleCandidate& c : found.candidates) {
    // 1 / (x / x), (x / x) + y and (x / x) + 1 follow or say nothing.
    for (const SmallGraph* side : {&c.source, &c.target}) {
      for (std::size_t k = 0; k + 1 < side->nodes.size(); ++k) {
        const SmallGraphNode& n = side->nodes[k];
        EXPECT_FALSE(n.choice == choice(found.signature, "div") && n.operands[0] == n.operands[1]) << to_string(found.signature, *side);
      }
    }
    // Two sums of quotients, all of them 1, are not compared with each other.
    EXPECT_TRUE(c.target.nodes.empty() || !inputs_of(found.signature, c.target).empty()) << to_string(found.signature, c.target);
  }
}

TEST(Candidates, LeaveOutShapesThatOnlyAnInputGives) {
  const FoundCandidates found({"div", "mul", "reduce_sum"}, {.max_operators = 2});
  // z in the shape of x, which is x (z / x) or z (x / x).
  EXPECT_TRUE(found.texts().contains("mul(a1, div(a0, a1)) = a0"));
  EXPECT_GT(found.counts.idle, 0U);
  EXPECT_FALSE(found.mentions("mul(a0, div(b0, a0))"));
}

TEST(Candidates, ReadSumsWithIdentitiesInProductsAlone) {
  const FoundCandidates found({"add", "identity", "matmul", "transpose"}, {.max_operators = 2});
  EXPECT_TRUE(found.texts().contains("matmul(a0, add(a1, c0)) = add(a0, matmul(a0, a1))") ||
              found.texts().contains("matmul(a1, add(a0, c0)) = add(a1, matmul(a1, a0))"));
  EXPECT_GT(found.counts.in_vain, 0U);
  EXPECT_FALSE(found.mentions("transpose(add(a0, c0))"));
  EXPECT_FALSE(found.mentions("add(c0, transpose"));
}

// I z, where z has one number for each column, is a diagonal matrix: x (w + I z) = x w + x z.
TEST(Candidates, ReadSumsWithDiagonalsInProductsAlone) {
  const FoundCandidates found({"add", "identity", "matmul", "mul", "rows"}, {.max_operators = 3});
  EXPECT_TRUE(found.mentions("matmul(a0, add(a1, mul(b0, c0)))") || found.mentions("matmul(a1, add(a0, mul(b0, c0)))"));
  // A diagonal that no sum reads, a sum of two of them, and a product with a matrix.
  EXPECT_FALSE(found.mentions("matmul(a0, mul(b0, c0))"));
  EXPECT_FALSE(found.mentions("add(c0, mul(b0, c0))"));
  EXPECT_FALSE(found.mentions("mul(a0, c0)"));
}

// Where rows are constants, their sum costs nothing, so that another graph of the class is the target.
TEST(Candidates, PairWithWhatCostsLeastWhereParametersAreConstants) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"add", "rows"}, 2}).value();
  const EnumerationOptions options{.max_operators = 3};
  const auto codec = GraphCodec::make(u, options.max_operators);
  std::vector<Record> records;
  ASSERT_TRUE(enumerate(u, options, 0, 1, [&](const Record& r) { records.push_back(r); }).has_value());
  std::vector<Record> smaller;
  std::copy_if(records.begin(), records.end(), std::back_inserter(smaller),
               [&](const Record& r) { return codec->operators(r.code) < options.max_operators; });
  Candidates finder(u, options);
  finder.learn(smaller);
  std::vector<RuleCandidate> folded;
  finder.find(
      records, [](RuleCandidate /*candidate*/) {}, [&](RuleCandidate c) { folded.push_back(std::move(c)); });
  ASSERT_FALSE(folded.empty());
  for (const RuleCandidate& c : folded) {
    const Rank source = rank_with_constant_parameters(u, c.source, 0);
    const Rank target = rank_with_constant_parameters(u, c.target, 0);
    EXPECT_LT(std::pair(target.operators, target.weight), std::pair(source.operators, source.weight)) << to_string(u, c.source);
  }
  // One sum of two rows.
  const SmallGraph sum{{{choice(u, "add"), {2, 3}}}, {static_cast<std::uint8_t>(u.leaves().size())}};
  EXPECT_EQ(rank_with_constant_parameters(u, sum, 0).operators, 0U);
}

// The smallest graphs of each output apart; without the transpose that both sides end with, an output is read as well.
TEST(Candidates, OfTwoOutputsSayWhatTheyShare) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"concat", "relu", "split", "transpose"}, 3}).value();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const ChoiceId relu = choice(u, "relu");
  const ChoiceId concat = choice(u, "concat 0");
  const ChoiceId split = choice(u, "split 0");
  const ChoiceId t = choice(u, "transpose");
  const EnumerationOptions options{.max_operators = 4, .max_outputs = 2};
  Evaluator evaluator(u, options);
  Candidates finder(u, options);
  const auto learn = [&] {
    const auto codec = GraphCodec::make(u, options.max_operators);
    std::vector<Record> smaller;
    EXPECT_TRUE(enumerate(u, {.max_operators = 3}, 0, 1, [&](const Record& r) {
                  Record as_here = r;
                  as_here.code = codec->encode(GraphCodec::make(u, 3)->decode(r.code));
                  smaller.push_back(as_here);
                }).has_value());
    finder.learn(smaller);
  };
  learn();
  const auto find = [&](const SmallGraph& together) {
    std::vector<Record> records = {*evaluator.record(together)};
    return finder.find(records);
  };
  const SmallGraph together{{{concat, {0, 1}}, {relu, {n}}, {split, {next(1)}}, {t, {next(1)}}}, {next(2), next(4)}};
  const std::vector<RuleCandidate> found = find(together);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(to_string(u, found[0].source), "relu(a0); relu(concat 0(a0, a1))");
  EXPECT_EQ(to_string(u, found[0].target), "split 0(relu(concat 0(a0, a1))).0; relu(concat 0(a0, a1))");
  EXPECT_EQ(finder.counts().no_gain, 0U);
  // Apart there is nothing to compute; apart no input is read by both.
  const SmallGraph undone{{{concat, {0, 1}}, {split, {n}}}, {next(1), next(2)}};
  const SmallGraph unconnected{{{concat, {0, 1}}, {relu, {n}}, {relu, {next(1)}}, {split, {next(2)}}}, {next(3), next(4)}};
  for (const SmallGraph* graph : {&undone, &unconnected}) {
    EXPECT_TRUE(find(*graph).empty());
    EXPECT_EQ(finder.counts().pairs, 1U);
    EXPECT_EQ(finder.counts().no_gain, 1U);
  }
}

// What is kept of a candidate that says that these graphs are equal.
std::string kept_text(const FoundCandidates& found, const std::string& one, const std::string& other) {
  for (const RuleCandidate& c : found.candidates) {
    const std::set<std::string> sides = {to_string(found.signature, c.source), to_string(found.signature, c.target)};
    if (sides != std::set<std::string>{one, other}) continue;
    RuleCollector collector({}, {});
    EXPECT_TRUE(collector.collect(found.signature, 0, std::span(&c, 1)).has_value());
    EXPECT_EQ(collector.unproved(), std::vector<std::string>());
    return collector.kept().size() == 1 ? rules::print(collector.kept()[0].rule) : "not kept";
  }
  return "not found";
}

TEST(Collector, TakesNumbersForAnyScalars) {
  const FoundCandidates found({"add", "one", "transpose"}, {.max_operators = 2});
  EXPECT_EQ(kept_text(found, "transpose(add(a0, 1))", "add(1, transpose(a0))"), R"(# transpose((x + s)) = s + transpose(x)
rule transpose-of-add
  with
    x: [B.., M, K]
  source
    y = transpose(add(x, s), perm: [range(0, rank(B)), rank(B) + 1, rank(B)])
  target
    y = add(s, transpose(x, perm: [range(0, rank(B)), rank(B) + 1, rank(B)]))
  where
    scalar(s) and
    2 >= rank(B)
)");
}

// A number that is dropped stays a number: a variable might be infinite.
TEST(Collector, DropsNoScalars) {
  const FoundCandidates found({"add", "one", "softmax"}, {.max_operators = 2});
  EXPECT_EQ(kept_text(found, "softmax(add(a0, 1))", "softmax(a0)"), R"(# softmax((x + 1)) = softmax(x)
rule softmax-of-add
  with
    x: [B.., M, K]
  source
    y = softmax(add(x, 1), axis: -1)
  target
    y = softmax(x, axis: -1)
  where
    2 >= rank(B)
)");
}

TEST(Collector, LetsTensorsBeBroadcast) {
  const FoundCandidates found({"add", "reduce_sum", "transpose"}, {.max_operators = 3});
  EXPECT_EQ(kept_text(found, "add(transpose(a0), transpose(a1))", "transpose(add(a0, a1))"),
            R"(# transpose(x) + transpose(z) = transpose((x + z))
rule add-of-transpose-and-transpose
  with
    x: [B.., M?, K?]
    z: [B.., M?, K?]
  source
    y = add(transpose(x, perm: [range(0, rank(B)), rank(B) + 1, rank(B)]), transpose(z, perm: [range(0, rank(B)), rank(B) + 1, rank(B)]))
  target
    y = transpose(add(x, z), perm: [range(0, rank(B)), rank(B) + 1, rank(B)])
  where
    2 >= rank(B)
)");
}

// The sides differ where the matrices have different numbers of columns, which the enumerated ones have not.
TEST(Collector, TakesDimensionsForEqualWhereItMust) {
  const FoundCandidates found({"add", "concat", "one", "reduce_sum"}, {.max_operators = 3});
  EXPECT_EQ(kept_text(found, "reduce_sum(concat 1(a0, add(a1, 1)))", "reduce_sum(concat 1(a1, add(a0, 1)))"),
            R"(# reduce_sum(concat(x, (z + 1))) = reduce_sum(concat(z, (x + 1)))
rule reduce-sum-of-concat-and-add
  with
    x: [B.., M, K]
    z: [B.., M, K]
  source
    y = reduce_sum(concat(x, add(z, 1), axis: -1), axes: [-1])
  target
    y = reduce_sum(concat(z, add(x, 1), axis: -1), axes: [-1])
  where
    2 >= rank(B)
)");
}

TEST(Collector, DirectsRulesToWhatReadsLess) {
  const FoundCandidates found({"add", "reduce_sum", "softmax"}, {.max_operators = 2});
  EXPECT_EQ(kept_text(found, "softmax(add(a0, b0))", "softmax(a0)"), R"(# softmax((x + z)) = softmax(x)
rule softmax-of-add
  with
    x: [B.., M, K]
    z: [B.., M?, 1]
  source
    y = softmax(add(x, z), axis: -1)
  target
    y = softmax(x, axis: -1)
  where
    2 >= rank(B)
)");
}

TEST(Collector, FindsConstantsInSourcesAndPutsThemIntoTargets) {
  const FoundCandidates found({"div", "matmul", "ones", "reduce_sum"}, {.max_operators = 2});
  EXPECT_EQ(kept_text(found, "matmul(a0, c1)", "reduce_sum(a0)"), R"(# matmul(x, ones) = reduce_sum(x)
rule matmul
  with
    x: [B.., K, M]
  source
    y = matmul(x, ones(shape: [M, 1]))
  target
    y = reduce_sum(x, axes: [-1])
  where
    2 >= rank(B)
)");
  EXPECT_EQ(kept_text(found, "div(a0, a0)", "c0"), R"(# x / x = ones
rule div
  source
    y = div(x, x)
  target
    y = ones(shape: dims(x))
)");
}

// Where no rules that divide are used, what needs none is there.
TEST(Collector, DerivesWhatDoesNotDivideWithoutRulesThatDo) {
  const FoundCandidates found({"div", "mul", "one", "split"}, {.max_operators = 2});
  RuleCollector collector({}, {});
  ASSERT_TRUE(collector.collect(found.signature, 0, found.candidates).has_value());
  const auto equation = [&](const std::string& one, const std::string& other) {
    for (const RuleCandidate& c : found.candidates)
      if (std::set<std::string>{to_string(found.signature, c.source), to_string(found.signature, c.target)} ==
          std::set<std::string>{one, other})
        return GeneralShapes(found.signature, c).concrete(collector.deriver().vocabulary());
    ADD_FAILURE() << "no candidate " << one << " = " << other;
    return FlatEquation();
  };
  collector.deriver().use_special(false);
  EXPECT_TRUE(collector.deriver().derive(equation("mul(a2, mul(a0, a1))", "mul(a0, mul(a1, a2))"), {}).derived);
  EXPECT_FALSE(collector.deriver().derive(equation("mul(a1, div(a0, a1))", "a0"), {}).derived);
  collector.deriver().use_special(true);
  EXPECT_TRUE(collector.deriver().derive(equation("mul(a1, div(a0, a1))", "a0"), {}).derived);
}

// Numbers become scalars in rules of images too, with other names than attributes have.
TEST(Collector, TakesNumbersBesideImagesForAnyScalars) {
  const GraphSignature u = GraphSignature::make({TensorKind::image, {"conv", "half", "mul"}, 1}).value();
  RuleCollector collector({}, {});
  ASSERT_TRUE(collector.collect(u, 0, candidates_up_to(2, u)).has_value());
  const bool found = std::any_of(collector.kept().begin(), collector.kept().end(), [](const KeptRule& k) {
    const std::string text = rules::print(k.rule);
    return text.find("scalar(t)") != std::string::npos && text.find("strides: s, pads: p, dilations: d, groups: g") != std::string::npos;
  });
  EXPECT_TRUE(found);
}

// A scalar times a bias is no kernel: with groups too, only numbers beside an identity are reshaped.
TEST(Generalisations, ScaleBiasesOfConvolutionsWithGroups) {
  const GraphSignature u = GraphSignature::make({TensorKind::image, {"add", "channels", "conv", "half", "mul"}, 1}).value();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const auto bias = static_cast<std::uint8_t>(u.group_begins()[1]);
  const auto kernel = static_cast<std::uint8_t>(u.group_begins()[2]);
  const auto half = static_cast<std::uint8_t>(u.inputs());
  const ChoiceId conv = choice(u, "conv 3x3");
  const ChoiceId add = choice(u, "add");
  const ChoiceId mul = choice(u, "mul");
  const RuleCandidate c{{{{conv, {0, kernel}}, {add, {bias, n}}, {mul, {half, next(1)}}}, {next(2)}},
                        {{{mul, {bias, half}}, {mul, {kernel, half}}, {conv, {0, next(1)}}, {add, {n, next(2)}}}, {next(3)}}};
  const rules::Rule first = *rules::checked(write_rule(u, c, "scaled").front().rule);
  EXPECT_NE(rules::print(first).find("groups: g"), std::string::npos);
  EXPECT_EQ(verifier::decide(first).verdict, verifier::Verdict::proved) << rules::print(first);
}

// A row with any number of leading ones is a column after a reshape; only of a matrix a transpose makes one.
TEST(Generalisations, MakeColumnsOfRowsByReshapes) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"matmul", "mul", "rows", "transpose"}, 2}).value();
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const std::uint8_t row = 2;
  const ChoiceId mul = choice(u, "mul");
  const ChoiceId matmul = choice(u, "matmul");
  const RuleCandidate c{{{{mul, {0, row}}, {matmul, {n, 1}}}, {next(1)}},
                        {{{choice(u, "transpose"), {row}}, {mul, {1, n}}, {matmul, {0, next(1)}}}, {next(2)}}};
  const std::vector<WrittenRule> forms = write_rule(u, c, "scaled-operand");
  ASSERT_FALSE(forms.empty());
  const rules::Rule first = *rules::checked(forms.front().rule);
  EXPECT_EQ(rules::print(first), R"(# matmul((x * z), u) = matmul(x, (u * transpose(z)))
rule scaled-operand
  with
    x: [B.., K, M]
    z: [1^L, M]
    u: [C.., M, N]
  source
    y = matmul(mul(x, z), u)
  target
    y = matmul(x, mul(u, reshape(z, shape: [M, 1])))
  where
    2 >= rank(B) and
    2 >= rank(C) and
    1 >= rank(L)
)");
  EXPECT_EQ(verifier::decide(first).verdict, verifier::Verdict::proved);
}

}  // namespace
}  // namespace xflow::generator
