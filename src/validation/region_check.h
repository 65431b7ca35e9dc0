// Evaluates rewritten regions of a graph and compares them with what they replace.
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
  // Maps values of `original` to the equal values of `result` that replaced them.
  const ir::ValueMap& correspondence;
  std::span<const NamedInput> inputs;
  const RunInputs& runs;
  std::function<std::string(ir::ValueId)> name_of;  // name of a value of `original`
  // Evaluates an expression of constants as it will be written.
  std::function<Result<ir::Constant>(ir::ValueId)> fold;
  // stop, most_elements and bytes_left end the check with Error::limit.
  eval::Options options = {};
  std::uint64_t max_bytes = 0;  // memory bound of the run; 0: none
};

struct CheckedRegions {
  std::vector<CheckedRegion> regions;
  std::vector<std::vector<ir::ValueId>> replaced;  // by region: the values of `original` that it replaces
  std::vector<std::string> sizes;                  // sizes that were run: "x: [1, 3, 128, 128]"
  std::vector<std::string> skipped;                // sizes that were not run, with the reason
};

// Checks one region for each value that a rewrite made. Values that were only rebuilt on other operands need
// no check of their own.
//
// The original runs on each given set of inputs. Without given inputs it runs on seeded values at the sizes
// of the search and, if the model leaves sizes open, at a second choice that the model accepts. Outputs of
// opaque nodes are seeded.
//
// Each new value is computed in float from the original's values that its region reads, with constants
// rounded as they will be written. It agrees if eval::compare accepts it against the value that it replaces,
// computed from the same values in double and in float. A value that can be evaluated at no choice of sizes
// does not agree.
//
// Values that exceed RunBounds are computed and compared at a sample of their elements. The sample depends
// on sizes and max_bytes alone.
Result<CheckedRegions> check_regions(const RegionCheck& check);

}  // namespace xflow::api
