#include "src/parallel/split_workload.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "src/parallel/tied_groups.h"

namespace xflow::parallel {
namespace {

constexpr std::uint32_t kNoNode = UINT32_MAX;

// A node that has a box of a value on its device.
struct Holder {
  std::uint32_t node = 0;
  std::uint32_t part = 0;
  std::uint32_t device = 0;
};

// A box of a value, and who has it.
struct HeldBox {
  Box box;
  std::vector<Holder> holders;
};

// What a part reads from another.
struct Edge {
  std::uint32_t value = 0;
  std::uint32_t maker = 0;
  std::uint32_t held = 0;    // number of the box
  std::uint32_t holder = 0;  // number among its holders
  std::uint32_t reader_op = 0;
  std::uint32_t reader_part = 0;
  double bytes = 0;
};

class StepBuilder {
 public:
  StepBuilder(SplitModel& model, const SplitPlan& plan, const DeviceCluster& cluster, StepKind kind)
      : model_(model), plan_(plan), cluster_(cluster), kind_(kind) {}

  SplitStep make() {
    const auto count = static_cast<std::uint32_t>(model_.operators().size());
    held_.resize(model_.values().size());
    first_.assign(count, kNoNode);
    for (std::uint32_t op = 0; op < count; ++op) add_forward(op);
    if (kind_ == StepKind::training) {
      sort_edges();
      for (std::uint32_t op = count; op-- > 0;) add_backward(op);
      for (const std::uint32_t value : model_.tied_values()) update_tied(value);
    }
    for (std::uint32_t value = 0; value < model_.values().size(); ++value) {
      if (!model_.values()[value].is_output) continue;
      for (const HeldBox& held : held_[value]) tensor(held.holders[0].node, value, held.box);
    }
    return finish();
  }

 private:
  std::uint32_t add_node(SplitNodeKind kind, std::uint32_t op, std::uint32_t part, std::uint32_t device,
                         const std::vector<double>& seconds) {
    WorkloadNode node;
    node.seconds.reserve(cluster_.size());
    for (std::uint32_t d = 0; d < cluster_.size(); ++d) node.seconds.push_back(seconds.empty() ? 0 : seconds[model_.source_of(d)]);
    step_.workload.nodes.push_back(std::move(node));
    step_.devices.push_back(device);
    step_.nodes.push_back({kind, op, part});
    tensors_.emplace_back();
    return static_cast<std::uint32_t>(step_.nodes.size() - 1);
  }

  // The number of a tensor of a node.
  struct Made {
    std::uint32_t value = 0;
    Box box;  // empty: not a part of the value
    double bytes = 0;
    std::vector<std::uint32_t> readers;
  };
  std::size_t tensor(std::uint32_t node, std::uint32_t value, const Box& box) {
    auto& made = tensors_[node];
    const auto found = std::ranges::find_if(made, [&](const Made& own) { return own.value == value && own.box == box; });
    if (found != made.end()) return static_cast<std::size_t>(found - made.begin());
    made.push_back({value, box, elements(box) * model_.values()[value].element_bytes, {}});
    return made.size() - 1;
  }
  // A tensor of so many bytes from one node to another.
  void send(std::uint32_t from, std::uint32_t to, std::uint32_t value, double bytes) { tensors_[from].push_back({value, {}, bytes, {to}}); }

  void add_forward(std::uint32_t number) {
    const SplitOperator& op = model_.operators()[number];
    const OperatorPlan& plan = plan_[number];
    const std::uint32_t parts = plan.parts();
    first_[number] = static_cast<std::uint32_t>(step_.nodes.size());
    std::vector<PlannedPart> planned(parts);
    std::vector<const PartWork*> works(parts, nullptr);
    for (std::uint32_t part = 0; part < parts; ++part) {
      if (!op.outputs.empty()) {
        planned[part] = planned_part(model_, number, plan, part);
        works[part] = model_.part(number, planned[part].output, planned[part].terms);
      }
      const std::uint32_t node = add_node(SplitNodeKind::forward, number, part, plan.device(part),
                                          works[part] == nullptr ? std::vector<double>() : works[part]->seconds);
      if (works[part] == nullptr) continue;
      for (std::size_t k = 0; k < op.reads.size(); ++k) read(number, part, node, op.reads[k], works[part]->reads[k]);
    }
    if (op.outputs.empty() || works[0] == nullptr) return;
    // Parts of a reduction have the same box of the result.
    const bool is_reduced = plan.degree(SplitTarget::reduction) > 1;
    std::map<Box, std::vector<std::uint32_t>> boxes;
    for (std::uint32_t part = 0; part < parts; ++part) boxes[planned[part].output].push_back(part);
    for (auto& [box, members] : boxes) {
      std::vector<std::uint32_t> nodes;
      for (const std::uint32_t part : members) nodes.push_back(first_[number] + part);
      if (is_reduced) nodes = reduce(number, members, works[members[0]]->outputs, plan);
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        HeldBox held{works[members[0]]->outputs[k], {}};
        for (std::size_t m = 0; m < members.size(); ++m) held.holders.push_back({nodes[m], members[m], plan.device(members[m])});
        held_[op.outputs[k]].push_back(std::move(held));
      }
    }
  }

  double bytes_of_outputs(const SplitOperator& op, const std::vector<Box>& outputs) const {
    double bytes = 0;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) bytes += elements(outputs[k]) * model_.values()[op.outputs[k]].element_bytes;
    return bytes;
  }

  // Adds nodes where the all-reduce of the parts ends. Copies of a reduction have a ring for each copy.
  std::vector<std::uint32_t> reduce(std::uint32_t number, const std::vector<std::uint32_t>& members, const std::vector<Box>& outputs,
                                    const OperatorPlan& plan) {
    const double bytes = bytes_of_outputs(model_.operators()[number], outputs);
    std::map<std::uint32_t, std::vector<std::uint32_t>> rings;  // by copy
    for (const std::uint32_t part : members) rings[plan.position(part, SplitTarget::copies)].push_back(part);
    std::map<std::uint32_t, std::uint32_t> ends;
    for (const auto& [copy, ring] : rings) {
      std::vector<std::uint32_t> nodes;
      for (const std::uint32_t part : ring) nodes.push_back(first_[number] + part);
      const auto made = all_reduce(SplitNodeKind::reduce, number, nodes, model_.operators()[number].outputs[0], bytes);
      for (std::size_t k = 0; k < ring.size(); ++k) ends.emplace(ring[k], made[k]);
    }
    std::vector<std::uint32_t> result;
    result.reserve(members.size());
    for (const std::uint32_t part : members) result.push_back(ends.at(part));
    return result;
  }

  // A ring over the devices of nodes: each sends 2 (r - 1) / r of the bytes to the next. Steps after the
  // first add their latency to the end.
  std::vector<std::uint32_t> all_reduce(SplitNodeKind kind, std::uint32_t op, const std::vector<std::uint32_t>& nodes, std::uint32_t value,
                                        double bytes) {
    const auto ranks = static_cast<std::uint32_t>(nodes.size());
    std::vector<std::uint32_t> ends;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t device = step_.devices[nodes[rank]];
      const std::uint32_t node = add_node(kind, op, step_.nodes[nodes[rank]].part, device, {});
      const std::uint32_t before = step_.devices[nodes[(rank + ranks - 1) % ranks]];
      const double latency = (2.0 * (ranks - 1) - 1) * cluster_.link(before, device).latency;
      std::ranges::fill(step_.workload.nodes[node].seconds, latency);
      ends.push_back(node);
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      send(nodes[rank], ends[(rank + 1) % ranks], value, 2.0 * (ranks - 1) / ranks * bytes);
      send(nodes[rank], ends[rank], value, 0);
    }
    return ends;
  }

  // Which holder sends to a device: itself, or one of the same host, or the one at its turn.
  std::uint32_t choose(const std::vector<Holder>& holders, std::uint32_t device) const {
    for (std::uint32_t k = 0; k < holders.size(); ++k)
      if (holders[k].device == device) return k;
    const auto count = static_cast<std::uint32_t>(holders.size());
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint32_t at = (device + k) % count;
      if (cluster_.same_host(holders[at].device, device)) return at;
    }
    return device % count;
  }

  void read(std::uint32_t number, std::uint32_t part, std::uint32_t node, std::uint32_t value, const Box& box) {
    const SplitValue& own = model_.values()[value];
    if (own.is_constant) {
      const bool is_new = own.tied.empty() || tied_.emplace(value, step_.devices[node], box).second;
      if (is_new) step_.workload.nodes[node].bytes += own.is_sized ? elements(box) * own.element_bytes : 0;
      return;
    }
    if (own.maker == kNoOperator || (own.is_sized && box.empty() && !own.whole.empty())) return;
    const std::uint32_t device = step_.devices[node];
    const auto take = [&](std::uint32_t at, const Box& wanted) {
      const HeldBox& held = held_[value][at];
      const std::uint32_t holder = choose(held.holders, device);
      const std::uint32_t from = held.holders[holder].node;
      // On the same device the whole box is there.
      Made& made = tensors_[from][tensor(from, value, held.holders[holder].device == device ? held.box : wanted)];
      if (made.readers.empty() || made.readers.back() != node) made.readers.push_back(node);
      edges_.push_back({value, own.maker, at, holder, number, part, elements(wanted) * own.element_bytes});
    };
    const auto& held = held_[value];
    // The device may have all of it.
    for (std::uint32_t at = 0; at < held.size(); ++at) {
      const bool is_here = std::ranges::any_of(held[at].holders, [&](const Holder& holder) { return holder.device == device; });
      if (is_here && contains(held[at].box, box)) {
        take(at, box);
        return;
      }
    }
    for (std::uint32_t at = 0; at < held.size(); ++at)
      if (const auto wanted = intersection(held[at].box, box)) take(at, *wanted);
  }

  // The gradients of an operator's parts wait for the readers of its results.
  void sort_edges() {
    std::ranges::stable_sort(edges_, {}, [](const Edge& edge) { return edge.maker; });
    backward_.assign(step_.nodes.size(), kNoNode);
  }

  void add_backward(std::uint32_t number) {
    const SplitOperator& op = model_.operators()[number];
    const OperatorPlan& plan = plan_[number];
    const std::uint32_t parts = plan.parts();
    // Who waits for the gradient of each part.
    std::vector<std::uint32_t> nodes(parts);
    std::vector<const PartWork*> works(parts, nullptr);
    const auto [begin, end] = std::equal_range(edges_.begin(), edges_.end(), Edge{0, number, 0, 0, 0, 0, 0},
                                               [](const Edge& a, const Edge& b) { return a.maker < b.maker; });
    const bool is_shared = plan.degree(SplitTarget::copies) > 1 || plan.degree(SplitTarget::reduction) > 1;
    bool is_partial = false;
    for (auto edge = begin; edge != end; ++edge) {
      const auto holders = static_cast<std::uint32_t>(held_[edge->value][edge->held].holders.size());
      if (plan_[edge->reader_op].degree(SplitTarget::copies) < holders) is_partial = true;
    }
    for (std::uint32_t part = 0; part < parts; ++part) {
      if (!op.outputs.empty()) {
        const PlannedPart planned = planned_part(model_, number, plan, part);
        works[part] = model_.part(number, planned.output, planned.terms);
      }
      nodes[part] = kNoNode;
    }
    if (op.outputs.empty() || works[0] == nullptr) return;
    std::vector<std::uint32_t> arrived(parts, kNoNode);
    if (is_shared && is_partial) {
      // A node that collects the gradients of each copy, then the all-reduce of the copies.
      std::map<Box, std::vector<std::uint32_t>> groups;
      for (std::uint32_t part = 0; part < parts; ++part) groups[works[part]->outputs[0]].push_back(part);
      for (const auto& [box, members] : groups) {
        std::vector<std::uint32_t> collected;
        for (const std::uint32_t part : members) {
          collected.push_back(add_node(SplitNodeKind::reduce_gradient, number, part, plan.device(part), {}));
          nodes[part] = collected.back();
        }
        if (members.size() == 1) {
          arrived[members[0]] = collected[0];
          continue;
        }
        const auto ends =
            all_reduce(SplitNodeKind::reduce_gradient, number, collected, op.outputs[0], bytes_of_outputs(op, works[members[0]]->outputs));
        for (std::size_t k = 0; k < members.size(); ++k) arrived[members[k]] = ends[k];
      }
    }
    for (std::uint32_t part = 0; part < parts; ++part) {
      const std::uint32_t node = add_node(SplitNodeKind::backward, number, part, plan.device(part), works[part]->backward);
      send(first_[number] + part, node, op.outputs[0], 0);
      if (arrived[part] != kNoNode)
        send(arrived[part], node, op.outputs[0], 0);
      else
        nodes[part] = node;
      backward_[first_[number] + part] = node;
    }
    for (auto edge = begin; edge != end; ++edge) {
      const Holder& holder = held_[edge->value][edge->held].holders[edge->holder];
      const std::uint32_t reader = backward_[first_[edge->reader_op] + edge->reader_part];
      if (reader == kNoNode) continue;
      const bool is_here = step_.devices[reader] == holder.device;
      // Copies of a reader have the same gradient.
      if (!is_here && plan_[edge->reader_op].position(edge->reader_part, SplitTarget::copies) > 0) continue;
      send(reader, nodes[holder.part], edge->value, edge->bytes);
    }
    update_weights(number, works);
  }

  // Parts that read the same range of weights add its gradients.
  void update_weights(std::uint32_t number, const std::vector<const PartWork*>& works) {
    const SplitOperator& op = model_.operators()[number];
    const OperatorPlan& plan = plan_[number];
    std::map<std::pair<std::vector<Box>, std::uint32_t>, std::vector<std::uint32_t>> groups;
    double most = 0;
    for (std::uint32_t part = 0; part < works.size(); ++part) {
      std::vector<Box> weights;
      for (std::size_t k = 0; k < op.reads.size(); ++k) {
        const SplitValue& own = model_.values()[op.reads[k]];
        if (!own.is_weight() || !own.tied.empty()) continue;
        weights.push_back(works[part]->reads[k]);
        most = std::max(most, elements(weights.back()));
      }
      groups[{std::move(weights), plan.position(part, SplitTarget::copies)}].push_back(part);
    }
    if (most <= 1) return;  // numbers are no weights
    for (const auto& [key, members] : groups) {
      double count = 0;
      double bytes = 0;
      std::size_t position = 0;
      for (const std::uint32_t read : op.reads) {
        const SplitValue& own = model_.values()[read];
        if (!own.is_weight() || !own.tied.empty()) continue;
        count += elements(key.first[position]);
        bytes += elements(key.first[position++]) * own.element_bytes;
      }
      std::vector<std::uint32_t> nodes;
      for (const std::uint32_t part : members) nodes.push_back(backward_[first_[number] + part]);
      add_updates(number, nodes, count, bytes);
    }
  }

  // Adds the gradients of nodes on different devices, and updates the weights on each.
  void add_updates(std::uint32_t number, const std::vector<std::uint32_t>& nodes, double count, double bytes) {
    const std::uint32_t value = model_.operators()[number].outputs[0];
    std::vector<std::uint32_t> ends = nodes;
    if (nodes.size() > 1) ends = all_reduce(SplitNodeKind::reduce_gradient, number, nodes, value, bytes);
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const std::uint32_t node = add_node(SplitNodeKind::update, number, step_.nodes[nodes[k]].part, step_.devices[ends[k]], {});
      for (std::uint32_t d = 0; d < cluster_.size(); ++d)
        step_.workload.nodes[node].seconds[d] = model_.update_seconds(model_.source_of(d), count);
      step_.workload.nodes[node].bytes = bytes;  // the gradients
      send(ends[k], node, value, 0);
    }
  }

  // Parts of several operators that read the same range of tied weights add its gradients, first on each
  // device.
  void update_tied(std::uint32_t value) {
    TiedGroups groups;
    const SplitValue& own = model_.values()[value];
    for (const std::uint32_t number : own.tied) {
      const SplitOperator& op = model_.operators()[number];
      const auto k = static_cast<std::size_t>(std::ranges::find(op.reads, value) - op.reads.begin());
      for (std::uint32_t part = 0; part < plan_[number].parts(); ++part) {
        const std::uint32_t node = op.outputs.empty() ? kNoNode : backward_[first_[number] + part];
        if (node == kNoNode) continue;
        const PlannedPart planned = planned_part(model_, number, plan_[number], part);
        const PartWork* work = model_.part(number, planned.output, planned.terms);
        add_to(groups, work->reads[k], plan_[number].position(part, SplitTarget::copies), step_.devices[node], node);
      }
    }
    for (const TiedGroup& group : groups) {
      std::vector<std::uint32_t> nodes;
      for (const auto& [device, members] : group.nodes) {
        std::uint32_t node = members[0];
        if (members.size() > 1) {
          node = add_node(SplitNodeKind::reduce_gradient, own.tied[0], 0, device, {});
          for (const std::uint32_t member : members) send(member, node, value, 0);
        }
        nodes.push_back(node);
      }
      add_updates(own.tied[0], nodes, elements(group.box), elements(group.box) * own.element_bytes);
    }
  }

  SplitStep finish() {
    for (std::uint32_t node = 0; node < tensors_.size(); ++node) {
      for (Made& made : tensors_[node]) {
        std::ranges::sort(made.readers);
        made.readers.erase(std::unique(made.readers.begin(), made.readers.end()), made.readers.end());
        step_.workload.tensors.push_back({node, made.bytes, std::move(made.readers)});
        step_.values.push_back(made.value);
      }
    }
    return std::move(step_);
  }

  SplitModel& model_;
  const SplitPlan& plan_;
  const DeviceCluster& cluster_;
  const StepKind kind_;
  SplitStep step_;
  std::vector<std::vector<Made>> tensors_;  // by node
  std::vector<std::vector<HeldBox>> held_;  // by value
  std::vector<std::uint32_t> first_;        // node of the first part, by operator
  std::vector<Edge> edges_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, Box>> tied_;  // value, device and range of weights that are there
  std::vector<std::uint32_t> backward_;                           // by node of a part
};

}  // namespace

SplitStep step_of(SplitModel& model, const SplitPlan& plan, const DeviceCluster& cluster, StepKind kind) {
  return StepBuilder(model, plan, cluster, kind).make();
}

}  // namespace xflow::parallel
