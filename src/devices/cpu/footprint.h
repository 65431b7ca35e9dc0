// What a run of a whole graph leaves in the caches of this CPU.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "src/ir/graph.h"

namespace xflow::cost::cpu {

// The bytes that a run of the graph goes through before it comes to the same kernel again: its constants, the operands and results of its
// largest operation, and 16 KiB of code and description for each different kernel. Operations whose sizes are not known count nothing.
std::size_t bytes_of_run(const ir::Arena& arena, const ir::Graph& graph, const ir::Symbols::Valuation& sizes);

// What CpuOptions::between may be: kernels are timed once for each of these, not once for each graph.
inline constexpr std::array<std::size_t, 4> kBetween = {0, std::size_t{4} << 20U, std::size_t{16} << 20U, std::size_t{64} << 20U};

std::string caches_name(std::size_t between);  // of one of these: "warm", "16MiB"

// The one that fits to a run through so many bytes on `threads` cores: 0 where their second-level caches hold all of it, else the least
// that is not smaller, or the largest.
std::size_t between_for(std::size_t bytes, int threads);

}  // namespace xflow::cost::cpu
