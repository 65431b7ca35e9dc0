#include "src/parallel/input_shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/support/printable.h"

namespace xflow::parallel {
namespace {

using onnx_io::in_quotes;

const AxisLoop& loop_of(const InputLoops& loops, const DividedInput& input, const AxisCut& cut) {
  return (*loops[input.position])[cut.axis];
}

// The part of a tensor that a device needs: "'x' (shard 1 of axis 0)".
std::string part_of(const DividedInput& input, const InputLoops& loops, const std::map<std::size_t, std::int64_t>& shards) {
  std::vector<std::string> cuts;
  cuts.reserve(input.layout->cuts.size());
  for (const AxisCut& cut : input.layout->cuts)
    cuts.push_back(fmt::format("shard {} of axis {}", shards.at(*loop_of(loops, input, cut).loop), cut.axis));
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
      const auto [known, is_new] = shards.emplace(*loop_of(loops, input, input.layout->cuts[k]).loop, held->second[k]);
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

// Divisions of an axis that the operator does not allow, whatever its other inputs are.
void check_cut(const DividedInput& input, const AxisCut& cut, const AxisLoop& loop, const FaultPlace& of_node, PlanFaults& faults) {
  FaultPlace place = of_node;
  place.tensor = input.tensor;
  if (loop.is_needed_whole) {
    faults.add(place, PlanField::axis,
               fmt::format("axis {} has {} shards, and each part of the result needs all of it", cut.axis, cut.shards));
  }
  for (const std::int64_t blocks : loop.blocks) {
    // A division of each block is one of an inner axis. Shards of fused dimensions may be such, too.
    if (cut.dims.size() > 1 || blocks % cut.shards == 0 || cut.shards % blocks == 0) continue;
    faults.add(place, PlanField::num_shards,
               fmt::format("axis {} has {} shards, which cut through the {} blocks that the node reads", cut.axis, cut.shards, blocks));
  }
}

// Compares the numbers of shards along each loop, which are added to `counts`. Returns false if there is a
// cut of which nothing is known, and sets `has_apart` if there is one along an axis whose parts need not
// meet.
bool compare_counts(std::span<const DividedInput> inputs, const InputLoops& loops, const FaultPlace& place, PlanFaults& faults,
                    LoopShards& counts, bool& has_apart) {
  struct FirstCut {
    const DividedInput* input;
    const AxisCut* cut;
  };
  std::map<std::size_t, FirstCut> first;  // by loop
  bool is_complete = true;
  for (const DividedInput& input : inputs) {
    for (const AxisCut& cut : input.layout->cuts) {
      const AxisLoop& own = loop_of(loops, input, cut);
      check_cut(input, cut, own, place, faults);
      if (!own.loop) {
        is_complete = is_complete && (own.is_needed_whole || own.is_apart);
        has_apart = has_apart || own.is_apart;
        continue;
      }
      counts.emplace(*own.loop, cut.shards);
      const auto [other, is_new] = first.emplace(*own.loop, FirstCut{&input, &cut});
      const AxisCut& known = *other->second.cut;
      if (is_new || (cut.dims.size() == 1 && known.dims.size() == 1 && cut.shards == known.shards) || cut.dims == known.dims) continue;
      if (cut.shards == known.shards) {
        is_complete = false;  // shards of fused dimensions may still be the same
        continue;
      }
      FaultPlace at = place;
      at.tensor = input.tensor;
      faults.add(at, PlanField::num_shards,
                 fmt::format("axis {} has {} shards, and axis {} of {}, which the node reads with it, has {}", cut.axis, cut.shards,
                             known.axis, in_quotes(other->second.input->tensor), known.shards));
    }
  }
  return is_complete;
}

}  // namespace

bool compare_inputs(std::span<const DividedInput> all, const InputLoops& loops, bool has_one_result, const FaultPlace& place,
                    PlanFaults& faults) {
  std::vector<DividedInput> inputs;
  std::ranges::copy_if(all, std::back_inserter(inputs), [&](const DividedInput& input) { return loops[input.position].has_value(); });
  const std::size_t before = faults.size();
  LoopShards counts;
  bool has_apart = false;
  const bool is_complete = compare_counts(inputs, loops, place, faults, counts, has_apart);
  if (!is_complete || faults.size() > before || has_apart) return is_complete;
  if (inputs.size() < 2 || !has_one_result || std::ranges::none_of(inputs, &DividedInput::is_own)) return true;
  const auto missing = first_missing(inputs, loops, counts);
  if (!missing) return true;
  std::vector<std::string> parts;
  std::set<std::string> listed;
  for (const DividedInput& input : inputs) {
    std::string part = part_of(input, loops, *missing);
    if (listed.insert(part).second) parts.push_back(std::move(part));
  }
  faults.add(place, PlanField::device, fmt::format("no device has {}", fmt::join(parts, " and ")));
  return true;
}

}  // namespace xflow::parallel
