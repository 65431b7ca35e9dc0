// The loops of a node over the axes of its inputs, from the index notation of its operations.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/graph_shapes.h"
#include "src/partition/dimension_use.h"

namespace xflow::parallel {

// How a node reads an axis of an input.
struct AxisLoop {
  // The number of the loop that runs over the axis. Axes with the same loop are read together. None: nothing
  // is said about the axis.
  std::optional<std::size_t> loop;
  bool is_needed_whole = false;      // for each part of a result
  bool is_apart = false;             // any division of it is possible (DimensionUse::is_apart); it has no loop then
  std::vector<std::int64_t> blocks;  // numbers of blocks that belong together, as in a reshape
};

// By input of a node: its axes; nothing for an input whose elements the operator does not read, such as a
// shape that is known.
using InputLoops = std::vector<std::optional<std::vector<AxisLoop>>>;

class NodeLoops {
 public:
  // Those of nodes of the graphs of `shapes`, which must outlive this.
  explicit NodeLoops(onnx_io::GraphShapes& shapes) : shapes_(shapes) {}

  // Returns nothing for a node that xflow has no operator for, and for results of unknown rank.
  std::optional<InputLoops> of(const onnx_io::Node& node);

 private:
  class Walk;

  // Of one output of an operation. Operations with equal types and attributes have equal uses.
  struct KnownUse {
    ir::ValueId of;
    std::unique_ptr<partition::OperationUse> use;
  };
  using KnownUses = std::unordered_map<std::uint64_t, std::vector<KnownUse>>;
  const partition::OperationUse& use_of(ir::Arena& arena, KnownUses& known, ir::ValueId value);

  onnx_io::GraphShapes& shapes_;
  std::unordered_map<const ir::Arena*, KnownUses> known_;
};

// The loops of an operator whose rule needs no types: elementwise operators with numpy broadcasting,
// MatMul, Gemm and Concat. `ranks` has those of its inputs. Returns nothing for other operators and for
// unknown ranks.
std::optional<InputLoops> loops_by_ranks(const onnx_io::Document& document, const onnx_io::Node& node,
                                         std::span<const std::optional<std::size_t>> ranks);

}  // namespace xflow::parallel
