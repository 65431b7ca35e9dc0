// Explains the verdict on a rule.
#pragma once

#include <string>
#include <vector>

#include "src/rules/rule.h"
#include "src/verifier/proof/proof.h"

namespace xflow::verifier {

// Prints the verdict and its reasons. For one instance (a typical one if the rule is proved, otherwise the
// one that decided) it prints the types, the assumptions, the normal forms of both sides of every output,
// and the certificate. Then follow the guards that were needed, or the counterexample. Ends with a newline.
std::string explain_rule(const rules::Rule& rule, const Options& options = {});

// The facts that a proof assumes because the source demands them: "x[i] is positive, where y[i] has a
// value". The second overload searches for a proof, and returns nothing if it finds none.
std::vector<std::string> source_facts_text(const rules::RuleInstance& instance, const Proof& proof);
std::vector<std::string> source_facts_text(rules::RuleInstance& instance, const Options& options);

}  // namespace xflow::verifier
