// A rule's verdict with its reasons, for people.
#pragma once

#include <string>
#include <vector>

#include "src/rules/rule.h"
#include "src/verifier/proof/proof.h"

namespace xflow::verifier {

// The verdict; of one instance (of a proved rule a typical one, otherwise the one that decided) the types, what is assumed, the normal
// forms of both sides of every output and the certificate; the guards that were needed, or the counterexample. Ends with a newline.
std::string explain_rule(const rules::Rule& rule, const Options& options = {});

// What a proof that was found assumes because the source asks for it: "x[i] is positive, where y[i] has a value". The second form looks for
// a proof; it says nothing where it finds none.
std::vector<std::string> source_facts_text(const rules::RuleInstance& instance, const Proof& proof);
std::vector<std::string> source_facts_text(rules::RuleInstance& instance, const Options& options);

}  // namespace xflow::verifier
