// Rules with one change each, most of them wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/rules/rule.h"

namespace xflow::mutants {

struct Mutant {
  std::string parent;
  std::string kind;  // what was changed: "operand order", "axis", "guard removed", ...
  rules::Rule rule;  // named after its parent and the number of the change
};

// `wanted` different rules that the type check accepts, each one change away from one of `parents`; fewer where there are not so many. The
// choice depends on the parents and the seed alone.
std::vector<Mutant> mutate(std::span<const rules::Rule> parents, std::size_t wanted, std::uint64_t seed);

}  // namespace xflow::mutants
