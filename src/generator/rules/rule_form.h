// One form of a rule: how general shapes, axes, batches and windows are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/generator/enumerate/candidates.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"

namespace xflow::generator {

// The forms, most general first.
enum class Form : std::uint8_t {
  open,           // nothing is said of shapes
  axes,           // axes are variables
  batches,        // matrices with batches
  batch,          // the same batch for all
  matrices,       // no batch
  windows,        // convolutions with everything open
  groups_of_one,  // groups: 1
  as_enumerated,  // stride 1, windows that keep the size
};

// What a form leaves open besides.
struct Openness {
  bool scalars = false;     // numbers are any scalars
  unsigned broadcasts = 0;  // dimensions that may be 1: of input k bit 2 k its rows, bit 2 k + 1 its columns
  EqualUnknowns equal = {};
};

// Rule `name`, with the equation as its comment, before the type check; nothing where the form cannot say it, and then `why` has the reason
// in words.
std::optional<rules::Rule> form_rule(const GraphSignature& signature, const Candidate& candidate, const std::string& name, Form form,
                                     const Openness& open, bool small_ranks, std::string& why);

}  // namespace xflow::generator
