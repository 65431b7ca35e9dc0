// Small graphs whose cheapest equivalent is known: built by hand, and costed like the result of a search.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::bench {

struct Case {
  std::unique_ptr<ir::Arena> arena = std::make_unique<ir::Arena>();
  ir::Graph graph;
  // Hand-made equivalents in the same arena. The cheapest of them and of the graph is the hand-made optimum.
  std::vector<ir::Graph> equivalents;
};

struct NamedCase {
  std::string name;  // "blocks"
  // Widths and images are divided by `divisor`: 1 for a search, more for a quick evaluation.
  Case (*make)(int size, int divisor);
  std::vector<int> sizes;
};
const std::vector<NamedCase>& cases();

}  // namespace xflow::bench
