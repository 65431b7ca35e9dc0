#include "src/generator/rules/shortcuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/generator/rules/shapes.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/generator/small_graphs.h"

namespace xflow::generator {
namespace {

// What is found with these operators, up to three at a time, and the shortcuts.
struct FoundShortcuts {
  explicit FoundShortcuts(const SignatureOptions& options) : signature(GraphSignature::make(options).value()) {
    candidates = candidates_up_to(3, signature);
    const auto signature_of = [&](const KeptRule& /*rule*/) -> const GraphSignature& { return signature; };
    EXPECT_TRUE(collector.collect(signature, 0, candidates).has_value());
    collector.eliminate();
    EXPECT_TRUE(collector.prove(signature_of).value_or(false));
    EXPECT_TRUE(collector.direct(signature_of).has_value());
    ShortcutFinder finder(collector.kept(), {}, {});
    finder.find(signature, 0, candidates);
    shortcuts = finder.found();
  }

  bool has(const std::string& equation) const {
    return std::any_of(shortcuts.begin(), shortcuts.end(), [&](const Shortcut& s) { return s.rule.comment.front() == " " + equation; });
  }

  GraphSignature signature;
  RuleCollector collector{{}, {}};
  std::vector<RuleCandidate> candidates;
  std::vector<Shortcut> shortcuts;
};

TEST(Shortcuts, BringConstantsOfTwoBranchesTogether) {
  const FoundShortcuts found({TensorKind::matrix, {"add", "rows"}, 2});
  const auto branches = std::find_if(found.shortcuts.begin(), found.shortcuts.end(),
                                     [](const Shortcut& s) { return s.rule.comment.front().starts_with(" (x + z) + (u + v) = "); });
  ASSERT_NE(branches, found.shortcuts.end());
  // z and v are rows.
  EXPECT_NE(rules::print(branches->rule).find("const(z) and\n    const(v)\n"), std::string::npos) << rules::print(branches->rule);
}

TEST(Shortcuts, AreNoStepsOfOtherRules) {
  const FoundShortcuts found({TensorKind::image, {"add", "channels", "conv", "mul", "reshape"}, 2});
  ASSERT_FALSE(found.shortcuts.empty());
  // One rule moves a scale into the kernel, and so it needs no shortcut.
  EXPECT_FALSE(found.has("x * conv(z, u) = conv(z, (u * reshape(x)))"));
  for (std::size_t k = 0; k < found.shortcuts.size(); ++k) {
    Deriver others;
    for (std::size_t other = 0; other < k; ++other) ASSERT_TRUE(others.add(found.shortcuts[other].rule, true).has_value());
    for (const KeptRule& kept : found.collector.kept()) {
      if (!kept.needed || !kept.gain.forwards) continue;
      ASSERT_TRUE(others.add(kept.rule, true).has_value());
    }
    const FlatEquation equation = GeneralShapes(found.signature, found.shortcuts[k].candidate).concrete(others.vocabulary());
    EXPECT_FALSE(others.derives(equation, {.rounds = 1}, Goal::rewrite)) << rules::print(found.shortcuts[k].rule);
  }
}

// Two convolutions of one image, the smaller kernel surrounded by zeros: larger before it is added to the other.
TEST(Shortcuts, MergeKernelsOfTwoSizes) {
  const FoundShortcuts found({TensorKind::image, {"add", "conv", "enlarge"}, 2});
  EXPECT_TRUE(found.has("conv(x, z) + conv(x, u) = conv(x, (u + enlarge(z)))"));
}

// They are proved from their text too, as a user has them.
TEST(Shortcuts, AreProved) {
  const FoundShortcuts found({TensorKind::matrix, {"add", "matmul", "mul", "rows"}, 3});
  ASSERT_FALSE(found.shortcuts.empty());
  for (const Shortcut& s : found.shortcuts) {
    const rules::Rule reread = rule(rules::print(s.rule));
    EXPECT_EQ(verifier::decide(reread).verdict, verifier::Verdict::proved) << rules::print(reread);
  }
}

// A function that a model writes with three operations, though 6 hard_sigmoid(x) = clip(x + 3) derives it.
TEST(Shortcuts, MayLoseNumbers) {
  const FoundShortcuts found({TensorKind::matrix, {"add", "clip", "div", "hard_sigmoid", "mul", "six", "three"}, 1});
  EXPECT_TRUE(found.has("clip((x + 3)) / 6 = hard_sigmoid(x)"));
}

TEST(Shortcuts, NeedParameters) { EXPECT_TRUE(FoundShortcuts({TensorKind::matrix, {"add", "matmul", "mul"}, 3}).shortcuts.empty()); }

}  // namespace
}  // namespace xflow::generator
