// Rewrites that leave fewer operations, without prices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/rules/rule.h"
#include "src/search/search.h"
#include "src/search/workspace.h"

namespace xflow::search {

// Whether a rule cleans a graph up. Operations on constants alone do not count, as they are computed before the run; a rule whose target
// makes constants of its own does not clean up. An exact rule cleans up if its target has fewer operations than its source. A rule of
// another float class may only remove operations on single elements and movements of data: a scale that becomes part of a convolution's
// kernel is a clean-up, two convolutions that become one are not.
bool is_clean_up(const rules::Rule& rule);

struct SimplifyOptions {
  // Bytes of constants that the result may have, as a factor of the original's.
  double max_growth = 0.05;
  // Whether an operation that the original does not have may be in a result. Null: any may.
  std::function<bool(const ir::Arena&, ir::NodeId)> admissible;
  // Rewrites that may not be done, as search::Options::excluded. Null: none.
  Workspace::Excluded excluded;
  // Asked at every operation; true ends it with the rewrites that are done. Null: never.
  std::function<bool()> stop;
};

// Applies rewrites that leave fewer operations until there is none. Operations are visited in topological order, and again when something
// changed that their rewrites depend on; of the rewrites at one operation the first that leaves fewer operations is done. The result is a
// function of the arguments. Its operations are added to `arena`; steps have no gain, and `after` is 0.
Finalist simplify(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const SimplifyOptions& options);

}  // namespace xflow::search
