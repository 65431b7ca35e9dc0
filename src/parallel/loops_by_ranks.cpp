#include <algorithm>
#include <array>

#include "src/onnx/lift/lift_operator.h"
#include "src/onnx/lift/mapping_table.h"
#include "src/parallel/node_loops.h"

namespace xflow::parallel {
namespace {

using Loops = std::vector<std::optional<std::size_t>>;  // of one input; none for the axis of a concatenation
using AllLoops = std::vector<Loops>;

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

AllLoops product_loops(std::size_t left, std::size_t right) {
  AllLoops loops{from_the_end(left, kBatch - 2), from_the_end(right, kBatch - 2)};
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

AllLoops gemm_loops(const onnx_io::Node& node, std::span<const std::optional<std::size_t>> ranks) {
  AllLoops loops{{kRows, kSum}, {kSum, kColumns}};
  if (integer_of(node, "transA", 0) != 0) std::swap(loops[0][0], loops[0][1]);
  if (integer_of(node, "transB", 0) != 0) std::swap(loops[1][0], loops[1][1]);
  if (ranks.size() == 3) {
    const Loops whole{kRows, kColumns};
    loops.emplace_back(whole.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(ranks[2].value_or(0), 2)), whole.end());
  }
  return loops;
}

std::optional<AllLoops> numbered_loops(const onnx_io::Document& document, const onnx_io::Node& node,
                                       std::span<const std::optional<std::size_t>> ranks) {
  if (!onnx_io::is_default_domain(node.domain) || calls_function(document, node)) return std::nullopt;
  if (document.opset(node.graph, "").value_or(0) < kFirstWithBroadcast) return std::nullopt;
  for (std::size_t k = 0; k < ranks.size(); ++k)
    if (!ranks[k] && !node.inputs[k].empty()) return std::nullopt;
  const auto rank = [&](std::size_t k) { return ranks[k].value_or(0); };
  if (node.op_type == "MatMul" && ranks.size() == 2 && rank(0) > 0 && rank(1) > 0) return product_loops(rank(0), rank(1));
  if (node.op_type == "Gemm" && ranks.size() >= 2 && ranks.size() <= 3 && rank(0) == 2 && rank(1) == 2) return gemm_loops(node, ranks);
  AllLoops loops;
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

}  // namespace

std::optional<InputLoops> loops_by_ranks(const onnx_io::Document& document, const onnx_io::Node& node,
                                         std::span<const std::optional<std::size_t>> ranks) {
  const auto numbered = numbered_loops(document, node, ranks);
  if (!numbered) return std::nullopt;
  InputLoops loops;
  for (const Loops& of_input : *numbered) {
    std::vector<AxisLoop>& axes = loops.emplace_back(std::in_place).value();
    for (const auto& loop : of_input) axes.push_back({loop, false, !loop, {}});
  }
  return loops;
}

}  // namespace xflow::parallel
