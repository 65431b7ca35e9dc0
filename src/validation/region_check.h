// Rewritten parts of a graph, executed against what they replace.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/ir/graph.h"
#include "src/validation/run_inputs.h"

namespace xflow::api {

struct RegionCheck {
  ir::Arena& arena;
  const ir::Graph& original;
  const ir::Graph& result;
  const ir::ValueMap& correspondence;  // values of `original` to the equal values of `result` that replaced them
  std::span<const NamedInput> inputs;
  const RunInputs& runs;
  std::function<std::string(ir::ValueId)> name_of;        // of a value of `original`
  std::function<Result<ir::Constant>(ir::ValueId)> fold;  // an expression of constants, as it will be written
  eval::Options options = {};                             // what ends the check with Error::limit: stop, most_elements, bytes_left
  std::uint64_t max_bytes = 0;                            // that the run may use; 0: no bound
};

struct CheckedRegions {
  std::vector<CheckedRegion> regions;
  std::vector<std::vector<ir::ValueId>> replaced;  // by region: the values of `original` whose place it takes
  std::vector<std::string> sizes;                  // that were run: "x: [1, 3, 128, 128]"
  std::vector<std::string> skipped;                // that were not, with the reason
};

// One entry for each value that a rewrite made (values that were only rebuilt on other operands follow from these). The original is run
// from the inputs that are given, each set of them; otherwise from seeded ones, at the sizes of the search and, where the model leaves
// sizes open, at a second choice that it takes. Outputs of opaque nodes are seeded. Each new value is computed in float from the original's
// values that its region reads, with constants rounded as they will be written, and agrees by the rule of eval::compare with what it
// replaces, computed from the same values in double and in float. A value that no choice of sizes can execute does not agree. Of what is
// too large for RunBounds a sample of the elements is computed and compared, which depends on sizes and
// max_bytes alone.
Result<CheckedRegions> check_regions(const RegionCheck& check);

}  // namespace xflow::api
