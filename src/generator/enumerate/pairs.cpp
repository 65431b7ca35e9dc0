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
bool is_connected(const Universe& universe, const Sketch& sketch) {
  std::vector<std::set<std::uint8_t>> below(universe.leaves().size());
  for (std::size_t k = 0; k < universe.inputs(); ++k) below[k].insert(static_cast<std::uint8_t>(k));
  for (const SketchNode& n : sketch.nodes) {
    std::set<std::uint8_t> all;
    for (const std::uint8_t o : n.operands) all.insert(below[o].begin(), below[o].end());
    below.resize(below.size() + universe.choice(n.choice).outputs, all);
  }
  return have_common(below, sketch.outputs);
}

// Whether some operation is part of every output.
bool computes_together(const Universe& universe, const Sketch& sketch) {
  std::vector<std::set<std::uint8_t>> below(universe.leaves().size());  // of each value the first values of the operations below it
  for (const SketchNode& n : sketch.nodes) {
    std::set<std::uint8_t> all = {static_cast<std::uint8_t>(below.size())};
    for (const std::uint8_t o : n.operands) all.insert(below[o].begin(), below[o].end());
    below.resize(below.size() + universe.choice(n.choice).outputs, all);
  }
  return have_common(below, sketch.outputs);
}

// The operation that gives a value and nothing else, if no other reads that.
const SketchNode* last_operation(const Universe& universe, const Sketch& sketch, std::uint8_t value) {
  const SketchNode* found = nullptr;
  std::size_t first = universe.leaves().size();
  for (const SketchNode& n : sketch.nodes) {
    if (std::find(n.operands.begin(), n.operands.end(), value) != n.operands.end()) return nullptr;
    const std::size_t outputs = universe.choice(n.choice).outputs;
    if (first == value && outputs == 1) found = &n;
    first += outputs;
  }
  return found;
}

}  // namespace

bool can_gain_together(const Universe& universe, const Sketch& source, const Sketch& target) {
  return weight_of(universe, source) > weight_of(universe, target) && computes_together(universe, target) && is_connected(universe, source);
}

bool are_two_rewrites(const Universe& universe, const Candidate& candidate) {
  for (std::size_t k = 0; k < candidate.source.outputs.size(); ++k) {
    const std::set<std::uint8_t> known = inputs_of(universe, part_of(universe, candidate.source, candidate.source.outputs[k]));
    const std::set<std::uint8_t> read = inputs_of(universe, part_of(universe, candidate.target, candidate.target.outputs[k]));
    if (!std::includes(known.begin(), known.end(), read.begin(), read.end())) return false;
  }
  return true;
}

Candidate without_common_ends(const Universe& universe, Candidate candidate,
                              const std::function<std::vector<std::uint64_t>(const Sketch&)>& values) {
  const auto operand_below = [&](std::size_t output) -> std::optional<std::pair<std::uint8_t, std::uint8_t>> {
    const SketchNode* source = last_operation(universe, candidate.source, candidate.source.outputs[output]);
    const SketchNode* target = last_operation(universe, candidate.target, candidate.target.outputs[output]);
    if (source == nullptr || target == nullptr || source->choice != target->choice) return std::nullopt;
    const std::size_t count = source->operands.size();
    const bool commutative = universe.choice(source->choice).commutative && count == 2;
    for (std::size_t s = 0; s < count; ++s) {
      for (std::size_t t = 0; t < count; ++t) {
        if (!commutative && s != t) continue;
        const std::uint8_t below_source = source->operands[s];
        const std::uint8_t below_target = target->operands[t];
        if (below_source < universe.leaves().size() || below_target < universe.leaves().size()) continue;
        if (count == 2 &&
            part_of(universe, candidate.source, source->operands[1 - s]) != part_of(universe, candidate.target, target->operands[1 - t])) {
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
      Candidate shorter{with_outputs(universe, candidate.source, of_source), with_outputs(universe, candidate.target, of_target)};
      const std::vector<std::uint64_t> value = values(shorter.source);
      if (value.empty() || value != values(shorter.target) || value[0] == value[1] || !is_connected(universe, shorter.source)) continue;
      candidate = std::move(shorter);
      changed = true;
    }
  }
  return candidate;
}

}  // namespace xflow::generator
