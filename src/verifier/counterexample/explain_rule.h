// A rule's verdict with its reasons, for people.
#pragma once

#include <string>

#include "src/rules/rule.h"
#include "src/verifier/proof/verifier.h"

namespace xflow::verifier {

// The verdict; of one instance (of a proved rule a typical one, otherwise the one that decided) the types, what is assumed, the normal
// forms of both sides of every output and the certificate; the guards that were needed, or the counterexample. Ends with a newline.
std::string explain_rule(const rules::Rule& rule, const Options& options = {});

}  // namespace xflow::verifier
