// Clean-ups: rewrites that leave fewer operations, applied without a cost model.
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

// True if a rule is a clean-up. Operations on constants alone do not count, because they are computed before
// the run. A rule whose target makes constants of its own is not a clean-up, nor is one that computes a
// concatenation where its source computes the parts: runtimes compute functions of parts together with what
// makes the parts. Any other exact rule is a clean-up if its target has fewer operations than its source. A
// rule of another float class must in addition remove only pointwise operations and data movement: folding a
// scale into the weights of a convolution is a clean-up, merging two convolutions is not.
bool is_clean_up(const rules::Rule& rule);

struct SimplifyOptions {
  // Limit on the growth of the bytes of constants, as a fraction of the original's.
  double max_growth = 0.05;
  // Operations that runtimes compute as one function, such as those of a GELU or a normalisation (see
  // cost::find_composite), are removed together or not at all.
  bool keep_composites = false;
  // True if an operation that the original does not have can be in a result. Null: any operation.
  std::function<bool(const ir::Arena&, ir::NodeId)> admissible;
  // Excluded rewrites, as search::Options::excluded. Null: none.
  Workspace::Excluded excluded;
  // Called at every operation. True ends the simplification with the rewrites done so far. Null: never.
  std::function<bool()> stop;
};

// Applies rewrites that leave fewer operations until there is none. Operations are visited in topological
// order, and again after a change that their rewrites depend on. At each operation the first rewrite that
// leaves fewer operations is applied. The result is a function of the arguments. Operations of the result
// are added to `arena`; steps have no gain, and `after` is 0.
Finalist simplify(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const SimplifyOptions& options);

}  // namespace xflow::search
