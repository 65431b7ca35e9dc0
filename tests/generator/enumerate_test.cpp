#include "src/generator/enumerate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/generator/slow_enumerator.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

Universe universe(World world, std::vector<std::string> words, std::size_t inputs) {
  auto made = Universe::make({world, std::move(words), inputs});
  EXPECT_TRUE(made.has_value()) << made.error().text();
  return *std::move(made);
}

std::vector<Record> records(const Universe& u, const EnumerationOptions& options, std::size_t parts = 1) {
  std::vector<Record> result;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto counts = enumerate(u, options, part, parts, [&](const Record& r) { result.push_back(r); });
    EXPECT_TRUE(counts.has_value()) << counts.error().text();
  }
  return result;
}

// By number of operators: different graphs up to renaming.
std::vector<std::size_t> count(const Universe& u, const EnumerationOptions& options) {
  const auto codec = GraphCodec::make(u, options.max_operators);
  std::vector<std::set<std::uint64_t>> structures(options.max_operators + 1);
  for (const Record& r : records(u, options)) structures[codec->operators(r.code)].insert(r.structure);
  std::vector<std::size_t> result;
  for (const auto& s : structures) result.push_back(s.size());
  return result;
}

using Counts = std::vector<std::size_t>;

void expect_as_slowly(const Universe& u, std::size_t max_operators, std::size_t max_outputs) {
  const EnumerationOptions options{.max_operators = max_operators, .max_outputs = max_outputs};
  EXPECT_EQ(count(u, options), count_slowly(u, max_operators, max_outputs));
}

TEST(Enumeration, MissesNothingAndRepeatsNothing) {
  expect_as_slowly(universe(World::matrix, {"add", "matmul"}, 3), 3, 1);
  expect_as_slowly(universe(World::matrix, {"add", "matmul", "relu", "transpose"}, 3), 2, 1);
  expect_as_slowly(universe(World::matrix, {"add", "matmul", "transpose"}, 3), 2, 2);
  expect_as_slowly(universe(World::matrix, {"concat", "relu"}, 2), 2, 2);
  expect_as_slowly(universe(World::matrix, {"add", "concat", "split"}, 2), 2, 1);
  expect_as_slowly(universe(World::matrix, {"concat", "split"}, 2), 2, 2);
  expect_as_slowly(universe(World::matrix, {"mul", "one", "sub", "two"}, 2), 2, 1);
  expect_as_slowly(universe(World::image, {"add", "conv", "enlarge"}, 2), 2, 1);
  expect_as_slowly(universe(World::matrix, {"add", "identity", "matmul"}, 2), 2, 1);
  expect_as_slowly(universe(World::matrix, {"matmul", "mul", "ones", "reduce_sum", "zeros"}, 2), 2, 1);
}

TEST(Enumeration, MissesNothingInDeepChains) {
  expect_as_slowly(universe(World::matrix, {"relu", "transpose"}, 2), 4, 1);
  expect_as_slowly(universe(World::matrix, {"mul", "relu"}, 2), 3, 2);
}

TEST(Enumeration, CountsAreWhatTheyWere) {
  const EnumerationOptions two{.max_operators = 2};
  const EnumerationOptions three{.max_operators = 3};
  EXPECT_EQ(count(universe(World::matrix, {"add", "matmul", "mul", "relu", "transpose"}, 4), three), (Counts{1, 8, 108, 2371}));
  EXPECT_EQ(count(universe(World::matrix, {"add", "concat", "matmul", "mul", "relu", "split", "transpose"}, 3), two),
            (Counts{3, 44, 1040}));
}

TEST(Enumeration, DoesNotDependOnTheNumberOfParts) {
  const Universe u = universe(World::matrix, {"add", "concat", "matmul", "relu", "split"}, 3);
  const EnumerationOptions options{.max_operators = 3, .max_outputs = 2};
  auto one = records(u, options, 1);
  auto seven = records(u, options, 7);
  std::sort(one.begin(), one.end());
  std::sort(seven.begin(), seven.end());
  EXPECT_EQ(one, seven);
}

TEST(Enumeration, DoesNotDependOnWhatIsRemembered) {
  const Universe matrices = universe(World::matrix, {"add", "concat", "div", "exp", "split"}, 3);
  const Universe images = universe(World::image, {"add", "average_pool", "concat", "conv", "max_pool", "relu", "split"}, 3);
  for (const Universe* u : {&matrices, &images}) {
    EnumerationOptions options{.max_operators = 2, .max_outputs = 2};
    const auto with = records(*u, options);
    options.value_bytes = 0;
    EXPECT_EQ(records(*u, options), with);
  }
}

TEST(Evaluator, NamesGraphsAlike) {
  // The smallest of the renamings, the values of the inputs as they stand, and the law that a sum has.
  const Universe u = universe(World::matrix, {"add", "matmul", "sub"}, 3);
  Evaluator evaluator(u, {.max_operators = 2});
  const auto v = static_cast<std::uint8_t>(u.leaves().size());
  const auto w = static_cast<std::uint8_t>(v + 1);
  const ChoiceId add = choice(u, "add");
  const ChoiceId sub = choice(u, "sub");
  const Sketch left{{{add, {0, 1}}, {add, {2, v}}}, {w}};
  const Sketch right{{{add, {1, 2}}, {add, {0, v}}}, {w}};
  const Sketch other{{{sub, {0, 1}}, {sub, {v, 2}}}, {w}};
  for (const Sketch* s : {&left, &right, &other}) {
    const auto smallest = evaluator.smallest(*s);
    ASSERT_TRUE(smallest.has_value());
    EXPECT_EQ(smallest->value, evaluator.record(*s)->fingerprint);
  }
  EXPECT_EQ(evaluator.values(left), evaluator.values(right));
  EXPECT_NE(evaluator.values(left), evaluator.values(other));
  EXPECT_TRUE(evaluator.smallest(left)->has_laws);
  EXPECT_FALSE(evaluator.smallest({{{sub, {0, 1}}}, {v}})->has_laws);
  EXPECT_FALSE(evaluator.smallest({{{add, {0, 1}}}, {v}})->has_laws);  // the same term
}

TEST(Evaluator, KnowsTheNamesUnderWhichAGraphHasItsStructure) {
  const Universe u = universe(World::matrix, {"concat", "matmul", "split", "sub"}, 3);
  const EnumerationOptions options{.max_operators = 2};
  const auto codec = GraphCodec::make(u, 2);
  for (const Record& r : records(u, options)) {
    const Sketch sketch = codec->decode(r.code);
    std::vector<std::uint8_t> names;
    EXPECT_EQ(structure_of(u, sketch, &names), r.structure);
    const Sketch named = rename(u, sketch, names);
    std::vector<std::uint8_t> again;
    EXPECT_EQ(structure_of(u, named, &again), r.structure);
    // The same term, up to what is symmetric in it.
    EXPECT_EQ(rename(u, named, again), named) << to_string(u, named);
  }
}

TEST(GraphCodec, SaysWhatDoesNotFit) {
  const Universe wide = universe(World::matrix, {"relu"}, 62);
  EXPECT_TRUE(GraphCodec::make(wide, 1).has_value());
  EXPECT_EQ(GraphCodec::make(wide, 2).error().text(),
            "graphs of 2 operators over 62 inputs and constants have up to 64 values, more than 63; take fewer inputs");
  const Universe deep = universe(World::matrix, {"add", "matmul", "mul"}, 20);
  EXPECT_EQ(
      GraphCodec::make(deep, 6).error().text(),
      "graphs of 6 operators over 3 operators with attributes and 20 inputs and constants take 67 bits, more than the 64 of a record; "
      "take fewer operators or inputs");
}

TEST(Enumeration, CodesAreGraphs) {
  const Universe u = universe(World::matrix, {"add", "concat", "matmul", "relu", "split"}, 3);
  const EnumerationOptions options{.max_operators = 2, .max_outputs = 2};
  const auto codec = GraphCodec::make(u, 2);
  Evaluator evaluator(u, options);
  for (const Record& r : records(u, options)) {
    const Sketch sketch = codec->decode(r.code);
    EXPECT_EQ(codec->encode(sketch), r.code);
    EXPECT_EQ(evaluator.record(sketch), r) << to_string(u, sketch);
  }
}

}  // namespace
}  // namespace xflow::generator
