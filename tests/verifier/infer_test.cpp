// Guards that are found, each shown to be needed.
#include "src/verifier/guards/infer.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "src/rules/instantiate.h"
#include "src/verifier/checker/replay.h"
#include "src/verifier/guards/sampled_instances.h"
#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"

namespace xflow::verifier {
namespace {

std::vector<std::string> printed(const std::vector<InferredGuard>& guards) {
  std::vector<std::string> list;
  for (const InferredGuard& g : guards) list.push_back(rules::print(g.guard));
  return list;
}

using Expected = std::map<std::string, std::vector<std::string>>;

// Infers the guards of all rules of a file, compares them, and evaluates again what shows that each is needed.
void expect_guards(const std::string& file, const Expected& expected) {
  const auto all = read_rules(places::repository() + "/tests/verifier/guards");
  ASSERT_TRUE(all) << all.error().text();
  std::size_t seen = 0;
  for (const rules::Rule& rule : *all) {
    if (!rule.file.ends_with(file)) continue;
    ++seen;
    const auto found = infer_guards(rule);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_TRUE(found->proved) << rule.name << ": " << found->open;
    ASSERT_TRUE(expected.contains(rule.name)) << rule.name;
    EXPECT_EQ(printed(found->guards), expected.at(rule.name)) << rule.name;
    EXPECT_EQ(decide(found->rule).verdict, Verdict::proved) << rule.name;
    for (const InferredGuard& g : found->guards) {
      ASSERT_TRUE(g.without) << rule.name << " without " << rules::print(g.guard);
      std::vector<rules::Guard> others = found->kept;
      for (const InferredGuard& other : found->guards)
        if (&other != &g) others.push_back(other.guard);
      const auto weaker = with_guards(rule, others);
      ASSERT_TRUE(weaker) << weaker.error().text();
      const auto replayed = replay_counterexample(*weaker, g.without->to_string());
      ASSERT_TRUE(replayed) << replayed.error().text();
      EXPECT_TRUE(replayed->different) << rule.name << " without " << rules::print(g.guard);
    }
  }
  EXPECT_EQ(seen, expected.size());
}

TEST(InferredGuards, OfConvolutionsAreTheKnownOnes) {
  const std::vector<std::string> one_group = {"g = 1"};
  const std::vector<std::string> equal_channels = {"O = P"};
  expect_guards("convolution.rules", {{"sum-of-convolutions-as-one", one_group},
                                      {"sum-of-padded-convolutions-as-one", one_group},
                                      {"concat-of-convolutions-of-one-input", one_group},
                                      {"concat-of-rectified-convolutions-of-one-input", one_group},
                                      {"convolutions-of-one-input", one_group},
                                      {"rectified-convolutions-of-one-input", one_group},
                                      {"convolutions-side-by-side", equal_channels},
                                      {"rectified-convolutions-side-by-side", equal_channels},
                                      {"sibling-convolutions",
                                       {"d = e", "begins(p) = begins(q)", "s = t", "dim(y1, 2) = dim(y2, 2)", "dim(y1, 3) = dim(y2, 3)"}}});
}

TEST(InferredGuards, AreTheWeakestOfTheVocabulary) {
  expect_guards("other.rules", {{"product-associates", {}},
                                {"parts-swapped", {"L = K"}},
                                {"slice-of-everything", {"a = 0"}},
                                {"slice-of-the-first-part", {"A >= a + b"}},
                                {"softmax-of-concat", {"a != b"}},
                                {"strided-slice-by-reshape", {"mod(A, 2) = 0"}},
                                {"gather-of-concat", {"in_range(i, 0, A)"}}});
}

TEST(InferredGuards, AreNotFoundForARuleThatNoGuardSaves) {
  const auto rules = rules::parse_rules("rule r\n  source\n    y = relu(x)\n  target\n    y = neg(x)\n", "r.rules");
  ASSERT_TRUE(rules);
  const auto found = infer_guards(rules->front());
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_FALSE(found->proved);
  EXPECT_EQ(to_string(*found), "no guards of the vocabulary exclude all sizes on which the sides differ\n");
}

// Candidates contradict the typing of the source, which says nothing of the rule.
TEST(InferredGuards, ThatDoNotSufficeLeaveTheVerdictOfTheRule) {
  const std::set<std::string> names = {"sum-of-convolutions-padded-at-the-end", "bias-through-padded-convolution",
                                       "sum-of-convolutions-over-swapped-channels"};
  const auto all = read_rules(places::repository() + "/tests/verifier/refuted");
  ASSERT_TRUE(all) << all.error().text();
  std::size_t seen = 0;
  for (const rules::Rule& rule : *all) {
    if (!names.contains(rule.name)) continue;
    ++seen;
    const auto found = infer_guards(rule);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_FALSE(found->proved) << rule.name;
    EXPECT_EQ(found->open, decide(rule).explanation()) << rule.name;
    EXPECT_TRUE(found->open.starts_with("refuted: ")) << rule.name << ": " << found->open;
  }
  EXPECT_EQ(seen, names.size());
}

// Few instances are in memory at a time, so that a search that ends frees few. The same ones are sampled.
TEST(InferredGuards, AreSoughtInInstancesThatAreMadeAgain) {
  const auto rules = rules::parse_rules(R"(rule r
  with
    x: [A..], z: [B..]
  source
    y = expand(x, shape: [B..]) + z
  target
    y = x + z
  where rank(z) <= 3
)",
                                        "r.rules");
  ASSERT_TRUE(rules) << rules.error().text();
  const auto all = rules::instantiate(rules->front());
  ASSERT_TRUE(all) << all.error().text();
  constexpr std::size_t kMost = 4;
  ASSERT_GT(all->size(), 2 * kMost);
  for (const std::size_t kept : {std::size_t{0}, kMost, all->size() - 1, all->size()}) {
    std::size_t choices = 0;
    const auto sampled = sampled_instances(rules->front(), kMost, kept, [&] { return ++choices == 0; });
    ASSERT_TRUE(sampled) << sampled.error().text();
    ASSERT_EQ(sampled->size(), kMost);
    for (std::size_t k = 0; k < kMost; ++k) EXPECT_EQ((*sampled)[k].choice, (*all)[k * (all->size() / kMost)].choice);
    const std::size_t last = choices;
    choices = 0;
    EXPECT_FALSE(sampled_instances(rules->front(), kMost, kept, [&] { return ++choices == last; }));
    EXPECT_EQ(choices, last);
  }
}

}  // namespace
}  // namespace xflow::verifier
