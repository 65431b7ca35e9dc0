// The instances of a rule on which the search for guards compares both sides.
#pragma once

#include <functional>

#include "src/rules/instantiate.h"

namespace xflow::verifier {

// Up to `most` instances of the rule, evenly spaced among all, the first included. No more than `kept` are
// in memory at a time: making many again costs less than a deadline that waits until all are freed. `ends`
// and errors as for rules::for_each_instance.
Result<std::vector<rules::RuleInstance>> sampled_instances(const rules::Rule& rule, std::size_t most, std::size_t kept,
                                                           const std::function<bool()>& ends = {});

}  // namespace xflow::verifier
