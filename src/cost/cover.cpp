#include "src/cost/cover.h"

#include <algorithm>
#include <map>

#include "src/cost/kernel_costs.h"
#include "src/cost/region.h"

namespace xflow::cost {
namespace {

using ir::NodeId;
using ir::ValueId;

// No runtime fuses more, and every combination would have to be measured.
constexpr std::size_t kLongestChain = 5;

std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id); }

}  // namespace

class CostModel::Implementation {
 public:
  Implementation(const ir::Arena& arena, Device& device, Database& database, ir::Symbols::Valuation sizes)
      : arena_(arena), costs_(device, database), regions_(arena, costs_, std::move(sizes)) {}

  // Costs the graph; writes the regions to `explanation` and the refusals to `refusals` where they are given.
  Cost cost(const ir::Graph& graph, std::vector<CoveredRegion>* explanation, std::vector<std::string>* refusals) {
    explanation_ = explanation;
    refusals_ = refusals;
    cost_ = Cost{};
    converted_.clear();
    visit(graph);
    for (const NodeId id : order_) states_[index_of(id)].record = &regions_.record(id);
    find_composites();
    used_.clear();
    claim(Role::anchor);
    claim(Role::pointwise);
    for (const NodeId id : order_) price(id);
    // What leaves the graph is plain.
    for (const ValueId output : graph.outputs) convert(output, Layout::plain);
    return cost_;
  }

  KernelCosts& costs() { return costs_; }
  std::map<std::string, std::size_t> accepted;

 private:
  // A region of the graph that is costed.
  struct Link {
    NodeId node{};
    bool composite = false;
  };
  struct Use {
    std::vector<Link> links;
    RegionKernel* kernel = nullptr;
  };

  // What is known about a node while one graph is costed. Reset when `epoch` is old.
  struct State {
    std::uint32_t epoch = 0;
    std::uint32_t uses = 0;  // operand slots that read it, and graph outputs
    NodeId user{};           // the last node that reads it
    const NodeRecord* record = nullptr;
    NodeId composite{};  // exit of the composite of which this node is the entry, if has_composite
    bool has_composite = false;
    bool inside = false;            // of a composite or a region, but not its exit
    std::int32_t region = -1;       // of which it is the exit: its place in used_
    Layout layout = Layout::plain;  // of its outputs
    std::uint8_t converted = 0;     // layouts to which output 0 was converted, one bit each
  };

  // Nodes in topological order, and who uses them.
  void visit(const ir::Graph& graph) {
    ++epoch_;
    order_.clear();
    if (states_.size() < arena_.size()) states_.resize(arena_.size());
    for (const ValueId output : graph.outputs) {
      visit_from(output.node);
      ++states_[index_of(output.node)].uses;
    }
  }

  void visit_from(NodeId root) {
    if (!enter(root)) return;
    while (!stack_.empty()) {
      auto& [id, next] = stack_.back();
      const ir::Node& node = arena_.node(id);
      if (next == node.operands.size()) {
        order_.push_back(id);
        stack_.pop_back();
        continue;
      }
      const NodeId operand = node.operands[next++].node;
      const NodeId user = id;
      if (arena_.node(operand).is_constant) continue;
      enter(operand);
      State& state = states_[index_of(operand)];
      ++state.uses;
      state.user = user;
    }
  }

  bool enter(NodeId id) {
    State& state = states_[index_of(id)];
    if (state.epoch == epoch_) return false;
    state = State{};
    state.epoch = epoch_;
    stack_.emplace_back(id, 0);
    return true;
  }

  // Composites whose inner values nobody else reads; of two that share nodes, the one that ends last.
  void find_composites() {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const NodeId id = *it;
      const NodeRecord* record = states_[index_of(id)].record;
      if (!record->composite || states_[index_of(id)].inside) continue;
      const Composite& composite = *record->composite;
      bool closed = true;
      for (std::size_t k = 0; closed && k < composite.inner.size(); ++k) {
        const State& inner = states_[index_of(composite.inner[k])];
        closed = inner.uses == composite.inner_uses[k] && !inner.inside && !inner.has_composite;
      }
      if (!closed) continue;
      State& entry = states_[index_of(composite.entry.node)];
      if (entry.has_composite) continue;  // of two on one entry, one
      for (const NodeId inner : composite.inner) states_[index_of(inner)].inside = true;
      entry.has_composite = true;
      entry.composite = id;
    }
  }

  bool is_exit_of_composite(NodeId id) const {
    const NodeRecord* record = states_[index_of(id)].record;
    if (!record->composite) return false;
    const State& entry = states_[index_of(record->composite->entry.node)];
    return entry.has_composite && entry.composite == id;
  }

  // The chain that begins at `id`, and its nodes: each value is read by the next link alone.
  void chain_from(NodeId id) {
    links_ = {Link{id, is_exit_of_composite(id)}};
    chain_ = {Element{shape_of(links_[0]), Element::kFirst}};
    while (links_.size() < kLongestChain) {
      const NodeId last = links_.back().node;
      const State& state = states_[index_of(last)];
      if (state.has_composite) {
        const NodeRecord& record = *states_[index_of(state.composite)].record;
        if (state.uses != record.composite->entry_uses || record.composite_shape->role != Role::pointwise) break;
        links_.push_back({state.composite, true});
        chain_.push_back({shape_of(links_.back()), 0});
        continue;
      }
      if (state.uses != 1 || !is_operation_user(state, last)) break;
      const State& user = states_[index_of(state.user)];
      if (user.record->shape->role != Role::pointwise || user.region >= 0 || user.inside || is_exit_of_composite(state.user)) break;
      const auto& operands = user.record->operands;
      const auto position = static_cast<std::uint32_t>(std::ranges::find(operands, ValueId{last, 0}) - operands.begin());
      if (position == operands.size()) break;  // the kernel does not read it: an exponent that it knows
      links_.push_back({state.user, false});
      chain_.push_back({shape_of(links_.back()), position});
    }
  }

  ShapeId shape_of(const Link& link) const {
    const NodeRecord& record = *states_[index_of(link.node)].record;
    return (link.composite ? record.composite_shape : record.shape)->id;
  }

  // The only use may be that of a graph output, which has no user.
  bool is_operation_user(const State& state, NodeId value) const {
    return std::ranges::any_of(arena_.node(state.user).operands, [&](ValueId operand) { return operand.node == value; });
  }

  // Gives nodes of this role, and what is fused into them, to regions.
  void claim(Role role) {
    for (const NodeId id : order_) {
      State& state = states_[index_of(id)];
      if (state.record->shape->role != role || state.inside || state.region >= 0) continue;
      chain_from(id);
      const std::size_t links = regions_.best_prefix(chain_, arriving_layout(id));
      chain_.resize(links);
      links_.resize(links);
      use_region();
    }
  }

  // The layout in which the first operand of a chain will arrive, as far as it is known before regions are priced: from convolutions, and
  // from chains after them.
  Layout arriving_layout(NodeId id) const {
    for (const ValueId operand : states_[index_of(id)].record->operands) {
      if (arena_.is_constant(operand)) continue;
      const Layout layout = states_[index_of(operand.node)].layout;
      if (layout != Layout::plain) return layout;
    }
    return Layout::plain;
  }

  // Makes a region of links_ and chain_.
  void use_region() {
    RegionKernel* kernel = regions_.region(chain_);
    State& exit = states_[index_of(links_.back().node)];
    if (kernel->chooses) {
      exit.layout = regions_.cost(*kernel, Layout::any).cost.results;
    } else if (const Layout layout = arriving_layout(links_[0].node); kernel->works[static_cast<std::size_t>(layout)]) {
      exit.layout = layout;
    }
    for (std::size_t k = 0; k + 1 < links_.size(); ++k) states_[index_of(links_[k].node)].inside = true;
    exit.region = static_cast<std::int32_t>(used_.size());
    used_.push_back({links_, kernel});
  }

  void price(NodeId id) {
    State& state = states_[index_of(id)];
    const NodeRecord& record = *state.record;
    const ir::Node& node = arena_.node(id);
    if (record.shape->role == Role::absent || state.inside) return;
    if (record.shape->role == Role::refused) {
      for (const ValueId operand : node.operands) convert(operand, Layout::plain);
      return refuse(record.shape->refusal, {id});
    }
    if (record.shape->role == Role::free) {
      // The same elements in the same order: only a plain tensor can be seen in another shape.
      if (node.operands.empty() || arena_.is_constant(node.operands[0])) return;
      const ValueId operand = node.operands[0];
      if (!(arena_.type(operand).shape == node.outputs[0].shape)) return convert(operand, Layout::plain);
      state.layout = states_[index_of(operand.node)].layout;
      return;
    }
    if (state.region < 0) {
      links_ = {Link{id, false}};
      chain_ = {Element{record.shape->id, Element::kFirst}};
      use_region();
    }
    price_region(used_[static_cast<std::size_t>(state.region)], state);
  }

  // The values that the region reads, in the order of its kernel.
  const std::vector<ValueId>& operands_of(const Use& use) {
    operands_.clear();
    for (std::size_t k = 0; k < use.links.size(); ++k) {
      const NodeRecord& record = *states_[index_of(use.links[k].node)].record;
      if (use.links[k].composite) {
        if (k == 0) operands_.push_back(record.composite->entry);
        operands_.insert(operands_.end(), record.composite->parameters.begin(), record.composite->parameters.end());
        continue;
      }
      for (const ValueId operand : record.operands) {
        if (k == 0 || operand.node != use.links[k - 1].node) operands_.push_back(operand);
      }
    }
    return operands_;
  }

  void price_region(const Use& use, State& state) {
    RegionKernel& kernel = *use.kernel;
    const std::vector<ValueId>& values = operands_of(use);
    Layout layout = kernel.chooses ? Layout::any : Layout::plain;
    if (!kernel.chooses) {
      // The layout in which the first operand arrives, if the kernel works in it.
      for (std::size_t k = 0; k < values.size() && layout == Layout::plain; ++k) {
        if (!kernel.takes[k]) continue;
        const Layout arrives = states_[index_of(values[k].node)].layout;
        if (arrives != Layout::plain && kernel.works[static_cast<std::size_t>(arrives)]) layout = arrives;
      }
    }
    const DatabaseEntry& entry = regions_.cost(kernel, layout);
    const Layout operands = kernel.chooses ? entry.cost.operands : layout;
    const Layout results = kernel.chooses ? entry.cost.results : layout;
    for (std::size_t k = 0; k < values.size(); ++k) {
      // Operands of post-operations lie as the result does.
      const Layout own = k >= kernel.spec.operands.size() ? results : operands;
      convert(values[k], kernel.takes[k] ? own : Layout::plain);
    }
    const bool layouts = !kernel.spec.results.empty() && has_layouts(kernel.spec.results[0]);
    state.layout = layouts ? results : Layout::plain;
    if (!entry.refusal.empty()) return refuse(entry.refusal, nodes_of(use));
    cost_.time += entry.cost.median;
    ++cost_.kernels;
    if (explanation_ != nullptr) explanation_->push_back({ops::to_string(kernel.spec), operands, nodes_of(use), entry.cost, {}});
  }

  // Brings a value to a layout, once.
  void convert(ValueId value, Layout wanted) {
    if (arena_.is_constant(value) || arena_.is_absent(value)) return;
    State& state = states_[index_of(value.node)];
    if (state.layout == wanted) return;
    if (value.output == 0) {
      const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(wanted));
      if ((state.converted & bit) != 0) return;
      state.converted |= bit;
    } else {
      if (std::ranges::find(converted_, std::pair(value, wanted)) != converted_.end()) return;
      converted_.emplace_back(value, wanted);
    }
    const DatabaseEntry* entry = regions_.reorder(value, state.layout, wanted);
    if (entry == nullptr) return refuse("cannot convert a tensor of unknown size here", {value.node});
    if (!entry->refusal.empty()) return refuse(entry->refusal, {value.node});
    if (entry->cost.median.value <= 0) return;  // the same bytes
    cost_.time += entry->cost.median;
    ++cost_.kernels;
    if (explanation_ != nullptr) {
      const ops::KernelSpec spec = reorder_spec(*regions_.tensor(value), state.layout, wanted);
      explanation_->push_back({ops::to_string(spec), state.layout, {value.node}, entry->cost, {}});
    }
  }

  void refuse(const std::string& refusal, std::vector<NodeId> nodes) {
    ++cost_.kernels;
    ++cost_.unmeasured;
    if (refusals_ != nullptr) refusals_->push_back(refusal);
    if (explanation_ != nullptr) explanation_->push_back({refusal, Layout::plain, std::move(nodes), {}, refusal});
  }

  std::vector<NodeId> nodes_of(const Use& use) {
    std::vector<NodeId> nodes;
    for (const Link& link : use.links) {
      if (link.composite) {
        const auto& inner = states_[index_of(link.node)].record->composite->inner;
        nodes.insert(nodes.end(), inner.begin(), inner.end());
      }
      nodes.push_back(link.node);
    }
    return nodes;
  }

  const ir::Arena& arena_;
  KernelCosts costs_;
  Regions regions_;
  std::vector<State> states_;
  std::vector<NodeId> order_;
  std::vector<std::pair<NodeId, std::size_t>> stack_;
  std::vector<Use> used_;
  std::vector<Link> links_;
  Chain chain_;
  std::vector<ValueId> operands_;
  std::vector<std::pair<ValueId, Layout>> converted_;  // other outputs
  std::uint32_t epoch_ = 0;
  Cost cost_;
  std::vector<CoveredRegion>* explanation_ = nullptr;
  std::vector<std::string>* refusals_ = nullptr;
};

CostModel::CostModel(const ir::Arena& arena, Device& device, Database& database, ir::Symbols::Valuation sizes)
    : implementation_(std::make_unique<Implementation>(arena, device, database, std::move(sizes))) {}
CostModel::~CostModel() = default;

Result<Cost> CostModel::cost(const ir::Graph& graph) { return implementation_->cost(graph, nullptr, nullptr); }

Result<void> CostModel::accept(const ir::Graph& original) {
  std::vector<std::string> refusals;
  implementation_->cost(original, nullptr, &refusals);
  implementation_->accepted.clear();
  for (std::string& refusal : refusals) ++implementation_->accepted[std::move(refusal)];
  return {};
}

Result<Nanoseconds> CostModel::time(const ir::Graph& graph) {
  std::vector<std::string> refusals;
  const Cost cost = implementation_->cost(graph, nullptr, &refusals);
  if (refusals.empty()) return cost.time;
  std::map<std::string, std::size_t> counts;
  for (std::string& refusal : refusals) {
    const auto accepted = implementation_->accepted.find(refusal);
    const std::size_t allowed = accepted == implementation_->accepted.end() ? 0 : accepted->second;
    if (++counts[refusal] > allowed) return fail(ErrorCode::unsupported, std::move(refusal));
  }
  return cost.time;
}

Result<std::vector<CoveredRegion>> CostModel::explain(const ir::Graph& graph) {
  std::vector<CoveredRegion> regions;
  implementation_->cost(graph, &regions, nullptr);
  return regions;
}

void CostModel::on_measure(std::function<void(const std::string&)> callback) { implementation_->costs().on_measure = std::move(callback); }
const CostStatistics& CostModel::statistics() const { return implementation_->costs().statistics(); }

}  // namespace xflow::cost
