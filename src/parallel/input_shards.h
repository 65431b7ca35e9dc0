// Whether the inputs of a node are divided alike.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "src/parallel/node_loops.h"
#include "src/parallel/plan_faults.h"
#include "src/parallel/shard_layout.h"

namespace xflow::parallel {

// An input of a node whose division is known.
struct DividedInput {
  std::size_t position = 0;  // among the inputs of the node
  std::string_view tensor;
  const ShardLayout* layout = nullptr;
  bool is_own = false;  // the node has a spec for it; otherwise it is what the producer of the tensor leaves
};

// Axes that are read together must have the same number of shards or be whole, and an axis that each part of
// the result needs must be whole. If the node has a spec for an input, and one result, each combination of
// shards must be complete on some device. (ONNX, proposal 7, *Broadcast n-ary elementwise ops* and
// *MatMul-like ops*, for the loops of any operator.) Shards along an axis that is read apart need not meet
// others. Returns false if nothing is known about a division.
bool compare_inputs(std::span<const DividedInput> inputs, const InputLoops& loops, bool has_one_result, const FaultPlace& place,
                    PlanFaults& faults);

}  // namespace xflow::parallel
