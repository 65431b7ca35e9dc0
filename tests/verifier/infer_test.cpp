// Guards that are found, each shown to be needed.
#include "src/verifier/guards/infer.h"

#include <gtest/gtest.h>

#include <map>

#include "src/verifier/checker/replay.h"
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

}  // namespace
}  // namespace xflow::verifier
