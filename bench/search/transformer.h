// A deep transformer as a framework exports it.
#pragma once

#include "src/ir/graph.h"

namespace xflow::bench {

// `layers` layers of 51 operations on a sequence of 16 tokens: hidden size 32, 4 heads, an additive mask, layer
// normalisation and GELU by their parts. The layers differ in their weights alone.
ir::Graph transformer(ir::Arena& arena, int layers);

}  // namespace xflow::bench
