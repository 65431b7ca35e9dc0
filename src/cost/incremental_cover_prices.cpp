// Prices of the kernels of a cover, conversions between them, and lists of both.
#include <algorithm>
#include <set>

#include "src/cost/incremental_cover.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost {

using ir::NodeId;
using ir::ValueId;

// --- Prices -------------------------------------------------------------------------------------------------------------------------

void IncrementalCover::refuse(const std::string& refusal, bool in) {
  if (!moments_.empty() && !moments_.back().refusals) moments_.back().refusals = refusals_;
  std::size_t& count = refusals_[refusal];
  const auto allowed = accepted_.find(refusal);
  const std::size_t most = allowed == accepted_.end() ? 0 : allowed->second;
  if (in) {
    if (++count > most) ++sums_.excess;
    ++sums_.unmeasured;
    return;
  }
  if (count-- > most) --sums_.excess;
  --sums_.unmeasured;
  if (count == 0) refusals_.erase(refusal);
}

void IncrementalCover::add(const Price& price, bool in) {
  sums_.time = in ? sums_.time + price.time : sums_.time - price.time;
  sums_.kernels = in ? sums_.kernels + price.kernels : sums_.kernels - price.kernels;
  for (const std::string& refusal : price.refusals) refuse(refusal, in);
}

void IncrementalCover::want(const Want& wanted, bool more) {
  const auto& [value, layout] = wanted;
  if (more && arena_.is_constant(value)) return;
  std::vector<Asked>& asked = edit(value.node).asked;
  const std::uint32_t output = value.output;
  const Layout in = layout;
  auto found = std::ranges::find_if(asked, [&](const Asked& a) { return a.output == output && a.layout == in; });
  if (more) {
    if (found == asked.end()) {
      asked.push_back({output, in, 1});
    } else {
      ++found->count;
      return;
    }
  } else {
    if (found == asked.end() || --found->count > 0) return;  // constants are never requested
    asked.erase(found);
  }
  unconverted_.push_back(value.node);
}

void IncrementalCover::set_price(NodeId exit, const std::shared_ptr<const Price>& price) {
  const std::shared_ptr<const Price> old = read(exit).price;
  edit(exit).price = price;
  if (price) {
    add(*price, true);
    for (const Want& w : price->wants) want(w, true);
  }
  if (old) {
    add(*old, false);
    for (const Want& w : old->wants) want(w, false);
  }
}

void IncrementalCover::queue_users(NodeId id) {
  for (const NodeId user : graph_.users(id)) {
    const Info& info = read(user);
    const NodeId at = info.inside ? info.owner : user;
    const std::shared_ptr<const Region>& region = read(at).region;
    if (region == nullptr) continue;  // not cut yet
    // At the beginning of a chain, the layout decides how the chain is cut.
    const bool begins = region->links[0].node == at;
    unpriced_.emplace_back(begins ? at : region->exit(), begins);
  }
}

// Proceeds in graph order, so that the layouts of a kernel's operands are known when it is cut and priced.
void IncrementalCover::price_regions() {
  using Work = std::pair<NodeId, bool>;
  const auto earlier = [&](const Work& a, const Work& b) {
    const std::size_t at_a = graph_.position(a.first);
    const std::size_t at_b = graph_.position(b.first);
    return at_a != at_b ? at_a < at_b : a.first != b.first ? a.first < b.first : a.second > b.second;
  };
  std::set<Work, decltype(earlier)> queue(earlier);
  for (;;) {
    queue.insert(unpriced_.begin(), unpriced_.end());
    unpriced_.clear();
    if (queue.empty()) break;
    const auto [id, begins] = *queue.begin();
    queue.erase(queue.begin());
    const std::shared_ptr<const Region> region = read(id).region;
    if (begins) {
      // The node may have become a later link of a kernel in the meantime.
      if (region == nullptr || region->links[0].node == id) cut(id);
    } else if (region != nullptr && region->exit() == id) {
      price(*region);
    }
  }
  std::sort(unconverted_.begin(), unconverted_.end());
  unconverted_.erase(std::unique(unconverted_.begin(), unconverted_.end()), unconverted_.end());
  const std::vector<NodeId> values = std::move(unconverted_);
  unconverted_.clear();
  for (const NodeId id : values) set_conversions(id);
}

void IncrementalCover::price(const Region& region) {
  const NodeId exit = region.exit();
  auto price = std::make_shared<Price>(price_of(region));
  const Layout before = read(exit).layout;
  const Layout after = price->results;
  const std::shared_ptr<const Price>& known = read(exit).price;
  if (known == nullptr || *known != *price) set_price(exit, price);
  if (after == before) return;
  edit(exit).layout = after;
  unconverted_.push_back(exit);
  queue_users(exit);
}

IncrementalCover::Price IncrementalCover::price_of(const Region& region) {
  Price price;
  const NodeId id = region.exit();
  const ir::Node& node = arena_.node(id);
  const NodeShape& shape = *read(region.links[0].node).record->shape;
  if (shape.role == Role::refused) {
    for (const ValueId operand : node.operands) price.wants.emplace_back(operand, Layout::plain);
    price.refusals.push_back(shape.supported.reason);
    price.kernels = 1;
    return price;
  }
  if (shape.role == Role::free) {
    // The elements keep their order. Only a plain tensor can be viewed in another shape.
    if (node.operands.empty() || arena_.is_constant(node.operands[0])) return price;
    const ValueId operand = node.operands[0];
    if (arena_.type(operand).shape == node.outputs[0].shape) {
      price.results = read(operand.node).layout;
    } else {
      price.wants.emplace_back(operand, Layout::plain);
    }
    return price;
  }
  if (shape.view && same_bytes(shape.spec.operands[0], read(node.operands[0].node).layout, Layout::plain)) {
    price.wants.emplace_back(node.operands[0], Layout::plain);
    return price;
  }
  FusedChain& kernel = *region.kernel;
  const std::vector<ValueId>& values = region.operands;
  Layout layout = kernel.chooses ? Layout::any : Layout::plain;
  if (!kernel.chooses) {
    // The first layout, in operand order, that is not plain and in which the kernel works.
    for (std::size_t k = 0; k < values.size() && layout == Layout::plain; ++k) {
      if (!kernel.takes[k]) continue;
      const Layout arrives = read(values[k].node).layout;
      if (arrives != Layout::plain && kernel.works[static_cast<std::size_t>(arrives)]) layout = arrives;
    }
  }
  const DatabaseEntry& entry = regions_.cost(kernel, layout);
  price.operands = kernel.chooses ? entry.cost.operands : layout;
  const Layout results = kernel.chooses ? entry.cost.results : layout;
  for (std::size_t k = 0; k < values.size(); ++k) {
    // Operands of post-operations have the layout of the result.
    const Layout own = k >= kernel.spec.operands.size() ? results : price.operands;
    price.wants.emplace_back(values[k], kernel.takes[k] ? own : Layout::plain);
  }
  if (!kernel.spec.results.empty() && has_layouts(kernel.spec.results[0])) price.results = results;
  price.kernels = 1;
  if (entry.ran) {
    price.time = ticks_of(entry.cost.median);
    price.cost = &entry.cost;
  } else {
    price.refusals.push_back(entry.ran.reason);
  }
  return price;
}

namespace {

// Whether a value can be converted.
Acceptance may_convert(const DatabaseEntry* conversion) {
  return conversion == nullptr ? refused("cannot convert a tensor of unknown size here") : conversion->ran;
}

}  // namespace

// Prices the conversions of a node's values to the requested layouts.
void IncrementalCover::set_conversions(NodeId id) {
  const Info& info = read(id);
  auto price = std::make_shared<Price>();
  for (const Asked& asked : info.asked) {
    if (asked.layout == info.layout || info.record == nullptr) continue;
    const DatabaseEntry* entry = regions_.reorder(arena_, *info.record->shape, {id, asked.output}, info.layout, asked.layout);
    if (entry != nullptr && entry->ran && entry->cost.median.count() <= 0) continue;  // the bytes are equal
    ++price->kernels;
    if (const Acceptance converts = may_convert(entry); !converts) {
      price->refusals.push_back(converts.reason);
    } else {
      price->time = price->time + ticks_of(entry->cost.median);
    }
  }
  const std::shared_ptr<const Price> old = info.conversions;
  if (old == nullptr && price->kernels == 0) return;
  add(*price, true);
  if (old) add(*old, false);
  edit(id).conversions = price->kernels > 0 ? std::move(price) : nullptr;
}

void IncrementalCover::update_outputs() {
  // Constants are not converted.
  std::vector<ValueId> now = graph_.outputs();
  for (ValueId& output : now)
    if (arena_.is_constant(output)) output = arena_.absent();
  if (outputs_ == now) return;
  const std::vector<ValueId> old = std::exchange(outputs_, std::move(now));
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (k < old.size() && old[k] == outputs_[k]) continue;
    want({outputs_[k], Layout::plain}, true);
    if (k < old.size()) want({old[k], Layout::plain}, false);
  }
}

// --- Explanation --------------------------------------------------------------------------------------------------------------------

std::vector<NodeId> IncrementalCover::nodes_of(const Region& region) const {
  std::vector<NodeId> nodes;
  for (const Link& link : region.links) {
    if (link.composite) {
      const auto& inner = infos_[index_of(link.node)].record->composite->inner;
      nodes.insert(nodes.end(), inner.begin(), inner.end());
    }
    nodes.push_back(link.node);
  }
  return nodes;
}

void IncrementalCover::visit(const std::function<void(const Want&, const DatabaseEntry*)>& conversion,
                             const std::function<void(const Info&)>& kernel) const {
  std::set<Want> converted;
  const auto convert = [&](const Want& wanted) {
    const auto& [value, layout] = wanted;
    if (arena_.is_constant(value) || arena_.is_absent(value)) return;
    const Info& info = infos_[index_of(value.node)];
    if (info.layout == layout || !converted.insert(wanted).second) return;
    conversion(wanted, regions_.reorder(arena_, *info.record->shape, value, info.layout, layout));
  };
  for (const NodeId id : graph_.order()) {
    const Info& info = infos_[index_of(id)];
    if (!info.price || !info.region || info.region->exit() != id) continue;
    for (const Want& wanted : info.price->wants) convert(wanted);
    kernel(info);
  }
  for (const ValueId output : outputs_) convert({output, Layout::plain});
}

std::vector<CoveredRegion> IncrementalCover::explain() const {
  std::vector<CoveredRegion> result;
  const auto conversion = [&](const Want& wanted, const DatabaseEntry* entry) {
    const auto& [value, layout] = wanted;
    const Layout from = infos_[index_of(value.node)].layout;
    if (const Acceptance converts = may_convert(entry); !converts) {
      result.push_back({converts.reason, Layout::plain, {value.node}, {}, converts});
    } else if (entry->cost.median.count() > 0) {
      const ops::KernelSpec spec = reorder_spec(*regions_.tensor(arena_, value), from, layout);
      result.push_back({ops::to_string(spec), from, {value.node}, entry->cost, {}});
    }
  };
  const auto kernel = [&](const Info& info) {
    if (info.price->kernels == 0) return;
    std::vector<NodeId> nodes = nodes_of(*info.region);
    if (info.price->cost == nullptr) {
      const std::string& reason = info.price->refusals[0];
      result.push_back({reason, Layout::plain, std::move(nodes), {}, refused(reason)});
    } else {
      result.push_back({ops::to_string(info.region->kernel->spec), info.price->operands, std::move(nodes), *info.price->cost, {}});
    }
  };
  visit(conversion, kernel);
  return result;
}

// --- Launches -----------------------------------------------------------------------------------------------------------------------

CoveredLaunch IncrementalCover::launch_of(const Region& region, const Price& price) const {
  CoveredLaunch launch;
  launch.nodes = nodes_of(region);
  if (!price.refusals.empty()) {
    launch.supported = refused(price.refusals[0]);
    return launch;
  }
  const NodeId exit = region.exit();
  launch.operand_layout = price.operands;
  launch.result_layout = price.results;
  for (std::uint32_t k = 0; k < arena_.node(exit).outputs.size(); ++k) launch.results.push_back({exit, k});
  if (price.cost == nullptr) {  // a view, or a value of sizes alone
    const Record& record = *infos_[index_of(exit)].record;
    launch.spec = record.shape->spec;
    launch.spec.family = ops::KernelFamily::none;
    launch.operands = record.operands;
    const bool constant = launch.operands.empty() || arena_.is_constant(launch.operands[0]);
    const Layout layout = price.wants.empty() && !constant ? infos_[index_of(launch.operands[0].node)].layout : Layout::plain;
    launch.layouts.assign(launch.operands.size(), layout);
    return launch;
  }
  launch.cost = *price.cost;
  std::vector<std::size_t> order;
  launch.spec = in_measured_order(region.kernel->spec, &order);
  for (const std::size_t k : order) {
    launch.operands.push_back(region.operands[k]);
    launch.layouts.push_back(price.wants[k].second);
  }
  return launch;
}

std::vector<CoveredLaunch> IncrementalCover::launches() const {
  std::vector<CoveredLaunch> result;
  const auto conversion = [&](const Want& wanted, const DatabaseEntry* entry) {
    const auto& [value, layout] = wanted;
    CoveredLaunch launch;
    launch.supported = may_convert(entry);
    if (launch.supported) {
      const Layout from = infos_[index_of(value.node)].layout;
      launch.spec = reorder_spec(*regions_.tensor(arena_, value), from, layout);
      launch.operand_layout = from;
      launch.result_layout = layout;
      launch.operands = launch.results = {value};
      launch.layouts = {from};
      launch.cost = entry->cost;
    }
    result.push_back(std::move(launch));
  };
  visit(conversion, [&](const Info& info) { result.push_back(launch_of(*info.region, *info.price)); });
  return result;
}

Ticks IncrementalCover::time_of(std::span<const NodeId> nodes) const {
  Ticks time{};
  std::set<NodeId> exits;
  for (const NodeId id : nodes) {
    const Info& own = infos_[index_of(id)];
    const Info& info = own.region || !own.inside ? own : infos_[index_of(own.owner)];
    if (own.conversions) time = time + own.conversions->time;
    if (!info.region || !exits.insert(info.region->exit()).second) continue;
    if (const auto& price = infos_[index_of(info.region->exit())].price) time = time + price->time;
  }
  return time;
}

}  // namespace xflow::cost
