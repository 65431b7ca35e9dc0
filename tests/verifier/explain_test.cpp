// Explanations as text. With XFLOW_RENEW_GOLDENS set in the environment the files under tests/verifier/explained are written again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "src/verifier/counterexample/explain_rule.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"

namespace xflow::verifier {
namespace {

void expect_explained(const std::string& folder, const std::string& rule) {
  const auto rules = read_rules(places::repository() + "/" + folder);
  ASSERT_TRUE(rules) << rules.error().text();
  std::string text = "no such rule";
  for (const rules::Rule& r : *rules)
    if (r.name == rule) text = explain_rule(r);
  const std::string path = places::repository() + "/tests/verifier/explained/" + rule + ".txt";
  if (std::getenv("XFLOW_RENEW_GOLDENS") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << "if this is meant, run the test once with XFLOW_RENEW_GOLDENS=1 in the environment";
}

TEST(Explanation, OfMergedProducts) { expect_explained("substitutions", "merge-matmuls-sharing-lhs"); }
TEST(Explanation, OfAConvolutionWithAScale) { expect_explained("substitutions", "scale-of-convolution"); }
TEST(Explanation, OfARuleWithGuards) { expect_explained("tests/verifier/proved", "slice-across-a-boundary"); }
TEST(Explanation, OfARefutedRule) { expect_explained("tests/verifier/refuted", "difference-of-products-as-sum"); }

}  // namespace
}  // namespace xflow::verifier
