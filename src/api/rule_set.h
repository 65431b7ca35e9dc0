// The state of a public RuleSet.
#pragma once

#include <xflow/rules.h>

#include <vector>

#include "src/rules/rule.h"
#include "src/verifier/checker/records.h"

namespace xflow {

struct RuleSet::State {
  std::vector<rules::Rule> rules;
  verifier::RecordFile records;  // records of proofs; a rule may have none
  std::vector<RuleInfo> infos;   // one per rule
};

namespace api {

// Makes a public rule set.
RuleSet make_rule_set(std::vector<rules::Rule> rules, verifier::RecordFile records = {});

// The rule of a set with one rule. Error::invalid_argument for other sets: "expected one rule, found 3".
Result<rules::Rule> only_rule(const RuleSet& rules);

}  // namespace api
}  // namespace xflow
