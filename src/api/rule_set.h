// What a public RuleSet is made of.
#pragma once

#include <xflow/rules.h>

#include <vector>

#include "src/rules/rule.h"
#include "src/verifier/checker/records.h"

namespace xflow {

struct RuleSet::State {
  std::vector<rules::Rule> rules;
  verifier::RecordFile records;  // of the proofs of some
  std::vector<RuleInfo> infos;   // one a rule
};

namespace api {

RuleSet make_rule_set(std::vector<rules::Rule> rules, verifier::RecordFile records = {});

// The rule of a set of one. Error::invalid_argument, "expected one rule, found 3".
Result<rules::Rule> only_rule(const RuleSet& rules);

}  // namespace api
}  // namespace xflow
