#include "src/generator/enumerate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/generator/slow_enumerator.h"

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
