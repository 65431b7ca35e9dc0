// Whether the inputs of a node are divided alike.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/parallel/plan_faults.h"
#include "src/parallel/shard_layout.h"

namespace xflow::parallel {

// By input of a node and by axis: the loop of the operator that runs over the axis, as a number. Axes with
// the same loop are read together. No number: nothing is said about the axis.
using InputLoops = std::vector<std::vector<std::optional<std::size_t>>>;

// The loops of a node whose operator has a plain rule: elementwise operators with numpy broadcasting,
// MatMul, Gemm and Concat. `ranks` has those of its inputs. Returns nothing for other operators and for
// unknown ranks.
std::optional<InputLoops> input_loops(const onnx_io::Document& document, const onnx_io::Node& node,
                                      std::span<const std::optional<std::size_t>> ranks);

// An input of a node whose division is known.
struct DividedInput {
  std::size_t position = 0;  // among the inputs of the node
  std::string_view tensor;
  const ShardLayout* layout = nullptr;
  bool is_own = false;  // the node has a spec for it; otherwise it is what the producer of the tensor leaves
};

// Axes that are read together must have the same number of shards or be whole. If the node has a spec for an
// input, each combination of shards must be complete on some device. (ONNX, proposal 7, *Broadcast n-ary
// elementwise ops* and *MatMul-like ops*.)
void compare_inputs(std::span<const DividedInput> inputs, const InputLoops& loops, const FaultPlace& place, PlanFaults& faults);

}  // namespace xflow::parallel
