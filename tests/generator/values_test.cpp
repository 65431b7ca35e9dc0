#include "src/generator/enumerate/values.h"

#include <gtest/gtest.h>

#include <map>

namespace xflow::generator {
namespace {

// Results that are operands of others are made, others hashed from their operands: both have one hash.
template <typename Number>
void expect_hashes_of_values(TensorKind kind, const std::vector<std::string>& operators, std::map<std::string, int>& compared) {
  const GraphSignature u = GraphSignature::make({kind, operators, 3}).value();
  for (std::size_t sizes = 0; sizes < GraphSignature::kAssignments; ++sizes) {
    EnumerationOptions options;
    options.sizes = sizes;
    ValueStore<Number> store(u, options);
    using Id = typename ValueStore<Number>::Id;
    // Inputs and constants under three labels, and results of operations on them.
    std::vector<std::pair<TypeId, std::vector<Id>>> values;
    for (std::size_t leaf = 0; leaf < u.leaves().size(); ++leaf) {
      std::vector<Id> ids(3);
      for (std::size_t k = 0; k < 3; ++k) ids[k] = leaf < u.inputs() ? store.input(leaf, k) : store.constant(leaf);
      values.emplace_back(u.leaves()[leaf].type, ids);
    }
    const std::size_t leaves = values.size();
    for (std::size_t c = 0; c < u.choices().size(); ++c) {
      const auto id = static_cast<ChoiceId>(c);
      const Choice& choice = u.choice(id);
      for (std::size_t a = 0; a < values.size(); ++a) {
        for (std::size_t b = 0; b < (choice.operands == 1 ? 1 : leaves); ++b) {
          const std::array<TypeId, 2> types = {values[a].first, values[b].first};
          const auto operands = std::span(types).first(choice.operands);
          const std::span<const TypeId> outputs = u.type(id, operands);
          if (outputs.empty()) continue;
          const std::vector<TypeId> output_types(outputs.begin(), outputs.end());
          const std::vector<Id> first = values[a].second;
          const std::vector<Id> second = choice.operands == 1 ? std::vector<Id>() : values[b].second;
          std::array<std::array<Id, 3>, 2> ids{};
          const std::array<Id*, 2> to_ids = {ids[0].data(), ids[1].data()};
          if (!store.apply(id, operands, first, second, std::span(to_ids).first(choice.outputs))) continue;
          std::array<std::array<std::uint64_t, 3>, 2> hashes{};
          const std::array<std::uint64_t*, 2> to_hashes = {hashes[0].data(), hashes[1].data()};
          ASSERT_TRUE(store.hashes(id, operands, first, second, std::span(to_hashes).first(choice.outputs)));
          for (std::size_t o = 0; o < choice.outputs; ++o)
            for (std::size_t k = 0; k < 3; ++k)
              EXPECT_EQ(hashes[o][k], store.hash(ids[o][k])) << choice.name << " " << u.to_string(types[0]) << " " << u.to_string(types[1]);
          ++compared[choice.name];
          if (values.size() < 30) values.emplace_back(output_types[0], std::vector<Id>(ids[0].begin(), ids[0].end()));
        }
      }
    }
  }
}

TEST(Values, HaveOneHashHoweverItIsFound) {
  std::map<std::string, int> compared;
  expect_hashes_of_values<Residue>(TensorKind::matrix,
                                   {"add", "concat", "half", "matmul", "mul", "reduce_sum", "relu", "split", "sub", "transpose"}, compared);
  expect_hashes_of_values<Residue>(TensorKind::image,
                                   {"add", "average_pool", "concat", "conv", "depthwise_conv", "enlarge", "mul", "split"}, compared);
  expect_hashes_of_values<Integer>(TensorKind::image, {"add", "average_pool", "concat", "conv", "max_pool", "mul", "relu", "split"},
                                   compared);
  expect_hashes_of_values<Pair>(TensorKind::matrix, {"add", "div", "exp", "matmul"}, compared);
  EXPECT_GE(compared.size(), 18U);
}

TEST(Values, OfOtherTypesAreOthers) {
  // (n + n) + n and n + (n + n): the same numbers, which a split takes apart in two ways.
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"concat", "split"}, 3}).value();
  ValueStore<Residue> store(u, {});
  const auto choice = [&](std::string_view name) {
    for (std::size_t c = 0; c < u.choices().size(); ++c)
      if (u.choices()[c].name == name) return static_cast<ChoiceId>(c);
    ADD_FAILURE() << name;
    return ChoiceId{};
  };
  const auto concat = [&](std::pair<TypeId, std::uint32_t> a, std::pair<TypeId, std::uint32_t> b) {
    const std::array<TypeId, 2> types = {a.first, b.first};
    std::uint32_t id = 0;
    std::uint32_t* const out[] = {&id};
    EXPECT_TRUE(store.apply(choice("concat 0"), types, std::span(&a.second, 1), std::span(&b.second, 1), out));
    return std::pair(u.type(choice("concat 0"), types)[0], id);
  };
  const TypeId square = u.leaves()[0].type;
  const auto x = std::pair(square, store.input(0, 0));
  const auto y = std::pair(square, store.input(0, 1));
  const auto z = std::pair(square, store.input(0, 2));
  const auto left = concat(concat(x, y), z);
  const auto right = concat(x, concat(y, z));
  EXPECT_EQ(store.hash(left.second), store.hash(right.second));
  EXPECT_NE(left.second, right.second);
}

}  // namespace
}  // namespace xflow::generator
