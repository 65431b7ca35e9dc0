// Generalisations of a candidate: how general the shapes, axes, batches and windows of the rule are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/generator/enumerate/candidates.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"

namespace xflow::generator {

// The generalisations, most general first.
enum class Generalisation : std::uint8_t {
  open,           // no shapes are given
  axes,           // axes are variables
  batches,        // matrices with batches
  batch,          // one batch for all matrices
  matrices,       // no batch
  windows,        // windows, strides, dilations, pads and groups are open
  groups_of_one,  // groups: 1
  no_pads,        // groups: 1, pads: 0
  strides,        // windows as enumerated, strides and groups are open
  groups,         // stride 1, windows that keep the size, groups are open
  as_enumerated,  // the same without groups
};
// Whether kernels and pads are as enumerated, and images have two dimensions.
constexpr bool has_enumerated_windows(Generalisation g) {
  return g == Generalisation::strides || g == Generalisation::groups || g == Generalisation::as_enumerated;
}
// Whether convolutions have any number of groups.
constexpr bool has_groups(Generalisation g) {
  return g == Generalisation::windows || g == Generalisation::strides || g == Generalisation::groups;
}

// What else a generalisation leaves open.
struct Openness {
  bool scalars = false;     // numbers become scalar variables
  unsigned broadcasts = 0;  // dimensions that may be 1; input k: bit 2 k for rows, bit 2 k + 1 for columns
  EqualUnknowns equal = {};
};

// Writes a candidate as rule `name`, before the type check, with the equation as its comment. Returns
// nothing if the generalisation cannot express the candidate; then `why` has the reason in words.
std::optional<rules::Rule> generalised_rule(const GraphSignature& signature, const RuleCandidate& candidate, const std::string& name,
                                            Generalisation generalisation, const Openness& open, bool small_ranks, std::string& why);

}  // namespace xflow::generator
