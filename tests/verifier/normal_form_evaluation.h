// Evaluates normal forms on concrete shapes and entries, to compare them with direct evaluation.
#pragma once

#include <optional>
#include <string>

#include "src/verifier/counterexample/concrete.h"
#include "src/verifier/proof/proof.h"

namespace xflow::verifier {

// Compares the normal forms of both sides of every output of `proof` with direct evaluation. Returns what differs, empty if nothing does;
// adds the number of elements compared to `compared`.
std::string compare_normal_forms(rules::RuleInstance& instance, const Proof& proof, const Assignment& assignment, const Inputs& inputs,
                                 std::size_t& compared);

}  // namespace xflow::verifier
