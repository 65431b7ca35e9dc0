#include "src/cost/cover.h"

#include <algorithm>
#include <map>

#include "src/cost/kernel_costs.h"
#include "src/cost/region.h"

namespace xflow::cost {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr std::size_t kLongestChain = 8;

std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id); }

}  // namespace

class CostModel::Implementation {
 public:
  Implementation(const ir::Arena& arena, Device& device, Database& database, ir::Symbols::Valuation sizes)
      : arena_(arena), costs_(device, database), regions_(arena, costs_, std::move(sizes)) {}

  // Costs the graph; writes the regions to `explanation` and the refusals to `refusals` where they are given.
  Result<Cost> cost(const ir::Graph& graph, std::vector<CoveredRegion>* explanation, std::vector<std::string>* refusals) {
    explanation_ = explanation;
    refusals_ = refusals;
    cost_ = Cost{};
    converted_.clear();
    visit(graph);
    for (const NodeId id : order_) {
      XFLOW_TRY(states_[index_of(id)].record, regions_.record(id));
    }
    find_composites();
    XFLOW_CHECK(claim(Role::anchor));
    XFLOW_CHECK(claim(Role::pointwise));
    for (const NodeId id : order_) XFLOW_CHECK(price(id));
    // What leaves the graph is plain.
    for (const ValueId output : graph.outputs) XFLOW_CHECK(convert(output, Layout::plain));
    return cost_;
  }

  KernelCosts& costs() { return costs_; }
  std::map<std::string, std::size_t> accepted;

 private:
  // What is known about a node while one graph is costed. Reset when `epoch` is old.
  struct State {
    std::uint32_t epoch = 0;
    std::uint32_t uses = 0;  // operand slots that read it, and graph outputs
    NodeId user{};           // the last node that reads it
    const NodeRecord* record = nullptr;
    NodeId composite{};  // exit of the composite of which this node is the entry, if has_composite
    bool has_composite = false;
    bool inside = false;            // of a composite or a region, but not its exit
    Region* region = nullptr;       // of which it is the exit
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

  // The chain that begins at `id`: each value is read by the next link alone.
  Chain chain_from(NodeId id) {
    Chain chain = {Link{id, is_exit_of_composite(id)}};
    while (chain.size() < kLongestChain) {
      const NodeId last = chain.back().node;
      const State& state = states_[index_of(last)];
      if (state.has_composite) {
        const NodeRecord* record = states_[index_of(state.composite)].record;
        if (state.uses != record->composite->entry_uses || !record->composite->axes.empty()) break;
        chain.push_back({state.composite, true});
        continue;
      }
      if (state.uses != 1 || !is_operation_user(state, last)) break;
      const State& user = states_[index_of(state.user)];
      if (user.record->role != Role::pointwise || user.region != nullptr || user.inside || is_exit_of_composite(state.user)) break;
      chain.push_back({state.user, false});
    }
    return chain;
  }

  // The only use may be that of a graph output, which has no user.
  bool is_operation_user(const State& state, NodeId value) const {
    return std::ranges::any_of(arena_.node(state.user).operands, [&](ValueId operand) { return operand.node == value; });
  }

  // Gives nodes of this role, and what is fused into them, to regions.
  Result<void> claim(Role role) {
    for (const NodeId id : order_) {
      State& state = states_[index_of(id)];
      if (state.record->role != role || state.inside || state.region != nullptr) continue;
      Chain chain = chain_from(id);
      XFLOW_TRY(const std::size_t links, regions_.best_prefix(chain));
      chain.resize(links);
      for (std::size_t k = 0; k + 1 < links; ++k) states_[index_of(chain[k].node)].inside = true;
      XFLOW_TRY(states_[index_of(chain.back().node)].region, regions_.region(chain));
    }
    return {};
  }

  Result<void> price(NodeId id) {
    State& state = states_[index_of(id)];
    const NodeRecord& record = *state.record;
    if (record.role == Role::absent || state.inside) return {};
    if (record.role == Role::refused) {
      for (const ValueId operand : arena_.node(id).operands) XFLOW_CHECK(convert(operand, Layout::plain));
      refuse(record.refusal, {id});
      return {};
    }
    if (record.role == Role::free) {
      // The same elements in the same order: only a plain tensor can be seen in another shape.
      const ValueId operand = arena_.node(id).operands.empty() ? ValueId{} : arena_.node(id).operands[0];
      if (arena_.node(id).operands.empty() || arena_.is_constant(operand)) return {};
      const State& source = states_[index_of(operand.node)];
      if (arena_.type(operand).shape == arena_.node(id).outputs[0].shape) {
        state.layout = source.layout;
        return {};
      }
      return convert(operand, Layout::plain);
    }
    if (state.region == nullptr) {
      XFLOW_TRY(state.region, regions_.region(Chain{Link{id, false}}));
    }
    return price_region(*state.region, state);
  }

  Result<void> price_region(Region& region, State& state) {
    Device& device = costs_.device();
    const bool chooses = device.chooses_layout(region.spec);
    Layout layout = chooses ? Layout::any : Layout::plain;
    if (!chooses) {
      // The layout in which the first operand arrives, if the kernel works in it.
      for (std::size_t k = 0; k < region.operands.size() && layout == Layout::plain; ++k) {
        if (!takes_layout(region, k)) continue;
        const Layout arrives = states_[index_of(region.operands[k].node)].layout;
        if (arrives != Layout::plain && device.works_in(region.spec, arrives)) layout = arrives;
      }
    }
    const DatabaseEntry& entry = regions_.cost(region, layout);
    const Layout operands = chooses ? entry.cost.operands : layout;
    const Layout results = chooses ? entry.cost.results : layout;
    for (std::size_t k = 0; k < region.operands.size(); ++k) {
      if (arena_.is_constant(region.operands[k])) continue;
      // Operands of post-operations lie as the result does.
      const bool of_result = chooses && k >= region.spec.operands.size();
      const Layout wanted = takes_layout(region, k) ? (of_result ? results : operands) : Layout::plain;
      XFLOW_CHECK(convert(region.operands[k], wanted));
    }
    const bool layouts = !region.spec.results.empty() && has_layouts(region.spec.results[0]);
    state.layout = layouts ? results : Layout::plain;
    if (!entry.refusal.empty()) {
      refuse(entry.refusal, nodes_of(region));
      return {};
    }
    cost_.time += entry.cost.median;
    ++cost_.kernels;
    if (explanation_ != nullptr) explanation_->push_back({ops::to_string(region.spec), operands, nodes_of(region), entry.cost, {}});
    return {};
  }

  // Whether operand k lies in the kernel's layout: tensors of the result's rank do, weights and vectors do not.
  bool takes_layout(const Region& region, std::size_t k) const {
    if (arena_.is_constant(region.operands[k])) return false;
    const std::size_t own = region.spec.operands.size();
    if (k >= own) return has_layouts(post_operand(region, k - own)) && !is_product(region);
    if (costs_.device().chooses_layout(region.spec)) return k == 0;
    return has_layouts(region.spec.operands[k]) && !is_product(region) &&
           (region.spec.results.empty() || region.spec.operands[k].dims.size() >= region.spec.results[0].dims.size());
  }

  static bool is_product(const Region& region) { return region.spec.kernel == "matmul"; }

  static const ops::TensorSpec& post_operand(const Region& region, std::size_t k) {
    for (const ops::PostOperation& post : region.spec.post) {
      if (k < post.operands.size()) return post.operands[k];
      k -= post.operands.size();
    }
    return region.spec.results[0];
  }

  // Brings a value to a layout, once.
  Result<void> convert(ValueId value, Layout wanted) {
    if (arena_.is_constant(value) || arena_.is_absent(value)) return {};
    State& state = states_[index_of(value.node)];
    if (state.layout == wanted || state.epoch != epoch_) return {};
    const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(wanted));
    if (value.output == 0) {
      if ((state.converted & bit) != 0) return {};
      state.converted |= bit;
    } else {
      if (std::ranges::find(converted_, std::pair(value, wanted)) != converted_.end()) return {};
      converted_.emplace_back(value, wanted);
    }
    XFLOW_TRY(const DatabaseEntry* entry, regions_.reorder(value, state.layout, wanted));
    XFLOW_TRY(const ops::TensorSpec tensor, regions_.tensor(value));
    if (!entry->refusal.empty()) {
      refuse(entry->refusal, {value.node});
      return {};
    }
    if (entry->cost.median.value <= 0) return {};  // the same bytes
    cost_.time += entry->cost.median;
    ++cost_.kernels;
    if (explanation_ != nullptr) {
      explanation_->push_back({ops::to_string(reorder_spec(tensor, state.layout, wanted)), state.layout, {value.node}, entry->cost, {}});
    }
    return {};
  }

  void refuse(const std::string& refusal, std::vector<NodeId> nodes) {
    ++cost_.kernels;
    ++cost_.unmeasured;
    if (refusals_ != nullptr) refusals_->push_back(refusal);
    if (explanation_ != nullptr) explanation_->push_back({refusal, Layout::plain, std::move(nodes), {}, refusal});
  }

  std::vector<NodeId> nodes_of(const Region& region) {
    std::vector<NodeId> nodes;
    for (const Link& link : region.chain) {
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
  XFLOW_CHECK(implementation_->cost(original, nullptr, &refusals));
  implementation_->accepted.clear();
  for (std::string& refusal : refusals) ++implementation_->accepted[std::move(refusal)];
  return {};
}

Result<Nanoseconds> CostModel::time(const ir::Graph& graph) {
  std::vector<std::string> refusals;
  XFLOW_TRY(const Cost cost, implementation_->cost(graph, nullptr, &refusals));
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
  XFLOW_CHECK(implementation_->cost(graph, &regions, nullptr));
  return regions;
}

void CostModel::on_measure(std::function<void(const std::string&)> callback) { implementation_->costs().on_measure = std::move(callback); }
const CostStatistics& CostModel::statistics() const { return implementation_->costs().statistics(); }

}  // namespace xflow::cost
