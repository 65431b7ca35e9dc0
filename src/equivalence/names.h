// Names of the values of a graph, for reports.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "src/ir/graph.h"

namespace xflow::equivalence {

using NameMap = std::unordered_map<ir::ValueId, std::string_view>;

class Names {
 public:
  // A value without a name has that of the first value in topological order that is computed from it and has
  // one.
  Names(const ir::Arena& arena, const ir::Graph& graph, NameMap names);
  std::string of(ir::ValueId value) const;

 private:
  NameMap names_;
};

}  // namespace xflow::equivalence
