// The substitutions that TASO publishes follow from rules that are found here. XFLOW_TEST_PEERS is the folder that holds its file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "src/generator/rules/minimize.h"
#include "src/generator/rules/rule_goal.h"
#include "src/generator/rules/shapes.h"
#include "tests/generator/small_graphs.h"
#include "tests/verifier/peers/translate.h"

namespace xflow::generator {
namespace {

constexpr std::size_t kOperators = 3;

// By their numbers: concatenations of two convolutions with inputs of their own are false.
const std::set<int> kRefuted = {99, 100, 130, 131};

// Adds what was collected from, at known sizes, to `equations`.
void collect(RuleCollector& collector, TensorKind kind, std::vector<std::string> operators, std::vector<FlatEquation>& equations) {
  const std::size_t number = kind == TensorKind::matrix ? 0 : 1;
  const auto signature = GraphSignature::make({kind, std::move(operators), 4});
  ASSERT_TRUE(signature.has_value()) << signature.error().text();
  const std::vector<RuleCandidate> candidates = candidates_up_to(kOperators, *signature);
  ASSERT_TRUE(collector.collect(*signature, number, candidates).has_value());
  for (const RuleCandidate& c : candidates) equations.push_back(GeneralShapes(*signature, c).concrete(collector.deriver().vocabulary()));
}

std::vector<peers::Rule> published_rules(const std::string& folder) {
  std::ifstream in(folder + "/taso_graph_subst.pb", std::ios::binary);
  EXPECT_TRUE(in.good()) << "cannot read " << folder << "/taso_graph_subst.pb";
  std::ostringstream bytes;
  bytes << in.rdbuf();
  const auto rules = peers::read_taso(bytes.str());
  EXPECT_TRUE(rules.has_value()) << rules.error().text();
  return rules.value_or(std::vector<peers::Rule>());
}

// What is found in graphs of up to three operators; made once.
struct Found {
  RuleCollector collector{{}, {}};
  std::vector<FlatEquation> candidates;
};
Found& found() {
  static Found* const kFound = [] {
    auto* const found = new Found;
    collect(found->collector, TensorKind::matrix, {"add", "concat", "matmul", "mul", "relu", "split", "transpose"}, found->candidates);
    collect(found->collector, TensorKind::image, {"add", "average_pool", "concat", "conv", "enlarge", "mul", "relu", "split"},
            found->candidates);
    found->collector.eliminate();
    return found;
  }();
  return *kFound;
}

RuleCollector& found_rules() { return found().collector; }

// Expects that what was found derives a rewrite of docs/coverage.md.
void expect_derived(RuleCollector& collector, int item, const std::string& body) {
  const auto parsed = rules::parse_rules("rule r\n" + body + "\n", "known");
  ASSERT_TRUE(parsed.has_value()) << item << ": " << parsed.error().text();
  const auto goals = goals_of(collector.deriver().vocabulary(), parsed->front());
  ASSERT_TRUE(goals.has_value()) << item << ": " << goals.error().text();
  EXPECT_TRUE(derive(collector.deriver(), *goals, {}).derived) << item << "\n" << rules::print(parsed->front());
}

// Elimination asks for the equations of the rules that it removes alone: what these derived follows from the others too.
TEST(FoundRules, DeriveAllCandidatesAfterElimination) {
  EXPECT_GT(found().candidates.size(), 10000U);
  std::size_t open = 0;
  for (const FlatEquation& e : found().candidates) open += found_rules().deriver().derive(e, {}).derived ? 0 : 1;
  EXPECT_EQ(open, found_rules().counts().follow_from_unproved + found_rules().unproved().size());
}

// docs/coverage.md says of these that the generator finds them. As equations: in both directions, and for tensors of few dimensions.
TEST(FoundRules, DeriveKnownRewrites) {
  const std::vector<std::pair<int, std::string>> known = {
      {1,
       "with\n x: [N, C, H, W]\n v: [O, C, R, R]\n w: [P, C, R, R]\nsource\n y1 = conv(x, v, pads: 1)\n y2 = conv(x, w, pads: 1)\ntarget\n"
       " y1, y2 = split(conv(x, concat(v, w, axis: 0), pads: 1), axis: 1, sizes: [O, P])"},
      {2,
       "with\n x: [N, C, H, W]\n v: [O, C, 3, 3]\n w: [O, C, 1, 1]\nsource\n y = conv(x, v, pads: 1) + conv(x, w)\ntarget\n"
       " y = conv(x, v + pad(w, begins: [0, 0, 1, 1], ends: [0, 0, 1, 1]), pads: 1)"},
      {3,
       "with\n x: [M, K]\n a: [K, N]\n b: [K, P]\n c: [K, Q]\nsource\n y1 = matmul(x, a)\n y2 = matmul(x, b)\n y3 = matmul(x, c)\ntarget\n"
       " y4, y3 = split(matmul(x, concat(concat(a, b, axis: 1), c, axis: 1)), axis: 1, sizes: [N + P, Q])\n y1, y2 = split(y4, axis: 1, "
       "sizes: [N, P])"},
      {4,
       "with\n x: [M, K]\n z: [M, L]\n a: [K, N]\n b: [L, N]\nsource\n y = matmul(x, a) + matmul(z, b)\ntarget\n"
       " y = matmul(concat(x, z, axis: 1), concat(a, b, axis: 0))"},
      {6,
       "with\n x: [N, C, H, W]\n v: [O, C, 3, 3]\n w: [O, C, 3, 3]\nsource\n y = conv(x, v, pads: 1) + conv(x, w, pads: 1)\ntarget\n"
       " y = conv(x, v + w, pads: 1)"},
      {6,
       "with\n x: [N, C, H, W]\n z: [N, C, H, W]\n w: [O, C, 3, 3]\nsource\n y = conv(x, w, pads: 1) + conv(z, w, pads: 1)\ntarget\n"
       " y = conv(x + z, w, pads: 1)"},
      {8, "with\n x: [B, M, K]\n a: [K, L]\n b: [L, N]\nsource\n y = matmul(matmul(x, a), b)\ntarget\n y = matmul(x, matmul(a, b))"},
      {9, "with\n x: [M, K]\n a: [K, N]\n b: [K, N]\nsource\n y = matmul(x, a) + matmul(x, b)\ntarget\n y = matmul(x, a + b)"},
      {10,
       "with\n x: [N, C, H, W]\n z: [M, C, H, W]\n w: [O, C, 3, 3]\nsource\n y1 = conv(x, w, pads: 1)\n y2 = conv(z, w, pads: 1)\ntarget\n"
       " y1, y2 = split(conv(concat(x, z, axis: 0), w, pads: 1), axis: 0, sizes: [N, M])"},
      {11, "with\n x: [M, K]\n z: [M, L]\nsource\n y = concat(relu(x), relu(z), axis: 1)\ntarget\n y = relu(concat(x, z, axis: 1))"},
      {11,
       "with\n x: [M, K]\n z: [M, K]\n u: [M, L]\n v: [M, L]\nsource\n y = concat(x + z, u + v, axis: 1)\ntarget\n"
       " y = concat(x, u, axis: 1) + concat(z, v, axis: 1)"},
      {11,
       "with\n x: [N, C, H, W]\n z: [N, D, H, W]\nsource\n y = concat(average_pool(x, kernel: 3, pads: 1, count_include_pad: 1), "
       "average_pool(z, "
       "kernel: 3, pads: 1, count_include_pad: 1), axis: 1)\ntarget\n y = average_pool(concat(x, z, axis: 1), kernel: 3, pads: 1, "
       "count_include_pad: 1)"},
      {14,
       "with\n x: [K, M]\n a: [K, N]\nsource\n y = matmul(transpose(x, perm: [1, 0]), a)\ntarget\n"
       " y = transpose(matmul(transpose(a, perm: [1, 0]), x), perm: [1, 0])"},
      {15, "with\n x: [M, K]\nsource\n y = transpose(transpose(x, perm: [1, 0]), perm: [1, 0])\ntarget\n y = x"},
      {15, "with\n x: [M, K]\nsource\n y1, y2 = split(x, axis: 1, sizes: [s, t])\n y = concat(y1, y2, axis: 1)\ntarget\n y = x"},
      {20,
       "with\n x: [M, K]\n w: [K, N]\n a: [K, R]\n b: [R, N]\nsource\n y = matmul(x, w) + matmul(matmul(x, a), b)\ntarget\n"
       " y = matmul(x, w + matmul(a, b))"},
  };
  for (const auto& [item, body] : known) expect_derived(found_rules(), item, body);
}

// Scales and shifts of channels and columns, which models have after convolutions and products.
TEST(FoundRules, DeriveFoldedScalesAndShifts) {
  RuleCollector collector{{}, {}};
  std::vector<FlatEquation> candidates;
  collect(collector, TensorKind::matrix, {"add", "matmul", "mul", "rows"}, candidates);
  collect(collector, TensorKind::image, {"add", "channels", "conv", "mul", "reshape"}, candidates);
  const std::string image = "with\n x: [N, C, H, W]\n ";
  const std::string matrix = "with\n x: [M, K]\n w: [K, N]\n ";
  const std::vector<std::pair<int, std::string>> known = {
      {12, image + "w: [O, C, 3, 3]\n t: [1, O, 1, 1]\nsource\n y = conv(x, w, pads: 1) * t\ntarget\n"
                   " y = conv(x, w * reshape(t, shape: [O, 1, 1, 1]), pads: 1)"},
      {12, image + "w: [O, C, 3, 3]\n s: [1, C, 1, 1]\nsource\n y = conv(x * s, w, pads: 1)\ntarget\n y = conv(x, w * s, pads: 1)"},
      {12, image + "w: [O, C, 1, 1]\n s: [1, C, 1, 1]\nsource\n y = conv(x + s, w)\ntarget\n y = conv(x, w) + conv(s, w)"},
      {12, image + "w: [O, C, 1, 1]\n t: [1, O, 1, 1]\n b: [1, O, 1, 1]\nsource\n y = (conv(x, w) + b) * t\ntarget\n"
                   " y = conv(x, w * reshape(t, shape: [O, 1, 1, 1])) + b * t"},
      {12, matrix + "t: [1, N]\nsource\n y = matmul(x, w) * t\ntarget\n y = matmul(x, w * t)"},
      {12, matrix + "s: [1, K]\nsource\n y = matmul(x + s, w)\ntarget\n y = matmul(x, w) + matmul(s, w)"},
  };
  for (const auto& [item, body] : known) expect_derived(collector, item, body);
  EXPECT_TRUE(collector.unproved().empty()) << collector.unproved().front();
}

TEST(PublishedRules, AreDerivedByFoundRules) {
  const char* folder = std::getenv("XFLOW_TEST_PEERS");
  if (folder == nullptr) GTEST_SKIP() << "XFLOW_TEST_PEERS is not set";
  const std::vector<peers::Rule> published = published_rules(folder);
  ASSERT_EQ(published.size(), 133U);
  RuleCollector& collector = found_rules();
  std::size_t open = 0;
  for (const peers::Rule& p : published) {
    const auto rule = peers::translate(p, {});
    ASSERT_TRUE(rule.has_value()) << rule.error().text();
    const auto goals = goals_of(collector.deriver().vocabulary(), *rule);
    ASSERT_TRUE(goals.has_value()) << goals.error().text();
    const bool derived = derive(collector.deriver(), *goals, {}).derived;
    open += derived ? 0 : 1;
    EXPECT_EQ(derived, !kRefuted.contains(std::stoi(p.name.substr(p.name.find('-') + 1)))) << rules::print(*rule);
  }
  EXPECT_EQ(open, kRefuted.size());
}

}  // namespace
}  // namespace xflow::generator
