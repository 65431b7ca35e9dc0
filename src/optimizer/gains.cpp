#include "src/optimizer/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/ops/kernel_text.h"

namespace xflow::api {
namespace {

using cost::CoveredRegion;
using ir::NodeId;
using ir::ValueId;

// A kernel of one of the covers.
struct ChangedKernel {
  const CoveredRegion* region = nullptr;
  double count = 0;  // -1 in the original, 1 in the result
};

// Names nodes of the result by those of the original that they are, but for operands which were rewritten.
class Names {
 public:
  Names(const ir::Arena& arena, const std::vector<NodeId>& before, const ir::ValueMap& correspondence) {
    for (const NodeId node : before) {
      const ir::Node& old = arena.node(node);
      const auto now = correspondence.find(ValueId{node, 0});
      if (old.kind == ir::NodeKind::constant || now == correspondence.end() || now->second.output != 0) continue;
      const ir::Node& fresh = arena.node(now->second.node);
      const bool same = old.kind == fresh.kind && old.op == fresh.op && old.local == fresh.local && old.serial == fresh.serial;
      const auto follows = [&](ValueId from, ValueId to) {
        const auto other = correspondence.find(from);
        return to == (other == correspondence.end() ? from : other->second);
      };
      if (same && std::ranges::equal(old.operands, fresh.operands, follows)) original_.emplace(now->second.node, node);
    }
  }
  NodeId of(NodeId node) const {
    const auto found = original_.find(node);
    return found == original_.end() ? node : found->second;
  }

 private:
  std::map<NodeId, NodeId> original_;
};

// What makes two covered kernels the same launch.
std::pair<std::string, std::vector<NodeId>> key_of(const CoveredRegion& region, const Names& names) {
  std::vector<NodeId> nodes;
  nodes.reserve(region.nodes.size());
  for (const NodeId node : region.nodes) nodes.push_back(names.of(node));
  std::ranges::sort(nodes);
  return {region.kernel, std::move(nodes)};
}

// Kernels in which the covers differ.
std::vector<ChangedKernel> differing(const std::vector<CoveredRegion>& before, const std::vector<CoveredRegion>& after,
                                     const Names& names) {
  std::map<std::pair<std::string, std::vector<NodeId>>, std::vector<const CoveredRegion*>> kept;
  for (const CoveredRegion& region : before)
    if (!region.nodes.empty()) kept[key_of(region, names)].push_back(&region);
  std::vector<ChangedKernel> sides;
  for (const CoveredRegion& region : after) {
    if (region.nodes.empty()) continue;
    const auto same = kept.find(key_of(region, names));
    if (same == kept.end() || same->second.empty()) {
      sides.push_back({&region, 1});
    } else {
      same->second.pop_back();
    }
  }
  for (const auto& [key, regions] : kept)
    for (const CoveredRegion* region : regions) sides.push_back({region, -1});
  return sides;
}

// Joins nodes to parts.
class Parts {
 public:
  bool has(NodeId node) const { return part_.contains(node); }
  void add(NodeId node) { part_.emplace(node, node); }
  NodeId of(NodeId node) {
    while (part_.at(node) != node) node = part_.at(node) = part_.at(part_.at(node));
    return node;
  }
  // Does nothing if one of them was not added.
  void join(NodeId a, NodeId b) {
    if (has(a) && has(b)) part_.at(std::max(of(a), of(b))) = std::min(of(a), of(b));
  }

 private:
  std::map<NodeId, NodeId> part_;
};

// The nodes of both graphs in their order.
struct Orders {
  std::vector<NodeId> before;
  std::vector<NodeId> after;
};

// The parts of the nodes that differ, and of those in kernels that differ, by name. Nodes that no kernel
// computes, such as a split whose parts are views, join others.
Parts parts_of(const ir::Arena& arena, const Orders& orders, const Names& names, const ir::ValueMap& correspondence,
               const std::vector<ChangedKernel>& sides) {
  const std::set<NodeId> old(orders.before.begin(), orders.before.end());
  std::set<NodeId> kept;
  Parts parts;
  for (const NodeId node : orders.after)
    if (const NodeId name = names.of(node); old.contains(name)) {
      kept.insert(name);
    } else {
      parts.add(name);
    }
  for (const NodeId node : orders.before)
    if (!kept.contains(node)) parts.add(node);
  for (const ChangedKernel& side : sides)
    for (const NodeId node : side.region->nodes) parts.add(names.of(node));
  for (const ChangedKernel& side : sides)
    for (const NodeId node : side.region->nodes) parts.join(names.of(side.region->nodes.front()), names.of(node));
  for (const std::vector<NodeId>* order : {&orders.before, &orders.after})
    for (const NodeId node : *order)
      for (const ValueId operand : arena.node(node).operands)
        if (!arena.is_constant(operand)) parts.join(names.of(node), names.of(operand.node));
  for (const auto& [from, to] : correspondence) parts.join(names.of(from.node), names.of(to.node));
  return parts;
}

// The prices of the kernels of a part, each kernel once.
std::vector<cost::WeightedPrice> prices_of(const std::vector<const ChangedKernel*>& members) {
  std::map<std::pair<std::string, cost::Layout>, cost::WeightedPrice> prices;
  for (const ChangedKernel* side : members) {
    const CoveredRegion& region = *side->region;
    auto spec = ops::parse_kernel(region.kernel);
    if (!spec) continue;
    auto& price = prices.try_emplace({region.kernel, region.layout}, cost::WeightedPrice{*std::move(spec), region.layout, region.cost, 0})
                      .first->second;
    price.count += side->count;
  }
  std::vector<cost::WeightedPrice> list;
  list.reserve(prices.size());
  for (auto& [key, price] : prices)
    if (price.count != 0) list.push_back(std::move(price));
  return list;
}

PartGain gain_of(const std::vector<const ChangedKernel*>& members, const cost::Device& device) {
  PartGain gain;
  const std::vector<cost::WeightedPrice> prices = prices_of(members);
  for (const cost::WeightedPrice& price : prices) {
    (price.count < 0 ? gain.time.before : gain.time.after) += std::abs(price.count) * price.cost.median;
    if (device.is_modelled(price.spec, price.layout)) ++gain.modelled;
  }
  gain.kernels = prices.size();
  const Nanoseconds saved = gain.time.before - gain.time.after;
  const Nanoseconds deviation = device.deviation(prices);
  gain.low = saved - cost::kNineTenths * deviation;
  gain.high = saved + cost::kNineTenths * deviation;
  gain.sureness = cost::sureness_of(saved, deviation);
  // A kernel less saves its time, whatever that is.
  if (std::ranges::all_of(prices, [](const cost::WeightedPrice& price) { return price.count <= 0; })) {
    gain.low = std::max(gain.low, Nanoseconds(0));
    gain.sureness = saved > Nanoseconds(0) ? 1 : 0;
  }
  return gain;
}

}  // namespace

std::vector<PartGain> gains_of(cost::CostModel& costs, const cost::Device& device, const ir::Arena& arena, const ir::Graph& original,
                               const search::Finalist& found) {
  const auto before = costs.explain(original);
  const auto after = costs.explain(found.graph);
  if (!before || !after) return {};
  const Orders orders{ir::topological_order(arena, original), ir::topological_order(arena, found.graph)};
  const Names names(arena, orders.before, found.correspondence);
  const std::vector<ChangedKernel> sides = differing(*before, *after, names);
  Parts parts = parts_of(arena, orders, names, found.correspondence, sides);
  std::map<NodeId, std::vector<const ChangedKernel*>> members;
  for (const ChangedKernel& side : sides) members[parts.of(names.of(side.region->nodes.front()))].push_back(&side);
  const auto is_measured = [](const ChangedKernel* side) { return bool(side->region->measured); };
  std::map<NodeId, PartGain> gains;
  for (const auto& [part, list] : members)
    if (std::ranges::all_of(list, is_measured)) gains.emplace(part, gain_of(list, device));
  for (std::size_t s = 0; s < found.steps.size(); ++s) {
    std::set<NodeId> touched;
    for (const ValueId value : found.steps[s].originals)
      if (parts.has(value.node)) touched.insert(parts.of(value.node));
    for (const NodeId part : touched)
      if (const auto gain = gains.find(part); gain != gains.end()) gain->second.steps.push_back(s);
  }
  std::vector<PartGain> list;
  list.reserve(gains.size());
  for (auto& [part, gain] : gains)
    if (gain.kernels > 0) list.push_back(std::move(gain));
  std::ranges::stable_sort(list, [](const PartGain& a, const PartGain& b) {
    if (a.sureness != b.sureness) return a.sureness > b.sureness;
    return a.time.before - a.time.after > b.time.before - b.time.after;
  });
  return list;
}

std::vector<std::size_t> unsure_steps(std::span<const PartGain> gains, std::span<const search::Step> steps, double confidence,
                                      const Problem& problem, std::vector<UnsureRewrite>& unsure) {
  std::set<std::size_t> found;
  for (const PartGain& gain : gains) {
    if (gain.sureness >= confidence) continue;
    for (const std::size_t number : gain.steps) {
      if (!found.insert(number).second) continue;
      const search::Step& step = steps[number];
      const std::string where = problem.place_of && !step.originals.empty() ? problem.place_of(step.originals[0]) : "";
      unsure.push_back({step.rule, where, gain.time.before - gain.time.after, gain.sureness});
    }
  }
  return {found.begin(), found.end()};
}

std::string no_sure_gain(double confidence) {
  return fmt::format("no gain was found that is positive with a probability of {:.3g} %", 100 * confidence);
}

}  // namespace xflow::api
