// The assumptions of a proof about the shapes, attributes and values of a rule, as text.
#pragma once

#include <xflow/error.h>

#include <optional>
#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"
#include "src/verifier/proof/decide.h"

namespace xflow::verifier {

// The types of the variables: "x: float32[M, K]". Dimensions that the proof treats as equal have one name.
std::vector<std::string> variable_types(const rules::RuleInstance& instance);

// Every fact of the proof with its origin: "M <= N (guard M <= N)", "x has no element 0". Types of variables
// are not repeated.
std::vector<std::string> assumptions(const rules::RuleInstance& instance);

// True if an output has two or more dimensions.
bool is_typical(const rules::RuleInstance& instance);
// The index of the instance that represents a rule: the first typical one, otherwise the last.
std::size_t typical_instance(const std::vector<rules::RuleInstance>& instances);

// The rule with other guards. Errors: those of parse_rules.
Result<rules::Rule> with_guards(const rules::Rule& rule, std::vector<rules::Guard> guards);

// The rule with at most kSmallRank dimensions for variables of unknown rank, which has fewer instances.
// nullopt if no rank is unknown.
constexpr int kSmallRank = 3;
std::optional<rules::Rule> with_small_ranks(const rules::Rule& rule);

// True for guards that a proof uses. The others (const, finite, uses) say where to apply a rule.
bool enters_proof(const rules::Guard& guard);
// True for relations of ranks only. They say for which ranks a rule is meant.
bool is_about_ranks(const rules::Guard& guard);

// The guards of a proved rule, in their order, without which the rule is not proved. Guards about ranks
// count as needed, and so do guards without which more than 40 choices are open. A guard that the others
// make redundant is left out.
std::vector<rules::Guard> needed_guards(const rules::Rule& rule, const Options& options = {});

}  // namespace xflow::verifier
