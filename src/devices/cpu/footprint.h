// Memory footprints of whole graphs, which decide what the caches of this CPU hold when a kernel starts.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "src/ir/graph.h"

namespace xflow::cost::cpu {

// Bytes that a run of the graph accesses between two launches of the same kernel: its constants, the
// operands and results of its largest operation, and 16 KiB of code and description for each different
// kernel. Operations of unknown size count 0.
std::size_t bytes_of_run(const ir::Arena& arena, const ir::Graph& graph, const ir::Symbols::Valuation& sizes);

// The values that CpuOptions::cache_footprint may take. Kernels are timed once per value, not once per
// graph.
inline constexpr std::array<std::size_t, 4> kCacheFootprints = {0, std::size_t{4} << 20U, std::size_t{16} << 20U, std::size_t{64} << 20U};

std::string caches_name(std::size_t footprint);  // the name of an element of kCacheFootprints: "warm", "16MiB"

// The element of kCacheFootprints for a run that accesses so many bytes on `threads` cores: 0 if their
// second-level caches hold all of them, otherwise the smallest element that has at least four fifths of
// `bytes`, or the largest element.
std::size_t cache_footprint_for(std::size_t bytes, int threads);

}  // namespace xflow::cost::cpu
