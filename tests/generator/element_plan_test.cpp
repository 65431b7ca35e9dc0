// The arithmetic of enumerated operators against the reference, on integers and modulo a prime.
#include "src/generator/enumerate/element_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "src/eval/evaluate.h"
#include "src/generator/enumerate/assignments.h"
#include "src/generator/enumerate/graph_signature.h"
#include "src/ops/operator.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

// Types of inputs and constants, and of what one operation makes of them.
std::vector<TypeId> some_types(const GraphSignature& u) {
  std::vector<TypeId> types;
  for (const Leaf& leaf : u.leaves())
    if (std::find(types.begin(), types.end(), leaf.type) == types.end()) types.push_back(leaf.type);
  const std::vector<TypeId> leaves = types;
  for (std::size_t c = 0; c < u.choices().size(); ++c) {
    for (const TypeId a : leaves) {
      for (const TypeId b : leaves) {
        const std::array<TypeId, 2> operands = {a, b};
        for (const TypeId t : u.type(static_cast<ChoiceId>(c), std::span(operands).first(u.choices()[c].operands)))
          if (std::find(types.begin(), types.end(), t) == types.end()) types.push_back(t);
      }
    }
  }
  return types;
}

// Calls `visit` with each operator and the types of leaves that fit it.
template <typename Visit>
void for_each_operation(const GraphSignature& u, const Visit& visit) {
  for (std::size_t c = 0; c < u.choices().size(); ++c) {
    for (const Leaf& a : u.leaves()) {
      for (const Leaf& b : u.leaves()) {
        const std::array<TypeId, 2> both = {a.type, b.type};
        const std::span<const TypeId> operands = std::span(both).first(u.choices()[c].operands);
        if (!u.type(static_cast<ChoiceId>(c), operands).empty()) visit(static_cast<ChoiceId>(c), operands);
      }
    }
  }
}

// How many types of operands each operator was compared on.
struct Compared {
  std::map<std::string, int> operators;
};

void compare(TensorKind kind, const std::vector<std::string>& operators, Compared& compared) {
  const auto made = GraphSignature::make({kind, operators, 2});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const GraphSignature& u = *made;
  const std::vector<TypeId> types = some_types(u);
  for (std::size_t c = 0; c < u.choices().size(); ++c) {
    const auto id = static_cast<ChoiceId>(c);
    const Choice& choice = u.choices()[c];
    for (const TypeId a : types) {
      for (const TypeId b : types) {
        if (choice.operands == 1 && a != b) continue;
        const std::array<TypeId, 2> both = {a, b};
        const std::span<const TypeId> operands = std::span(both).first(choice.operands);
        const auto outputs = u.type(id, operands);
        if (outputs.empty()) continue;
        const std::vector<ElementPlan>& plans = u.plans(id, operands, 0);
        ASSERT_EQ(plans.size(), outputs.size());
        // Assignments of the same numbers.
        ir::Arena arena;
        ops::Typing typing(arena.symbols());
        eval::Bindings bindings;
        std::vector<ir::ValueId> inputs;
        std::vector<std::vector<Integer>> integers;
        for (const TypeId t : operands) {
          const std::vector<std::int64_t> dims = u.shape(t, 0);
          std::vector<double> values(static_cast<std::size_t>(ir::element_count(ir::polys(dims)).constant().value()));
          for (std::size_t e = 0; e < values.size(); ++e)
            values[e] = static_cast<double>(static_cast<std::int64_t>(mix(e + 77 * inputs.size()) % 19) - 9) * 9;
          inputs.push_back(arena.input({ir::DataType::float64, true, ir::polys(dims)}, static_cast<std::uint32_t>(inputs.size())));
          integers.emplace_back();
          for (const double v : values) integers.back().insert(integers.back().end(), kAssignments, static_cast<Integer>(v));
          bindings.emplace(inputs.back(), eval::Tensor::of_doubles(ir::DataType::float64, dims, values));
        }
        const auto node = ops::apply(arena, typing, choice.op, inputs, u.attributes(id, operands, 0));
        ASSERT_TRUE(node.has_value()) << choice.name << ": " << node.error().text();
        std::vector<const Integer*> pointers;
        for (const auto& v : integers) pointers.push_back(v.data());
        for (std::size_t o = 0; o < plans.size(); ++o) {
          EXPECT_EQ(plans[o].dims, u.shape(outputs[o], 0)) << choice.name;
          const auto expected = eval::evaluate(arena, ir::Graph{{{*node, static_cast<std::uint32_t>(o)}}}, bindings);
          ASSERT_TRUE(expected.has_value()) << choice.name << ": " << expected.error().text();
          const auto numbers = eval::doubles(expected->front());
          std::vector<Integer> found(plans[o].elements() * kAssignments);
          evaluate(plans[o], pointers, kAssignments, found.data());
          for (std::size_t e = 0; e < plans[o].elements(); ++e)
            for (std::size_t assignment = 0; assignment < kAssignments; ++assignment)
              ASSERT_EQ(static_cast<double>(found[e * kAssignments + assignment]), (*numbers)[e])
                  << choice.name << " " << u.to_string(a) << " " << u.to_string(b) << " at " << e;
        }
        ++compared.operators[choice.name];
      }
    }
  }
}

TEST(Plans, ComputeWhatTheReferenceComputes) {
  Compared compared;
  compare(TensorKind::matrix,
          {"abs", "add", "concat", "matmul", "maximum", "minimum", "mul", "neg", "reduce_max", "reduce_sum", "relu", "split", "sub",
           "transpose"},
          compared);
  compare(TensorKind::image,
          {"add", "average_pool", "channels", "concat", "conv", "depthwise_conv", "enlarge", "max_pool", "mul", "relu", "reshape", "split"},
          compared);
  EXPECT_GE(compared.operators.size(), 23U);
  for (const auto& [name, count] : compared.operators) EXPECT_GE(count, 1) << name;
}

TEST(Plans, OfEveryOperatorAreThere) {
  // What a signature says fits has a plan: asked for all operators.
  const auto divided = GraphSignature::divide(GraphSignature::known_operators(), 2);
  ASSERT_TRUE(divided.has_value());
  for (const SignatureOptions& options : *divided) {
    const GraphSignature u = GraphSignature::make(options).value();
    for_each_operation(u, [&](ChoiceId c, std::span<const TypeId> operands) {
      std::vector<std::vector<std::int64_t>> shapes;
      std::string types;
      for (const TypeId t : operands) {
        shapes.push_back(u.shape(t, 0));
        types += " " + u.to_string(t);
      }
      const auto made = ElementPlan::make(u.choice(c).op, u.attributes(c, operands, 0), shapes);
      EXPECT_TRUE(made.has_value()) << u.choice(c).name << " of" << types << ": " << made.error().text();
    });
  }
}

// Inner elements have nine windows of a kernel, those at a border six, wherever these begin: two patterns an axis.
TEST(Plans, ListTermsOncePerPattern) {
  const std::vector<std::vector<std::int64_t>> matrices = {{4, 5}, {5, 6}};
  const std::vector<ElementPlan> product = ElementPlan::make(ops::id_of("matmul"), {}, matrices).value();
  EXPECT_EQ(product[0].rows.size(), 24U);
  EXPECT_EQ(product[0].patterns.size(), 1U);
  EXPECT_EQ(product[0].products.size(), 5U);
  const std::vector<std::vector<std::int64_t>> images = {{2, 3, 5, 5}, {4, 3, 3, 3}};
  const ir::Attributes same = {{"pads", std::vector<ir::Poly>(4, ir::Poly(1))}};
  const std::vector<ElementPlan> convolution = ElementPlan::make(ops::id_of("conv"), same, images).value();
  EXPECT_EQ(convolution[0].rows.size(), 200U);
  EXPECT_EQ(convolution[0].patterns.size(), 4U);
}

TEST(Plans, AreMadeOnceForSignaturesThatShareThem) {
  GraphSignature one = GraphSignature::make({TensorKind::matrix, {"matmul", "split"}, 2}).value();
  GraphSignature other = GraphSignature::make({TensorKind::matrix, {"add", "matmul", "split"}, 2}).value();
  const auto cache = std::make_shared<PlanCache>();
  one.share_plans(cache);
  other.share_plans(cache);
  const std::array<TypeId, 2> operands = {one.leaves()[0].type, one.leaves()[0].type};
  const std::vector<ElementPlan>& mine = one.plans(choice(one, "matmul"), operands, 0);
  EXPECT_EQ(&other.plans(choice(other, "matmul"), operands, 0), &mine);
  EXPECT_NE(&other.plans(choice(other, "matmul"), operands, 1), &mine);
  cache->clear();
  EXPECT_EQ(&one.plans(choice(one, "matmul"), operands, 0), &mine);  // held
  const std::vector<std::vector<std::int64_t>> shapes = {{2, 3}, {4, 5}};
  EXPECT_EQ(cache->get(one.choices()[0].op, {}, shapes), nullptr);
}

TEST(Assignments, AgreeBetweenResiduesAndPairs) {
  const GraphSignature u = GraphSignature::make({TensorKind::matrix, {"add", "matmul", "mul", "relu", "two"}, 2}).value();
  const TypeId square = u.leaves()[0].type;
  const std::array<TypeId, 2> operands = {square, square};
  for (std::size_t c = 0; c < u.choices().size(); ++c) {
    const std::span<const TypeId> types = std::span(operands).first(u.choices()[c].operands);
    const ElementPlan& plan = u.plans(static_cast<ChoiceId>(c), types, 0).front();
    std::vector<std::vector<Residue>> residues(2);
    std::vector<std::vector<Pair>> pairs(2);
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t e = 0; e < 16 * 8; ++e) {
        residues[k].push_back(static_cast<Residue>(mix(e + 1000 * k) % kFirstPrime));
        pairs[k].push_back({residues[k].back(), static_cast<std::uint32_t>(mix(e) % kSecondPrime)});
      }
    }
    const std::array<const Residue*, 2> r = {residues[0].data(), residues[1].data()};
    const std::array<const Pair*, 2> p = {pairs[0].data(), pairs[1].data()};
    std::vector<Residue> of_residues(plan.elements() * 8);
    std::vector<Pair> of_pairs(plan.elements() * 8);
    ASSERT_TRUE(evaluate(plan, r, 8, of_residues.data()));
    ASSERT_TRUE(evaluate(plan, p, 8, of_pairs.data()));
    for (std::size_t k = 0; k < of_residues.size(); ++k) ASSERT_EQ(of_residues[k], of_pairs[k].first) << u.choices()[c].name;
  }
}

// Every operator of both kinds, with one kind of numbers.
template <typename Number, typename Make>
void expect_one_as_eight(TensorKind kind, std::vector<std::string> operators, const Make& make) {
  const GraphSignature u = GraphSignature::make({kind, std::move(operators), 2}).value();
  std::size_t compared = 0;
  for_each_operation(u, [&](ChoiceId c, std::span<const TypeId> operands) {
    const ElementPlan& plan = u.plans(c, operands, 0).front();
    std::array<std::vector<Number>, 2> eight;
    std::array<std::vector<Number>, 2> one;  // assignment 3
    std::vector<const Number*> of_eight;
    std::vector<const Number*> of_one;
    for (std::size_t n = 0; n < operands.size(); ++n) {
      for (std::size_t k = 0; k < u.elements(operands[n], 0) * kAssignments; ++k) {
        eight[n].push_back(make(mix(k + 1000 * n)));
        if (k % kAssignments == 3) one[n].push_back(eight[n].back());
      }
      of_eight.push_back(eight[n].data());
      of_one.push_back(one[n].data());
    }
    std::vector<Number> all(plan.elements() * kAssignments);
    std::vector<Number> single(plan.elements());
    ASSERT_TRUE(evaluate(plan, of_eight, kAssignments, all.data())) << u.choice(c).name;
    ASSERT_TRUE(evaluate(plan, of_one, 1, single.data())) << u.choice(c).name;
    for (std::size_t e = 0; e < single.size(); ++e) ASSERT_EQ(single[e], all[e * kAssignments + 3]) << u.choice(c).name;
    std::array<std::uint64_t, kAssignments> hashes{};
    std::uint64_t hash = 0;
    hash_assignments(all.data(), plan.elements(), kAssignments, 5, hashes.data());
    hash_assignments(single.data(), plan.elements(), 1, 5, &hash);
    EXPECT_EQ(hash, hashes[3]) << u.choice(c).name;
    ++compared;
  });
  EXPECT_GT(compared, 10U);
}

TEST(Assignments, OfOneComputeWhatOneOfEightDoes) {
  const auto residue = [](std::uint64_t random) { return static_cast<Residue>(random % kFirstPrime); };
  const auto pair = [](std::uint64_t random) {
    return Pair{static_cast<std::uint32_t>(random % kFirstPrime), static_cast<std::uint32_t>(mix(random) % kSecondPrime)};
  };
  const auto integer = [](std::uint64_t random) { return (static_cast<Integer>(random % 61) - 30) * 9; };
  expect_one_as_eight<Residue>(TensorKind::matrix, {"add", "concat", "matmul", "mul", "relu", "split", "transpose"}, residue);
  expect_one_as_eight<Residue>(TensorKind::image, {"add", "average_pool", "conv", "enlarge", "relu"}, residue);
  expect_one_as_eight<Pair>(TensorKind::matrix, {"add", "concat", "div", "exp", "matmul", "split"}, pair);
  expect_one_as_eight<Integer>(TensorKind::image, {"add", "average_pool", "conv", "max_pool", "mul", "relu"}, integer);
}

TEST(Assignments, HashEveryElementOfLargeTensors) {
  constexpr std::size_t kElements = 5000;
  std::vector<Residue> values(kElements * kAssignments, 7);
  std::array<std::uint64_t, kAssignments> before{};
  hash_assignments(values.data(), kElements, kAssignments, 1, before.data());
  for (const std::size_t element : {std::size_t{0}, std::size_t{1023}, std::size_t{1024}, std::size_t{2048}, kElements - 1}) {
    std::vector<Residue> other = values;
    other[element * kAssignments + 2] = 8;
    std::array<std::uint64_t, kAssignments> after{};
    hash_assignments(other.data(), kElements, kAssignments, 1, after.data());
    EXPECT_EQ(after[1], before[1]);
    EXPECT_NE(after[2], before[2]) << element;
  }
}

}  // namespace
}  // namespace xflow::generator
