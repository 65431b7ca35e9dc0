#include "src/generator/enumerate/pairs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace xflow::generator {
namespace {

// Whether all outputs are in the sets of some member in common.
bool have_common(const std::vector<std::set<std::uint8_t>>& sets, std::span<const std::uint8_t> outputs) {
  std::set<std::uint8_t> common = sets[outputs[0]];
  for (const std::uint8_t o : outputs) std::erase_if(common, [&](std::uint8_t v) { return !sets[o].contains(v); });
  return !common.empty();
}

// Whether all outputs read some input in common.
bool is_connected(const GraphSignature& signature, const SmallGraph& graph) {
  std::vector<std::set<std::uint8_t>> below(signature.leaves().size());
  for (std::size_t k = 0; k < signature.inputs(); ++k) below[k].insert(static_cast<std::uint8_t>(k));
  for (const SmallGraphNode& n : graph.nodes) {
    std::set<std::uint8_t> all;
    for (const std::uint8_t o : n.operands) all.insert(below[o].begin(), below[o].end());
    below.resize(below.size() + signature.choice(n.choice).outputs, all);
  }
  return have_common(below, graph.outputs);
}

// Whether some operation is part of every output.
bool computes_together(const GraphSignature& signature, const SmallGraph& graph) {
  std::vector<std::set<std::uint8_t>> below(signature.leaves().size());  // of each value the first values of the operations below it
  for (const SmallGraphNode& n : graph.nodes) {
    std::set<std::uint8_t> all = {static_cast<std::uint8_t>(below.size())};
    for (const std::uint8_t o : n.operands) all.insert(below[o].begin(), below[o].end());
    below.resize(below.size() + signature.choice(n.choice).outputs, all);
  }
  return have_common(below, graph.outputs);
}

// The operation that gives a value and nothing else, if no other reads that.
const SmallGraphNode* last_operation(const GraphSignature& signature, const SmallGraph& graph, std::uint8_t value) {
  const SmallGraphNode* found = nullptr;
  std::size_t first = signature.leaves().size();
  for (const SmallGraphNode& n : graph.nodes) {
    if (std::find(n.operands.begin(), n.operands.end(), value) != n.operands.end()) return nullptr;
    const std::size_t outputs = signature.choice(n.choice).outputs;
    if (first == value && outputs == 1) found = &n;
    first += outputs;
  }
  return found;
}

}  // namespace

bool can_gain_together(const GraphSignature& signature, const SmallGraph& source, const SmallGraph& target) {
  return weight_of(signature, source) > weight_of(signature, target) && computes_together(signature, target) &&
         is_connected(signature, source);
}

bool are_two_rewrites(const GraphSignature& signature, const RuleCandidate& candidate) {
  for (std::size_t k = 0; k < candidate.source.outputs.size(); ++k) {
    const std::set<std::uint8_t> known = inputs_of(signature, part_of(signature, candidate.source, candidate.source.outputs[k]));
    const std::set<std::uint8_t> read = inputs_of(signature, part_of(signature, candidate.target, candidate.target.outputs[k]));
    if (!std::includes(known.begin(), known.end(), read.begin(), read.end())) return false;
  }
  return true;
}

RuleCandidate without_common_ends(const GraphSignature& signature, RuleCandidate candidate,
                                  const std::function<std::vector<std::uint64_t>(const SmallGraph&)>& values) {
  const auto operand_below = [&](std::size_t output) -> std::optional<std::pair<std::uint8_t, std::uint8_t>> {
    const SmallGraphNode* source = last_operation(signature, candidate.source, candidate.source.outputs[output]);
    const SmallGraphNode* target = last_operation(signature, candidate.target, candidate.target.outputs[output]);
    if (source == nullptr || target == nullptr || source->choice != target->choice) return std::nullopt;
    const std::size_t count = source->operands.size();
    const bool commutative = signature.choice(source->choice).commutative && count == 2;
    for (std::size_t s = 0; s < count; ++s) {
      for (std::size_t t = 0; t < count; ++t) {
        if (!commutative && s != t) continue;
        const std::uint8_t below_source = source->operands[s];
        const std::uint8_t below_target = target->operands[t];
        if (below_source < signature.leaves().size() || below_target < signature.leaves().size()) continue;
        if (count == 2 && part_of(signature, candidate.source, source->operands[1 - s]) !=
                              part_of(signature, candidate.target, target->operands[1 - t])) {
          continue;
        }
        return std::pair(below_source, below_target);
      }
    }
    return std::nullopt;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = 0; k < candidate.source.outputs.size() && !changed; ++k) {
      const auto below = operand_below(k);
      if (!below) continue;
      std::vector<std::uint8_t> of_source = candidate.source.outputs;
      std::vector<std::uint8_t> of_target = candidate.target.outputs;
      of_source[k] = below->first;
      of_target[k] = below->second;
      RuleCandidate shorter{with_outputs(signature, candidate.source, of_source), with_outputs(signature, candidate.target, of_target)};
      const std::vector<std::uint64_t> value = values(shorter.source);
      if (value.empty() || value != values(shorter.target) || value[0] == value[1] || !is_connected(signature, shorter.source)) continue;
      candidate = std::move(shorter);
      changed = true;
    }
  }
  return candidate;
}

}  // namespace xflow::generator
