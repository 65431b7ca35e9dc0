// Rules with one change each: mutants, most of them wrong, and variants, most of them as true as their parents.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// The same of changes that keep a true rule true, up to where its sides have values: laws applied on one side (x - 0, neg(neg(x)), a sum in
// another order), a function of an output or of a variable on both sides, the sides exchanged.
std::vector<Mutant> vary(std::span<const rules::Rule> parents, std::size_t wanted, std::uint64_t seed);

// Makes change number `at` of those that a kind of changes has for a rule, and says what it was; nothing where there are no more than `at`.
using Change = std::function<std::optional<std::string>(rules::Rule& rule, std::size_t at)>;
// What mutate and vary do. Names are "PARENT-PREFIXnumber".
std::vector<Mutant> changed(std::span<const rules::Rule> parents, std::size_t wanted, std::uint64_t seed, const Change& change,
                            std::string_view prefix);

}  // namespace xflow::mutants
