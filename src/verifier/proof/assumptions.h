// What a proof assumes of the shapes, attributes and values of a rule, as text.
#pragma once

#include <xflow/error.h>

#include <optional>
#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"
#include "src/verifier/proof/verifier.h"

namespace xflow::verifier {

// The types of the variables: "x: float32[M, K]". Dimensions that the proof takes for equal have one name.
std::vector<std::string> variable_types(const rules::RuleInstance& instance);

// Every fact of the proof, with where it comes from: "M <= N (guard M <= N)", "x has no element 0". Types of variables are not repeated.
std::vector<std::string> assumptions(const rules::RuleInstance& instance);

// An output has two or more dimensions.
bool is_typical(const rules::RuleInstance& instance);
// The instance that speaks for a rule: the first that is typical, otherwise the last.
std::size_t typical_instance(const std::vector<rules::RuleInstance>& instances);

// The rule with other guards. Errors as parse_rules.
Result<rules::Rule> with_guards(const rules::Rule& rule, std::vector<rules::Guard> guards);

// The rule where variables of unknown rank have at most kSmallRank dimensions: one with fewer instances. Nothing if no rank is unknown.
constexpr int kSmallRank = 3;
std::optional<rules::Rule> with_small_ranks(const rules::Rule& rule);

// True for guards that a proof uses; the others (const, finite, uses) say where to apply a rule.
bool enters_proof(const rules::Guard& guard);
// True for relations of ranks alone: they say for which ranks a rule is meant.
bool is_about_ranks(const rules::Guard& guard);

// The guards of a proved rule, in their order, without which it is not proved; guards about ranks are taken for needed, and those
// without which more than 40 choices are open. A guard that the others make superfluous is left out.
std::vector<rules::Guard> needed_guards(const rules::Rule& rule, const Options& options = {});

}  // namespace xflow::verifier
