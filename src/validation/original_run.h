// Runs the original for the check of rewritten regions, within bounds that depend on sizes alone.
#pragma once

#include <xflow/error.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "src/eval/sampled.h"
#include "src/ir/graph.h"

namespace xflow::api {

// Bounds for all values of a run together. Values that exceed them are computed at a sample of their
// elements.
struct RunBounds {
  std::uint64_t work = std::uint64_t{1} << 27;      // evaluations of an element (see eval::SampledEvaluation::work)
  std::uint64_t elements = std::uint64_t{1} << 24;  // held in memory

  // The bounds that no check exceeds, even when a sample disagrees.
  static constexpr RunBounds most() { return {std::uint64_t{1} << 31, std::uint64_t{1} << 26}; }

  // Returns these bounds, reduced to a run that may use `bytes` of memory. 0: no bound.
  RunBounds within(std::uint64_t bytes) const {
    // As doubles, for all tensors that a check holds at a time.
    constexpr std::uint64_t kBytesOfElement = 256;
    return {work, bytes == 0 ? elements : std::min(elements, std::max<std::uint64_t>(bytes / kBytesOfElement, 1))};
  }
};

// Returns the most that each of several users may take so that together they take at most `bound`: small
// users take what they need, the others take equal shares.
std::uint64_t share_of(std::uint64_t bound, std::vector<std::uint64_t> needs);

struct OriginalRun {
  std::unordered_set<ir::ValueId> exact;  // values computed at all elements, from such values
  std::uint64_t work = 0;                 // for computing all elements
  std::uint64_t elements = 0;             // of all values
};

// Computes the values `wanted` of the original in double from those in `given` and adds them to it. A value
// that exceeds the bounds is computed at some elements. Readers of such a value use the computed elements in
// place of the others.
Result<OriginalRun> run_original(ir::Arena& arena, std::span<const ir::ValueId> wanted, const eval::Options& options,
                                 const RunBounds& bounds, eval::SampledBindings& given);

}  // namespace xflow::api
