// Gives the nodes of a step other numbers.
#pragma once

#include <cstdint>
#include <span>

#include "src/parallel/split_workload.h"

namespace xflow::parallel {

// Node k becomes node positions[k], and tensors are in the order of their nodes. Nothing changes if there
// are no positions.
void number_nodes(SplitStep& step, std::span<const std::uint32_t> positions);

}  // namespace xflow::parallel
