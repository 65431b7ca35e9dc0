// Small graphs whose cheapest equivalent is known: built by hand, and costed like the result of a search.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/kernels/device.h"

namespace xflow::bench {

struct Case {
  std::unique_ptr<ir::Arena> arena = std::make_unique<ir::Arena>();
  ir::Graph graph;
  ir::Graph best;  // the hand-made optimum in the same arena, unless the graph itself is cheaper
};

struct NamedCase {
  std::string name;  // "blocks"
  Case (*make)(int size);
  std::vector<int> sizes;
};
const std::vector<NamedCase>& cases();

// A GPU as a roofline: a launch takes 5 us, 800 GB/s, 14 TFLOP/s. Nothing fuses, and copies (split, concat,
// transpose, slice, pad) are free if `copies_are_free`; otherwise up to four pointwise operations fuse after a
// kernel.
std::unique_ptr<cost::Device> roofline(bool copies_are_free);

}  // namespace xflow::bench
