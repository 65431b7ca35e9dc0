#include "src/generator/rules/derive.h"

#include <gtest/gtest.h>

#include <array>
#include <memory_resource>

#include "src/generator/rules/minimize.h"
#include "src/generator/rules/rule_writer.h"
#include "src/generator/rules/shapes.h"
#include "src/ops/operator.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

GraphSignature matrices(std::vector<std::string> operators) {
  auto made = GraphSignature::make({TensorKind::matrix, std::move(operators), 4});
  EXPECT_TRUE(made.has_value()) << made.error().text();
  return *std::move(made);
}

const char* kAssociativity = R"(rule associative
  with
    x: [B.., M, K]
    a: [C.., K, L]
    b: [D.., L, N]
  source
    y = matmul(matmul(x, a), b)
  target
    y = matmul(x, matmul(a, b))
  where rank(B) <= 1 and rank(C) <= 1 and rank(D) <= 1
)";

// ((a b) c) d = a (b (c d)): leaves 0 to 3 of the signature are square matrices.
RuleCandidate chain(const GraphSignature& u) {
  const ChoiceId m = choice(u, "matmul");
  const auto first = static_cast<std::uint8_t>(u.leaves().size());
  const auto second = static_cast<std::uint8_t>(first + 1);
  const auto third = static_cast<std::uint8_t>(first + 2);
  return {{{{m, {0, 1}}, {m, {first, 2}}, {m, {second, 3}}}, {third}}, {{{m, {2, 3}}, {m, {1, first}}, {m, {0, second}}}, {third}}};
}

TEST(Deriver, AppliesRulesInSeveralSteps) {
  const GraphSignature u = matrices({"matmul"});
  Deriver deriver;
  const FlatEquation equation = GeneralShapes(u, chain(u)).concrete(deriver.vocabulary());
  EXPECT_FALSE(deriver.derive(equation, {}).derived);
  const auto added = deriver.add(rule(kAssociativity));
  ASSERT_TRUE(added.has_value()) << added.error().text();
  const Deriver::Answer answer = deriver.derive(equation, {}, Goal::equal, true);
  EXPECT_TRUE(answer.derived);
  EXPECT_EQ(answer.rules, (std::vector<std::size_t>{*added}));
  EXPECT_GE(answer.steps.size(), 2U);
  EXPECT_EQ(answer.steps.front().from.substr(0, 7), "matmul(");
  EXPECT_TRUE(deriver.derives(equation, {}));
  // A rule that is switched off is not used.
  deriver.enable(*added, false);
  EXPECT_FALSE(deriver.derive(equation, {}).derived);
  EXPECT_FALSE(deriver.derives(equation, {}));
}

// An operation has the attributes that the IR gives it, whether it was asked for before or not.
TEST(Vocabulary, GivesOperationsTheDefaultsOfTheirAttributes) {
  Vocabulary vocabulary;
  const std::array operands = {vocabulary.type({1, 4, 5, 5}), vocabulary.type({4, 1, 3, 3})};
  const ir::Attributes written{{"groups", ir::Poly(4)}};
  const OpRef first = vocabulary.op_on(ops::id_of("conv"), written, operands);
  EXPECT_EQ(vocabulary.op_on(ops::id_of("conv"), written, operands), first);
  EXPECT_EQ(vocabulary.attributes(first).integer("groups"), ir::Poly(4));
  EXPECT_NE(vocabulary.attributes(first), written);
  for (const auto& a : ops::get(ops::id_of("conv")).signature.attributes) EXPECT_TRUE(vocabulary.attributes(first).has(a.name)) << a.name;
  const std::array more = {vocabulary.type({1, 8, 5, 5}), vocabulary.type({8, 1, 3, 3})};
  EXPECT_NE(vocabulary.op_on(ops::id_of("conv"), {{"groups", ir::Poly(8)}}, more), first);
  EXPECT_EQ(vocabulary.op_on(ops::id_of("conv"), written, operands), first);
}

// Memory of the caller changes nothing.
TEST(EGraph, TakesMemoryThatIsGiven) {
  Vocabulary vocabulary;
  const TypeRef type = vocabulary.type({2, 3});
  const OpRef add = vocabulary.op_on(ops::id_of("add"), {}, std::array{type, type});
  const OpRef relu = vocabulary.op_on(ops::id_of("relu"), {}, std::array{type});
  std::pmr::monotonic_buffer_resource memory;
  for (std::pmr::memory_resource* m : {std::pmr::get_default_resource(), static_cast<std::pmr::memory_resource*>(&memory)}) {
    EGraph graph(vocabulary, m);
    const TermId x = graph.add_input(0, type);
    const TermId y = graph.add_input(1, type);
    const TermId of_x = graph.add(relu, 0, std::array{x}, type);
    const TermId of_y = graph.add(relu, 0, std::array{y}, type);
    const TermId sum = graph.add(add, 0, std::array{of_y, of_x}, type);
    EXPECT_EQ(graph.add(add, 0, std::array{of_x, of_y}, type), sum);
    graph.merge(x, y, 7);
    EXPECT_TRUE(graph.equal(of_x, of_y));
    EXPECT_EQ(graph.members(of_y).size(), 2U);
    const std::vector<Equality> steps = graph.explain(of_x, of_y);
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_EQ(steps[0].reason, 7);
    EXPECT_EQ(steps[1].reason, Equality::kCongruence);
  }
}

// Rules make operations while a graph is searched, and the graph goes on knowing its numbers.
TEST(EGraph, KeepsNumbersWhileOperationsAreAdded) {
  Vocabulary vocabulary;
  EGraph graph(vocabulary);
  const std::vector<std::int64_t> number;
  const OpRef op = vocabulary.filled(number, *ir::Rational::make(1, 2));
  const TermId half = graph.add(op, 0, {}, vocabulary.type(number));
  for (std::int64_t k = 0; k < 1000; ++k) (void)vocabulary.filled({k + 1}, ir::Rational(k));
  ASSERT_EQ(graph.number(half), &*vocabulary.fills(op));
  EXPECT_EQ(*graph.number(half), *ir::Rational::make(1, 2));
}

TEST(Deriver, GivesUnequalMatricesUnequalSizes) {
  const GraphSignature u = matrices({"matmul"});
  Deriver deriver;
  const FlatEquation equation = GeneralShapes(u, chain(u)).concrete(deriver.vocabulary());
  std::vector<std::vector<std::int64_t>> shapes;
  for (const TypeRef t : equation.inputs) shapes.push_back(deriver.vocabulary().dims(t));
  ASSERT_EQ(shapes.size(), 4U);
  for (std::size_t k = 0; k + 1 < shapes.size(); ++k) {
    EXPECT_EQ(shapes[k][1], shapes[k + 1][0]);
    EXPECT_NE(shapes[k][0], shapes[k][1]);
  }
}

// What a rule makes is remembered by what it was applied to: the shapes of numbers are part of that.
TEST(Deriver, TellsNumbersOfDifferentShapesApart) {
  Deriver deriver;
  ASSERT_TRUE(deriver.add(rule("rule r\n  source\n    y = mul(x, 1)\n  target\n    y = x\n")).has_value());
  Vocabulary& v = deriver.vocabulary();
  const TypeRef column = v.type({4, 1});
  const OpRef mul = v.op(ops::id_of("mul"), {});
  const OpRef relu = v.op(ops::id_of("relu"), {});
  // relu(x * ones) = relu(x) for ones of some shape.
  const auto equation = [&](const std::vector<std::int64_t>& ones) {
    const OpRef filled = v.filled(ones, 1);
    const TypeRef type = ones.empty() ? column : v.type(ones);
    FlatEquation e;
    e.inputs = {column};
    e.source.nodes = {{filled, {}, {v.type(ones)}}, {mul, {flat_input(0), FlatValue{0, 0}}, {type}}, {relu, {FlatValue{1, 0}}, {type}}};
    e.source.outputs = {FlatValue{2, 0}};
    e.target.nodes = {{relu, {flat_input(0)}, {column}}};
    e.target.outputs = {FlatValue{0, 0}};
    return e;
  };
  EXPECT_TRUE(deriver.derive(equation({}), {}).derived);
  EXPECT_TRUE(deriver.derive(equation({4, 1}), {}).derived);
  EXPECT_FALSE(deriver.derive(equation({4, 4}), {}).derived);
  EXPECT_TRUE(deriver.derive(equation({}), {}).derived);
}

TEST(Deriver, HeedsGuards) {
  const GraphSignature u = matrices({"concat", "relu"});
  const RuleCandidate c = relu_of_columns(u);
  const auto with_guard = [&](const std::string& guard) {
    Deriver deriver;
    const FlatEquation equation = GeneralShapes(u, c).concrete(deriver.vocabulary());
    const auto added = deriver.add(
        rule("rule r\n  source\n    y = relu(concat(x, z, axis: a))\n  target\n    y = concat(relu(x), relu(z), axis: a)\n  where " +
             guard + "\n"));
    EXPECT_TRUE(added.has_value()) << added.error().text();
    return deriver.derive(equation, {}).derived;
  };
  EXPECT_TRUE(with_guard("rank(x) <= 3"));
  EXPECT_FALSE(with_guard("a = 0"));
  EXPECT_TRUE(with_guard("a = 1"));
  EXPECT_FALSE(with_guard("dim(x, a) = dim(z, a)"));
  // Where a rule pays is no question here.
  EXPECT_TRUE(with_guard("const(x) and uses(y) = 1"));
}

TEST(Deriver, UsesRulesOfTwoOutputsAsEquations) {
  const GraphSignature u = matrices({"concat", "matmul", "split"});
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  // split(a (b ++ c))[1] = a c
  const RuleCandidate c{{{{choice(u, "concat 1"), {1, 2}}, {choice(u, "matmul"), {0, n}}, {choice(u, "split 1"), {next(1)}}}, {next(3)}},
                        {{{choice(u, "matmul"), {0, 2}}}, {n}}};
  Deriver deriver;
  const FlatEquation equation = GeneralShapes(u, c).concrete(deriver.vocabulary());
  const auto added = deriver.add(rule(R"(rule merge
  with
    x: [M, K]
    a: [K, N]
    b: [K, P]
  source
    y1 = matmul(x, a)
    y2 = matmul(x, b)
  target
    y1, y2 = split(matmul(x, concat(a, b, axis: 1)), axis: 1, sizes: [N, P])
)"));
  ASSERT_TRUE(added.has_value()) << added.error().text();
  EXPECT_TRUE(deriver.derive(equation, {}).derived);
}

// A rule that was found in what others made equal names them.
TEST(Deriver, TellsAllRulesThatItUsed) {
  const GraphSignature u = matrices({"concat", "matmul"});
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const ChoiceId m = choice(u, "matmul");
  const ChoiceId c = choice(u, "concat 1");
  // a b ++ a c = a (b ++ c)
  const RuleCandidate candidate{{{{m, {0, 1}}, {m, {0, 2}}, {c, {n, next(1)}}}, {next(2)}}, {{{c, {1, 2}}, {m, {0, n}}}, {next(1)}}};
  Deriver deriver;
  const FlatEquation equation = GeneralShapes(u, candidate).concrete(deriver.vocabulary());
  const auto merged = deriver.add(rule(R"(rule merged
  with
    x: [M, K], a: [K, N], b: [K, P]
  source
    y1 = matmul(x, a)
    y2 = matmul(x, b)
  target
    y1, y2 = split(matmul(x, concat(a, b, axis: 1)), axis: 1, sizes: [N, P])
)"));
  const auto undone = deriver.add(rule(R"(rule undone
  source
    y1, y2 = split(x, axis: 1, sizes: [s, t])
    y = concat(y1, y2, axis: 1)
  target
    y = x
  where rank(x) = 2
)"));
  ASSERT_TRUE(merged.has_value() && undone.has_value());
  const Deriver::Answer answer = deriver.derive(equation, {}, Goal::equal, true);
  ASSERT_TRUE(answer.derived);
  EXPECT_EQ(std::set<std::size_t>(answer.rules.begin(), answer.rules.end()), (std::set<std::size_t>{*merged, *undone}));
  ASSERT_EQ(answer.steps.size(), 3U);
  // What is used is shown before.
  EXPECT_EQ(answer.steps[0].rule, *merged);
  EXPECT_EQ(answer.steps[1].rule, *merged);
  EXPECT_EQ(answer.steps[2].rule, *undone);
  EXPECT_EQ(answer.steps[2].to, "matmul(x1, concat(x2, x3, axis: 1))");
}

// a c = split(a (b ++ c))[1] is true, but nothing that reads a and c alone says what b is.
TEST(Deriver, RewritesWithWhatTheSourceHas) {
  const GraphSignature u = matrices({"concat", "matmul", "split"});
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const SmallGraph together{{{choice(u, "concat 1"), {1, 2}}, {choice(u, "matmul"), {0, n}}, {choice(u, "split 1"), {next(1)}}}, {next(3)}};
  const SmallGraph alone{{{choice(u, "matmul"), {0, 2}}}, {n}};
  Deriver deriver;
  for (const char* text :
       {"rule distribute\n  with x: [M, K], a: [K, N], b: [K, P]\n  source\n    y = matmul(x, concat(a, b, axis: 1))\n"
        "  target\n    y = concat(matmul(x, a), matmul(x, b), axis: 1)\n",
        "rule second\n  with x: [M, K], z: [M, N]\n  source\n    c, y = split(concat(x, z, axis: 1), axis: 1, sizes: [K, N])\n"
        "  target\n    y = z\n"}) {
    ASSERT_TRUE(deriver.add(rule(text)).has_value()) << text;
  }
  const FlatEquation less = GeneralShapes(u, {together, alone}).concrete(deriver.vocabulary());
  const FlatEquation more = GeneralShapes(u, {alone, together}).concrete(deriver.vocabulary());
  EXPECT_TRUE(deriver.derive(less, {}, Goal::equal).derived);
  EXPECT_TRUE(deriver.derive(more, {}, Goal::equal).derived);
  EXPECT_TRUE(deriver.derive(less, {}, Goal::rewrite).derived);
  EXPECT_FALSE(deriver.derive(more, {}, Goal::rewrite).derived);
}

// relu(x^T^T) becomes relu(x), which is cheaper than relu(x^T)^T; that these are equal takes another rule.
TEST(Deriver, AcceptsWhatIsAsCheap) {
  const GraphSignature u = matrices({"relu", "transpose"});
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const ChoiceId t = choice(u, "transpose");
  const ChoiceId relu = choice(u, "relu");
  const SmallGraph source{{{t, {0}}, {t, {n}}, {relu, {next(1)}}}, {next(2)}};
  const SmallGraph target{{{t, {0}}, {relu, {n}}, {t, {next(1)}}}, {next(2)}};
  Deriver deriver;
  ASSERT_TRUE(deriver
                  .add(rule("rule twice\n  with x: [M, N]\n  source\n    y = transpose(transpose(x, perm: [1, 0]), perm: [1, 0])\n"
                            "  target\n    y = x\n"))
                  .has_value());
  const FlatEquation equation = GeneralShapes(u, {source, target}).concrete(deriver.vocabulary());
  EXPECT_FALSE(deriver.derive(equation, {}, Goal::equal).derived);
  EXPECT_FALSE(deriver.derive(equation, {}, Goal::rewrite).derived);
  EXPECT_TRUE(deriver.derive(equation, {}, Goal::rewrite_as_cheap).derived);
  const FlatEquation cheaper = GeneralShapes(u, {source, {{{t, {0}}}, {n}}}).concrete(deriver.vocabulary());
  EXPECT_FALSE(deriver.derive(cheaper, {}, Goal::rewrite_as_cheap).derived);
}

// There is room for few terms, which the rule that makes more of them would take.
TEST(Deriver, MakesSmallTermsFirst) {
  const GraphSignature u = matrices({"relu", "transpose"});
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const ChoiceId t = choice(u, "transpose");
  const ChoiceId relu = choice(u, "relu");
  Deriver deriver;
  ASSERT_TRUE(deriver
                  .add(rule("rule through\n  with x: [M, N]\n  source\n    y = transpose(relu(transpose(x, perm: [1, 0])), perm: [1, 0])\n"
                            "  target\n    y = relu(x)\n"))
                  .has_value());
  ASSERT_TRUE(deriver
                  .add(rule("rule twice\n  with x: [M, N]\n  source\n    y = transpose(transpose(x, perm: [1, 0]), perm: [1, 0])\n"
                            "  target\n    y = x\n"))
                  .has_value());
  // relu(x)^T^T = relu(x): 4 terms.
  const RuleCandidate c{{{{relu, {0}}, {t, {n}}, {t, {next(1)}}}, {next(2)}}, {{{relu, {0}}}, {n}}};
  const FlatEquation equation = GeneralShapes(u, c).concrete(deriver.vocabulary());
  EXPECT_TRUE(deriver.derive(equation, {.rounds = 1, .terms = 5}).derived);
}

// A derivation ends where it has looked at so many terms, and says that more would help.
TEST(Deriver, LooksAtNoMoreTermsThanItMay) {
  const GraphSignature u = matrices({"relu", "transpose"});
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(n + k); };
  const ChoiceId t = choice(u, "transpose");
  Deriver deriver;
  ASSERT_TRUE(deriver
                  .add(rule("rule twice\n  with x: [M, N]\n  source\n    y = transpose(transpose(x, perm: [1, 0]), perm: [1, 0])\n"
                            "  target\n    y = x\n"))
                  .has_value());
  const RuleCandidate c{{{{t, {0}}, {t, {n}}, {t, {next(1)}}}, {next(2)}}, {{{t, {0}}}, {n}}};
  const FlatEquation equation = GeneralShapes(u, c).concrete(deriver.vocabulary());
  EXPECT_TRUE(deriver.derive(equation, {.tries = 100}).derived);
  const Deriver::Answer answer = deriver.derive(equation, {.tries = 1});
  EXPECT_FALSE(answer.derived);
  EXPECT_FALSE(answer.complete);
}

TEST(Deriver, MatchesNumbers) {
  const GraphSignature u = matrices({"mul", "one", "two"});
  std::uint8_t one = 0;
  std::uint8_t two = 0;
  for (std::size_t k = u.inputs(); k < u.leaves().size(); ++k)
    (u.leaves()[k].value == ir::Rational(1) ? one : two) = static_cast<std::uint8_t>(k);
  const auto n = static_cast<std::uint8_t>(u.leaves().size());
  const ChoiceId mul = choice(u, "mul");
  Deriver deriver;
  ASSERT_TRUE(deriver.add(rule("rule one\n  source\n    y = x * 1\n  target\n    y = x\n")).has_value());
  const auto derived = [&](std::uint8_t number) {
    const RuleCandidate c{{{{mul, {0, number}}}, {n}}, {{}, {0}}};
    return deriver.derive(GeneralShapes(u, c).concrete(deriver.vocabulary()), {}).derived;
  };
  EXPECT_TRUE(derived(one));
  EXPECT_FALSE(derived(two));
}

// Everything that is found is derived by what is kept, and what is kept is proved and needed.
TEST(Collector, KeepsAFewProvedRulesThatDeriveAllOthers) {
  const GraphSignature u = matrices({"add", "concat", "matmul", "relu", "split", "transpose"});
  const EnumerationOptions options{.max_operators = 2};
  std::vector<Record> records;
  ASSERT_TRUE(enumerate(u, options, 0, 1, [&](const Record& r) { records.push_back(r); }).has_value());
  Candidates finder(u, options);
  const std::vector<RuleCandidate> candidates = finder.find(records);
  EXPECT_GT(candidates.size(), 100U);
  RuleCollector collector({}, {});
  const CandidateList list = in_order(u, candidates);
  const std::vector<RuleCandidate> ordered = list.part(0, list.size());
  ASSERT_TRUE(collector.collect(u, 0, ordered).has_value());
  collector.eliminate();
  EXPECT_TRUE(collector.prove([&](const KeptRule&) -> const GraphSignature& { return u; }).value());
  EXPECT_EQ(collector.unproved(), std::vector<std::string>());
  std::size_t needed = 0;
  for (const KeptRule& k : collector.kept()) {
    needed += k.needed ? 1 : 0;
    EXPECT_EQ(k.proved, k.needed);
    if (!k.needed) continue;
    EXPECT_EQ(verifier::decide(k.rule).verdict, verifier::Verdict::proved) << rules::print(k.rule);
    // Without it, its own equation is not derived.
    collector.deriver().enable(k.number, false);
    EXPECT_FALSE(collector.deriver().derive(k.equation, {}).derived) << rules::print(k.rule);
    collector.deriver().enable(k.number, true);
  }
  EXPECT_LE(needed, 40U);
  for (const RuleCandidate& c : candidates) {
    const FlatEquation equation = GeneralShapes(u, c).concrete(collector.deriver().vocabulary());
    EXPECT_TRUE(collector.deriver().derive(equation, {}).derived) << to_string(u, c.source) << " = " << to_string(u, c.target);
  }
}

// Whatever the numbers of the inputs are.
TEST(RuleWriter, NamesInputsAsTheyAreRead) {
  const GraphSignature u = matrices({"concat", "relu"});
  RuleCandidate c = relu_of_columns(u);
  std::vector<std::uint8_t> swapped(u.leaves().size());
  for (std::size_t k = 0; k < swapped.size(); ++k) swapped[k] = static_cast<std::uint8_t>(k < 2 ? 1 - k : k);
  const std::string text = rules::print(write_rule(u, c, "r").front().rule);
  EXPECT_EQ(rules::print(write_rule(u, {rename(u, c.source, swapped), rename(u, c.target, swapped)}, "r").front().rule), text);
}

TEST(RuleWriter, IsGenericInRankAndAxis) {
  const GraphSignature u = matrices({"concat", "relu"});
  const RuleCandidate c = relu_of_columns(u);
  EXPECT_EQ(name_of(u, c), "relu-of-concat");
  const std::vector<WrittenRule> forms = write_rule(u, c, "r");
  ASSERT_FALSE(forms.empty());
  EXPECT_EQ(rules::print(forms.front().rule), R"(# relu(concat(x, z)) = concat(relu(x), relu(z))
rule r
  source
    y = relu(concat(x, z, axis: a))
  target
    y = concat(relu(x), relu(z), axis: a)
  where
    replace(dims(x), a, 1) = replace(dims(z), a, 1) and
    4 >= rank(x)
)");
}

}  // namespace
}  // namespace xflow::generator
