// Published substitutions as rules of ours.
#pragma once

#include "src/rules/rule.h"
#include "tests/verifier/peers/peer_rule.h"

namespace xflow::peers {

// What of the convolutions stays open. TASO computes the number of groups of a convolution from its operands: channels of the input /
// channels of a kernel. `groups`: each convolution of the source has a number of its own; otherwise 1. `window`: kernel, strides, dilations
// and all four pads are symbolic; otherwise what the file says, at stride 1 with padding SAME (a kernel of unknown size is symbolic).
struct Generality {
  bool window = false;
  bool groups = false;
};

// The rule under the weakest equations between dimensions under which both sides are well typed with output shapes that are equal: these
// are written into the declared types where they determine a dimension, as guards otherwise. A split has the sizes of the parts of the
// concat that it undoes, which is how TASO types it. Error::ill_typed where no shapes do.
Result<rules::Rule> translate(const Rule& rule, Generality generality);

// The same as rule text.
Result<std::string> rule_text(const Rule& rule, Generality generality);

bool has_convolution(const Rule& rule);

}  // namespace xflow::peers
