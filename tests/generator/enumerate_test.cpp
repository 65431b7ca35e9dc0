#include "src/generator/enumerate/enumerate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/generator/enumerate/candidates.h"
#include "tests/generator/slow_enumerator.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

GraphSignature signature(TensorKind kind, std::vector<std::string> operators, std::size_t inputs) {
  auto made = GraphSignature::make({kind, std::move(operators), inputs});
  EXPECT_TRUE(made.has_value()) << made.error().text();
  return *std::move(made);
}

std::vector<Record> records(const GraphSignature& u, const EnumerationOptions& options, std::size_t parts = 1) {
  std::vector<Record> result;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto counts = enumerate(u, options, part, parts, [&](const Record& r) { result.push_back(r); });
    EXPECT_TRUE(counts.has_value()) << counts.error().text();
  }
  return result;
}

// By number of operators: different graphs up to renaming.
std::vector<std::size_t> count(const GraphSignature& u, const EnumerationOptions& options) {
  const auto codec = GraphCodec::make(u, options.max_operators);
  std::vector<std::set<std::uint64_t>> structures(options.max_operators + 1);
  for (const Record& r : records(u, options)) structures[codec->operators(r.code)].insert(r.structure);
  std::vector<std::size_t> result;
  for (const auto& s : structures) result.push_back(s.size());
  return result;
}

using Counts = std::vector<std::size_t>;

void expect_as_slowly(const GraphSignature& u, std::size_t max_operators, std::size_t max_outputs) {
  const EnumerationOptions options{.max_operators = max_operators, .max_outputs = max_outputs};
  EXPECT_EQ(count(u, options), count_slowly(u, max_operators, max_outputs));
}

TEST(Enumeration, MissesNothingAndRepeatsNothing) {
  expect_as_slowly(signature(TensorKind::matrix, {"add", "matmul"}, 3), 3, 1);
  expect_as_slowly(signature(TensorKind::matrix, {"add", "matmul", "relu", "transpose"}, 3), 2, 1);
  expect_as_slowly(signature(TensorKind::matrix, {"add", "matmul", "transpose"}, 3), 2, 2);
  expect_as_slowly(signature(TensorKind::matrix, {"concat", "relu"}, 2), 2, 2);
  expect_as_slowly(signature(TensorKind::matrix, {"add", "concat", "split"}, 2), 2, 1);
  expect_as_slowly(signature(TensorKind::matrix, {"concat", "split"}, 2), 2, 2);
  expect_as_slowly(signature(TensorKind::matrix, {"concat", "relu", "split"}, 2), 3, 2);
  expect_as_slowly(signature(TensorKind::matrix, {"mul", "one", "sub", "two"}, 2), 2, 1);
  expect_as_slowly(signature(TensorKind::image, {"add", "conv", "enlarge"}, 2), 2, 1);
  expect_as_slowly(signature(TensorKind::image, {"add", "channels", "conv", "mul", "reshape"}, 1), 2, 1);
  expect_as_slowly(signature(TensorKind::matrix, {"add", "matmul", "rows", "split"}, 2), 2, 1);
  expect_as_slowly(signature(TensorKind::matrix, {"add", "identity", "matmul"}, 2), 2, 1);
  expect_as_slowly(signature(TensorKind::matrix, {"matmul", "mul", "ones", "reduce_sum", "zeros"}, 2), 2, 1);
}

TEST(Enumeration, MissesNothingInDeepChains) {
  expect_as_slowly(signature(TensorKind::matrix, {"relu", "transpose"}, 2), 4, 1);
  expect_as_slowly(signature(TensorKind::matrix, {"mul", "relu"}, 2), 3, 2);
}

TEST(Enumeration, CountsAreWhatTheyWere) {
  const EnumerationOptions two{.max_operators = 2};
  const EnumerationOptions three{.max_operators = 3};
  EXPECT_EQ(count(signature(TensorKind::matrix, {"add", "matmul", "mul", "relu", "transpose"}, 4), three), (Counts{1, 8, 108, 2320}));
  EXPECT_EQ(count(signature(TensorKind::matrix, {"add", "concat", "matmul", "mul", "relu", "split", "transpose"}, 3), two),
            (Counts{3, 44, 1040}));
}

TEST(Enumeration, DoesNotDependOnTheNumberOfParts) {
  const GraphSignature u = signature(TensorKind::matrix, {"add", "concat", "matmul", "relu", "split"}, 3);
  const EnumerationOptions options{.max_operators = 3, .max_outputs = 2};
  auto one = records(u, options, 1);
  auto seven = records(u, options, 7);
  std::sort(one.begin(), one.end());
  std::sort(seven.begin(), seven.end());
  EXPECT_EQ(one, seven);
}

TEST(Enumeration, DoesNotDependOnWhatIsRemembered) {
  const GraphSignature matrices = signature(TensorKind::matrix, {"add", "concat", "div", "exp", "split"}, 3);
  const GraphSignature images = signature(TensorKind::image, {"add", "average_pool", "concat", "conv", "max_pool", "relu", "split"}, 3);
  for (const GraphSignature* u : {&matrices, &images}) {
    EnumerationOptions options{.max_operators = 2, .max_outputs = 2};
    const auto with = records(*u, options);
    options.value_bytes = 0;
    EXPECT_EQ(records(*u, options), with);
  }
}

TEST(Evaluator, NamesGraphsAlike) {
  // The names that give the fingerprint, the values of the inputs as they stand, and the law that a sum has.
  const GraphSignature u = signature(TensorKind::matrix, {"add", "matmul", "sub"}, 3);
  Evaluator evaluator(u, {.max_operators = 2});
  const auto v = static_cast<std::uint8_t>(u.leaves().size());
  const auto w = static_cast<std::uint8_t>(v + 1);
  const ChoiceId add = choice(u, "add");
  const ChoiceId sub = choice(u, "sub");
  const SmallGraph left{{{add, {0, 1}}, {add, {2, v}}}, {w}};
  const SmallGraph right{{{add, {1, 2}}, {add, {0, v}}}, {w}};
  const SmallGraph other{{{sub, {0, 1}}, {sub, {v, 2}}}, {w}};
  for (const SmallGraph* s : {&left, &right, &other}) {
    const std::vector<Naming> namings = evaluator.namings(*s);
    ASSERT_FALSE(namings.empty());
    for (const Naming& n : namings) {
      EXPECT_EQ(n.value, evaluator.record(*s)->fingerprint);
      EXPECT_EQ(evaluator.namings(rename(u, *s, n.leaves))[0].value, n.value);
      EXPECT_EQ(evaluator.values(rename(u, *s, n.leaves)), evaluator.values(rename(u, *s, namings[0].leaves)));
    }
  }
  EXPECT_EQ(evaluator.values(left), evaluator.values(right));
  EXPECT_NE(evaluator.values(left), evaluator.values(other));
  const auto structures = [&](const SmallGraph& s) {
    std::set<std::uint64_t> result;
    for (const Naming& n : evaluator.namings(s)) result.insert(n.structure);
    return result.size();
  };
  EXPECT_EQ(structures(left), 3U);
  EXPECT_EQ(structures({{{sub, {0, 1}}}, {v}}), 1U);
  EXPECT_EQ(structures({{{add, {0, 1}}}, {v}}), 1U);  // the same term
  // (x - y) - z = (x - z) - y, of values in which no two inputs that are exchanged are alike.
  EXPECT_EQ(structures(other), 2U);
}

// Under other names a graph has the same record, whatever is symmetric or drops out in it.
TEST(Evaluator, FindsTheSameUnderAllNames) {
  const auto expect_same = [](const GraphSignature& u, const EnumerationOptions& options) {
    const auto codec = GraphCodec::make(u, options.max_operators);
    Evaluator evaluator(u, options);
    std::size_t graphs = 0;
    for (const Record& r : records(u, options)) {
      if (++graphs % 7 != 0) continue;
      const SmallGraph graph = codec->decode(r.code);
      // The inputs of each group the other way round.
      std::vector<std::uint8_t> leaves(u.leaves().size());
      for (std::size_t k = 0; k < leaves.size(); ++k) {
        leaves[k] = static_cast<std::uint8_t>(k);
        if (k >= u.inputs()) continue;
        const std::size_t group = u.leaves()[k].group;
        leaves[k] = static_cast<std::uint8_t>(2 * u.group_begins()[group] + u.group_size(group) - 1 - k);
      }
      const auto renamed = evaluator.record(rename(u, graph, leaves));
      ASSERT_TRUE(renamed.has_value()) << to_string(u, graph);
      EXPECT_EQ(renamed->fingerprint, r.fingerprint) << to_string(u, graph);
      EXPECT_EQ(renamed->structure, r.structure) << to_string(u, graph);
    }
    EXPECT_GT(graphs, 100U);
  };
  expect_same(signature(TensorKind::matrix, {"concat", "matmul", "mul", "split", "sub"}, 3), {.max_operators = 2, .max_outputs = 2});
  expect_same(signature(TensorKind::matrix, {"matmul", "mul", "sub"}, 4), {.max_operators = 3});
  expect_same(signature(TensorKind::matrix, {"add", "div", "exp", "sub"}, 3), {.max_operators = 2});
  expect_same(signature(TensorKind::image, {"add", "concat", "conv", "max_pool", "mul", "relu", "split"}, 3), {.max_operators = 2});
}

// (x - y) (z - u) is 0 for all inputs alike, and alike but for one: yet it depends on all.
TEST(Evaluator, TellsWhatVanishesFromWhatIsIgnored) {
  const GraphSignature u = signature(TensorKind::matrix, {"mul", "sub"}, 4);
  Evaluator evaluator(u, {.max_operators = 3});
  const auto v = static_cast<std::uint8_t>(u.leaves().size());
  const auto next = [&](int k) { return static_cast<std::uint8_t>(v + k); };
  const ChoiceId mul = choice(u, "mul");
  const ChoiceId sub = choice(u, "sub");
  const auto fingerprint = [&](const SmallGraph& s) { return evaluator.record(s)->fingerprint; };
  const SmallGraph product{{{sub, {0, 1}}, {sub, {2, 3}}, {mul, {v, next(1)}}}, {next(2)}};
  const SmallGraph renamed{{{sub, {3, 1}}, {sub, {0, 2}}, {mul, {v, next(1)}}}, {next(2)}};
  EXPECT_EQ(fingerprint(product), fingerprint(renamed));
  // (x - y) (x - z) and (x - y) (z - x) are two.
  EXPECT_NE(fingerprint({{{sub, {0, 1}}, {sub, {0, 2}}, {mul, {v, next(1)}}}, {next(2)}}),
            fingerprint({{{sub, {0, 1}}, {sub, {2, 0}}, {mul, {v, next(1)}}}, {next(2)}}));
  // y - (x - x) is y.
  EXPECT_EQ(fingerprint({{{sub, {0, 0}}, {sub, {1, v}}}, {next(1)}}), fingerprint({{}, {0}}));
}

// Of two outputs: what has an operation in common and an output that reads what it does not depend on.
TEST(Enumeration, OfTwoOutputsMakesWhatCanBeATarget) {
  const GraphSignature u = signature(TensorKind::matrix, {"concat", "matmul", "relu", "split"}, 3);
  const EnumerationOptions options{.max_operators = 3, .max_outputs = 2};
  const auto codec = GraphCodec::make(u, 3);
  std::set<std::string> texts;
  for (const Record& r : records(u, options)) {
    const SmallGraph graph = codec->decode(r.code);
    if (graph.outputs.size() == 2) texts.insert(to_string(u, graph));
  }
  const std::string joined = "matmul(a2, concat 1(a0, a1))";
  EXPECT_TRUE(texts.contains("split 1(" + joined + ").0; split 1(" + joined + ").1"));
  for (const std::string& t : texts) {
    EXPECT_NE(t.find("split"), std::string::npos) << t;
    // Both halves of an input depend on all of it; what is undone was there before.
    EXPECT_NE(t.find("concat"), std::string::npos) << t;
    EXPECT_EQ(t.find("split 1(concat 1(a0, a1))"), std::string::npos) << t;
  }
}

// Nothing is built on what computes what is there already.
TEST(Enumeration, RepeatsNoValues) {
  const GraphSignature u = signature(TensorKind::matrix, {"add", "concat", "relu", "split", "transpose"}, 2);
  const EnumerationOptions options{.max_operators = 3};
  const auto codec = GraphCodec::make(u, 3);
  std::set<std::string> texts;
  for (const Record& r : records(u, options)) texts.insert(to_string(u, codec->decode(r.code)));
  EXPECT_TRUE(texts.contains("relu(relu(a0))"));
  EXPECT_TRUE(texts.contains("split 0(concat 0(a0, a1)).1"));
  EXPECT_FALSE(texts.contains("transpose(relu(relu(a0)))"));
  EXPECT_FALSE(texts.contains("relu(relu(relu(a0)))"));
  EXPECT_FALSE(texts.contains("relu(split 0(concat 0(a0, a1)).0)"));
  // Of x + y and its transpose's transpose the second may be the result, and no operand.
  EXPECT_TRUE(texts.contains("transpose(transpose(add(a0, a1)))"));
  EXPECT_FALSE(texts.contains("add(a0, transpose(transpose(a0)))"));
}

TEST(Evaluator, KnowsTheNamesUnderWhichAGraphHasItsStructure) {
  const GraphSignature u = signature(TensorKind::matrix, {"concat", "matmul", "split", "sub"}, 3);
  const EnumerationOptions options{.max_operators = 2};
  const auto codec = GraphCodec::make(u, 2);
  for (const Record& r : records(u, options)) {
    const SmallGraph graph = codec->decode(r.code);
    std::vector<std::uint8_t> names;
    EXPECT_EQ(structure_of(u, graph, &names), r.structure);
    const SmallGraph named = rename(u, graph, names);
    std::vector<std::uint8_t> repeated;
    EXPECT_EQ(structure_of(u, named, &repeated), r.structure);
    // The same term, up to what is symmetric in it.
    EXPECT_EQ(rename(u, named, repeated), named) << to_string(u, named);
  }
}

TEST(GraphCodec, SaysWhatDoesNotFit) {
  const GraphSignature wide = signature(TensorKind::matrix, {"relu"}, 62);
  EXPECT_TRUE(GraphCodec::make(wide, 1).has_value());
  EXPECT_EQ(GraphCodec::make(wide, 2).error().text(),
            "graphs of 2 operators over 62 inputs and constants have up to 64 values, more than 63; take fewer inputs");
  const GraphSignature deep = signature(TensorKind::matrix, {"add", "matmul", "mul"}, 20);
  EXPECT_EQ(
      GraphCodec::make(deep, 6).error().text(),
      "graphs of 6 operators over 3 operators with attributes and 20 inputs and constants take 67 bits, more than the 64 of a record; "
      "take fewer operators or inputs");
}

TEST(Enumeration, CodesAreGraphs) {
  const GraphSignature u = signature(TensorKind::matrix, {"add", "concat", "matmul", "relu", "split"}, 3);
  const EnumerationOptions options{.max_operators = 2, .max_outputs = 2};
  const auto codec = GraphCodec::make(u, 2);
  Evaluator evaluator(u, options);
  for (const Record& r : records(u, options)) {
    const SmallGraph graph = codec->decode(r.code);
    EXPECT_EQ(codec->encode(graph), r.code);
    EXPECT_EQ(evaluator.record(graph), r) << to_string(u, graph);
  }
}

}  // namespace
}  // namespace xflow::generator
