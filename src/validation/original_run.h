// The original, run for the check of rewritten parts, in bounds that depend on sizes alone.
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

// For all values of a run together. What takes more is computed at a sample of its elements.
struct RunBounds {
  std::uint64_t work = std::uint64_t{1} << 27;      // evaluations of an element (see eval::SampledEvaluation::work)
  std::uint64_t elements = std::uint64_t{1} << 24;  // that are held

  // What no check exceeds, also where a sample does not agree.
  static constexpr RunBounds most() { return {std::uint64_t{1} << 31, std::uint64_t{1} << 26}; }

  // The same where a run may use `bytes` of memory. 0: no bound.
  RunBounds within(std::uint64_t bytes) const {
    constexpr std::uint64_t kBytesOfElement = 256;  // in double, for all tensors of a check that are held together
    return {work, bytes == 0 ? elements : std::min(elements, std::max<std::uint64_t>(bytes / kBytesOfElement, 1))};
  }
};

// How much each of several may take, if all of them together may take `bound`: the small ones what they need, the others the same.
std::uint64_t share_of(std::uint64_t bound, std::vector<std::uint64_t> needs);

struct OriginalRun {
  std::unordered_set<ir::ValueId> exact;  // computed with all elements from values that were
  std::uint64_t work = 0;                 // that all elements would take
  std::uint64_t elements = 0;             // of all values
};

// Adds the values `wanted` of the original to `given`, computed in double from those that are there. A value that is too large for the
// bounds is computed at some elements, and read as if its other elements were equal to these.
Result<OriginalRun> run_original(ir::Arena& arena, std::span<const ir::ValueId> wanted, const eval::Options& options,
                                 const RunBounds& bounds, eval::SampledBindings& given);

}  // namespace xflow::api
