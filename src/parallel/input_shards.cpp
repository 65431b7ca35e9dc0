#include "src/parallel/input_shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "src/onnx/lift/lift_operator.h"
#include "src/onnx/lift/mapping_table.h"
#include "src/support/printable.h"

namespace xflow::parallel {
namespace {

using onnx_io::in_quotes;
using Loops = std::vector<std::optional<std::size_t>>;  // of one input

// Operators of any number of inputs, which are no operators of the IR.
constexpr std::array<std::string_view, 4> kVariadic = {"Max", "Mean", "Min", "Sum"};

constexpr std::int64_t kFirstWithBroadcast = 7;  // opset; earlier, an attribute says where operands are aligned

// Loops of matrix products. Those of the batch follow, from the last axis of the batch on.
constexpr std::size_t kRows = 0;
constexpr std::size_t kColumns = 1;
constexpr std::size_t kSum = 2;
constexpr std::size_t kBatch = 3;

// Loop k runs over the k-th axis from the end.
Loops from_the_end(std::size_t rank, std::size_t first = 0) {
  Loops loops(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) loops[axis] = first + rank - 1 - axis;
  return loops;
}

InputLoops product_loops(std::size_t left, std::size_t right) {
  InputLoops loops{from_the_end(left, kBatch - 2), from_the_end(right, kBatch - 2)};
  loops[0].back() = kSum;
  if (left > 1) loops[0][left - 2] = kRows;
  if (right == 1) {
    loops[1].back() = kSum;
  } else {
    loops[1].back() = kColumns;
    loops[1][right - 2] = kSum;
  }
  return loops;
}

std::int64_t integer_of(const onnx_io::Node& node, std::string_view name, std::int64_t otherwise) {
  const onnx_io::Attribute* attribute = node.find(name);
  return attribute == nullptr ? otherwise : attribute->integer().value_or(otherwise);
}

InputLoops gemm_loops(const onnx_io::Node& node, std::span<const std::optional<std::size_t>> ranks) {
  InputLoops loops{{kRows, kSum}, {kSum, kColumns}};
  if (integer_of(node, "transA", 0) != 0) std::swap(loops[0][0], loops[0][1]);
  if (integer_of(node, "transB", 0) != 0) std::swap(loops[1][0], loops[1][1]);
  if (ranks.size() == 3) {
    const Loops whole{kRows, kColumns};
    loops.emplace_back(whole.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(ranks[2].value_or(0), 2)), whole.end());
  }
  return loops;
}

// The part of a tensor that a device needs: "'x' (shard 1 of axis 0)".
std::string part_of(const DividedInput& input, const InputLoops& loops, const std::map<std::size_t, std::int64_t>& shards) {
  std::vector<std::string> cuts;
  cuts.reserve(input.layout->cuts.size());
  for (const AxisCut& cut : input.layout->cuts)
    cuts.push_back(fmt::format("shard {} of axis {}", shards.at(*loops[input.position][cut.axis]), cut.axis));
  return cuts.empty() ? in_quotes(input.tensor) : fmt::format("{} ({})", in_quotes(input.tensor), fmt::join(cuts, ", "));
}

// By loop: the number of shards, and the shard of a device.
using LoopShards = std::map<std::size_t, std::int64_t>;

// The shards of a device along all loops; nothing if it lacks an input or has parts that do not fit.
std::optional<LoopShards> shards_on(std::int64_t device, std::span<const DividedInput> inputs, const InputLoops& loops) {
  LoopShards shards;
  for (const DividedInput& input : inputs) {
    const auto held = input.layout->shards.find(device);
    if (held == input.layout->shards.end()) return std::nullopt;
    for (std::size_t k = 0; k < input.layout->cuts.size(); ++k) {
      const auto [known, is_new] = shards.emplace(*loops[input.position][input.layout->cuts[k].axis], held->second[k]);
      if (!is_new && known->second != held->second[k]) return std::nullopt;
    }
  }
  return shards;
}

// The first combination of shards that no device has.
std::optional<LoopShards> first_missing(std::span<const DividedInput> inputs, const InputLoops& loops, const LoopShards& counts) {
  std::set<LoopShards> held;
  for (const auto& [device, shards] : inputs.front().layout->shards)
    if (auto complete = shards_on(device, inputs, loops)) held.insert(*std::move(complete));
  LoopShards wanted;
  for (const auto& [loop, count] : counts) wanted[loop] = 0;
  while (held.contains(wanted)) {
    auto loop = wanted.rbegin();
    while (loop != wanted.rend() && ++loop->second == counts.at(loop->first)) (loop++)->second = 0;
    if (loop == wanted.rend()) return std::nullopt;
  }
  return wanted;
}

}  // namespace

std::optional<InputLoops> input_loops(const onnx_io::Document& document, const onnx_io::Node& node,
                                      std::span<const std::optional<std::size_t>> ranks) {
  if (!onnx_io::is_default_domain(node.domain) || calls_function(document, node)) return std::nullopt;
  if (document.opset(node.graph, "").value_or(0) < kFirstWithBroadcast) return std::nullopt;
  for (std::size_t k = 0; k < ranks.size(); ++k)
    if (!ranks[k] && !node.inputs[k].empty()) return std::nullopt;
  const auto rank = [&](std::size_t k) { return ranks[k].value_or(0); };
  if (node.op_type == "MatMul" && ranks.size() == 2 && rank(0) > 0 && rank(1) > 0) return product_loops(rank(0), rank(1));
  if (node.op_type == "Gemm" && ranks.size() >= 2 && ranks.size() <= 3 && rank(0) == 2 && rank(1) == 2) return gemm_loops(node, ranks);
  InputLoops loops;
  for (std::size_t k = 0; k < ranks.size(); ++k) loops.push_back(from_the_end(rank(k)));
  if (onnx_io::is_elementwise(node.op_type) || std::ranges::find(kVariadic, node.op_type) != kVariadic.end()) return loops;
  if (node.op_type != "Concat" || node.find("axis") == nullptr) return std::nullopt;
  for (Loops& of_input : loops) {
    const auto count = static_cast<std::int64_t>(of_input.size());
    const std::int64_t axis = integer_of(node, "axis", 0);
    if (axis < -count || axis >= count) return std::nullopt;
    of_input[static_cast<std::size_t>(axis < 0 ? axis + count : axis)].reset();
  }
  return loops;
}

void compare_inputs(std::span<const DividedInput> inputs, const InputLoops& loops, const FaultPlace& place, PlanFaults& faults) {
  if (inputs.size() < 2) return;
  struct FirstCut {
    const DividedInput* input;
    const AxisCut* cut;
  };
  std::map<std::size_t, FirstCut> first;  // by loop
  LoopShards counts;
  const std::size_t before = faults.size();
  for (const DividedInput& input : inputs) {
    for (const AxisCut& cut : input.layout->cuts) {
      const auto loop = loops[input.position][cut.axis];
      if (!loop) return;
      counts.emplace(*loop, cut.shards);
      const auto [other, is_new] = first.emplace(*loop, FirstCut{&input, &cut});
      const AxisCut& known = *other->second.cut;
      if (is_new || (cut.dims.size() == 1 && known.dims.size() == 1 && cut.shards == known.shards) || cut.dims == known.dims) continue;
      if (cut.shards == known.shards) return;  // shards of fused dimensions may still be the same
      FaultPlace at = place;
      at.tensor = input.tensor;
      faults.add(at, PlanField::num_shards,
                 fmt::format("axis {} has {} shards, and axis {} of {}, which the node reads with it, has {}", cut.axis, cut.shards,
                             known.axis, in_quotes(other->second.input->tensor), known.shards));
    }
  }
  if (faults.size() > before || std::ranges::none_of(inputs, &DividedInput::is_own)) return;
  const auto missing = first_missing(inputs, loops, counts);
  if (!missing) return;
  std::vector<std::string> parts;
  std::set<std::string> listed;
  for (const DividedInput& input : inputs) {
    std::string part = part_of(input, loops, *missing);
    if (listed.insert(part).second) parts.push_back(std::move(part));
  }
  faults.add(place, PlanField::device, fmt::format("no device has {}", fmt::join(parts, " and ")));
}

}  // namespace xflow::parallel
