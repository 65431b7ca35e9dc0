// Normal forms compute what operators compute: checked against direct evaluation on small shapes with exact entries.
#include <gtest/gtest.h>

#include "src/rules/instantiate.h"
#include "src/verifier/counterexample/sample.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"
#include "tests/verifier/normal_form_evaluation.h"

namespace xflow::verifier {
namespace {

// Compares at most `instances` instances of each rule, at two assignments each.
std::size_t compare_folder(const std::string& folder, std::size_t instances) {
  const auto rules = read_rules(places::repository() + "/" + folder);
  EXPECT_TRUE(rules.has_value());
  std::size_t compared = 0;
  for (const rules::Rule& rule : *rules) {
    auto list = rules::instantiate(rule);
    if (!list) continue;
    const std::size_t stride = std::max<std::size_t>(1, list->size() / instances);
    for (std::size_t k = 0; k < list->size(); k += stride) {
      rules::RuleInstance& instance = (*list)[k];
      Proof proof(instance, {});
      proof.run();
      Concrete concrete(instance);
      Sampler sampler(instance, concrete, 7, 20'000'000);
      for (const Assignment& a : sampler.assignments(2)) {
        const auto inputs = concrete.draw(a, 11, Concrete::Entry::small);
        if (!inputs) continue;
        const std::string differences = compare_normal_forms(instance, proof, a, *inputs, compared);
        EXPECT_EQ(differences, "") << rule.name << " " << instance.choice << "\n" << proof.normal_source() << "\n" << proof.normal_target();
      }
    }
  }
  return compared;
}

TEST(NormalForms, OfProvableRulesAgreeWithDirectEvaluation) { EXPECT_GE(compare_folder("tests/verifier/proved", 1), 500U); }
TEST(NormalForms, OfWrongRulesAgreeWithDirectEvaluation) { EXPECT_GE(compare_folder("tests/verifier/refuted", 1), 500U); }
TEST(NormalForms, OfShippedRulesAgreeWithDirectEvaluation) { EXPECT_GE(compare_folder("substitutions", 2), 2000U); }

}  // namespace
}  // namespace xflow::verifier
