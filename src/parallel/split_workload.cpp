#include "src/parallel/split_workload.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "src/parallel/all_reduce.h"
#include "src/parallel/batch_order.h"
#include "src/parallel/part_copies.h"
#include "src/parallel/step_numbers.h"
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
    for (std::uint32_t op = 0; op < count; ++op) {
      add_forward(op);
      phases_.push_back(order_.phase());
    }
    if (kind_ == StepKind::training) {
      sort_edges();
      for (std::uint32_t op = count; op-- > 0;) {
        if (op + 1 == count || phases_[op] != phases_[op + 1]) order_.begin_phase();
        add_backward(op);
      }
      order_.begin_phase();
      order_.begin_batch(BatchOrder::kLast);
      for (std::uint32_t op = count; op-- > 0;) update_weights(op);
      for (const std::uint32_t value : model_.tied_values()) update_tied(value);
      for (const GradientBucket& bucket : buckets_.rest()) add_bucket(bucket);
    }
    for (const auto& [from, to] : order_.edges()) send(from, to, model_.operators()[step_.nodes[from].op].outputs[0], 0);
    for (std::uint32_t value = 0; value < model_.values().size(); ++value) {
      if (!model_.values()[value].is_output) continue;
      for (const HeldBox& held : held_[value]) tensor(held.holders[0].node, value, held.box, held.box);
    }
    return finish();
  }

 private:
  std::uint32_t add_node(SplitNodeKind kind, std::uint32_t op, std::uint32_t part, std::uint32_t device,
                         const std::vector<double>& seconds) {
    step_.workload.nodes.push_back({std::vector<double>(cluster_.size(), 0), 0});
    if (!seconds.empty()) add_seconds(static_cast<std::uint32_t>(step_.nodes.size()), seconds);
    step_.devices.push_back(device);
    step_.nodes.push_back({kind, op, part});
    order_.add(device);
    tensors_.emplace_back();
    copies_.emplace_back();
    return static_cast<std::uint32_t>(step_.nodes.size() - 1);
  }

  // Adds times by source to those of a node.
  void add_seconds(std::uint32_t node, const std::vector<double>& seconds) {
    for (std::uint32_t d = 0; d < cluster_.size(); ++d) step_.workload.nodes[node].seconds[d] += seconds[model_.source_of(d)];
  }

  // The number of a tensor of a node.
  struct Made {
    std::uint32_t value = 0;
    Box box;  // empty: not a part of the value
    double bytes = 0;
    std::vector<std::uint32_t> readers;
  };
  std::size_t tensor(std::uint32_t node, std::uint32_t value, const Box& held, const Box& box) {
    auto& made = tensors_[node];
    const auto found = std::ranges::find_if(made, [&](const Made& own) { return own.value == value && own.box == box; });
    if (found != made.end()) return static_cast<std::size_t>(found - made.begin());
    made.push_back({value, box, elements(box) * model_.values()[value].element_bytes, {}});
    if (!is_contiguous(held, box)) copy(node, made.back().bytes);
    return made.size() - 1;
  }
  // A node copies so many bytes after or before its kernels.
  void copy(std::uint32_t node, double bytes) {
    copies_[node].push_back(bytes);
    add_copies(node, {bytes});
  }
  void add_copies(std::uint32_t node, const std::vector<double>& copies) {
    for (std::uint32_t d = 0; d < cluster_.size(); ++d)
      for (const double bytes : copies) step_.workload.nodes[node].seconds[d] += model_.copy_seconds(model_.source_of(d), bytes);
  }
  // A tensor of so many bytes from one node to another.
  void send(std::uint32_t from, std::uint32_t to, std::uint32_t value, double bytes) {
    tensors_[from].push_back({value, {}, bytes, {to}});
    order_.connect(from, to);
  }

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
      order_.begin_batch(plan.batch(part));
      const std::uint32_t node = add_node(SplitNodeKind::forward, number, part, plan.device(part),
                                          works[part] == nullptr ? std::vector<double>() : works[part]->seconds);
      if (works[part] == nullptr) continue;
      for (std::size_t k = 0; k < op.reads.size(); ++k) read(number, part, node, op.reads[k], works[part]->reads[k]);
    }
    order_.end_operator(first_[number]);
    if (op.outputs.empty() || works[0] == nullptr) return;
    // Parts of a reduction have the same box of the result.
    std::map<Box, std::vector<std::uint32_t>> boxes;
    for (std::uint32_t part = 0; part < parts; ++part) boxes[planned[part].output].push_back(part);
    for (auto& [box, members] : boxes) {
      std::vector<std::uint32_t> ends(parts);  // by part: the node that has its result
      for (const std::uint32_t part : members) ends[part] = first_[number] + part;
      if (plan.degree(SplitTarget::reduction) > 1) reduce(number, members, works, plan, ends);
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        HeldBox held{works[members[0]]->outputs[k], {}};
        for (const std::uint32_t part : members) held.holders.push_back({ends[part], part, plan.device(part)});
        held_[op.outputs[k]].push_back(std::move(held));
      }
    }
  }

  double bytes_of_outputs(const SplitOperator& op, const std::vector<Box>& outputs) const {
    double bytes = 0;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) bytes += elements(outputs[k]) * model_.values()[op.outputs[k]].element_bytes;
    return bytes;
  }

  // Adds nodes where the all-reduce of the parts ends, and what follows the sum in the operator. Copies of a
  // reduction have a ring for each copy.
  void reduce(std::uint32_t number, const std::vector<std::uint32_t>& members, const std::vector<const PartWork*>& works,
              const OperatorPlan& plan, std::vector<std::uint32_t>& ends) {
    const double bytes = bytes_of_outputs(model_.operators()[number], works[members[0]]->outputs);
    std::map<std::uint32_t, std::vector<std::uint32_t>> rings;  // by copy
    for (const std::uint32_t part : members) rings[plan.position(part, SplitTarget::copies)].push_back(part);
    for (const auto& [copy, ring] : rings) {
      std::vector<std::uint32_t> nodes;
      for (const std::uint32_t part : ring) nodes.push_back(first_[number] + part);
      order_.begin_batch(plan.batch(ring[0]));
      const auto made = all_reduce(SplitNodeKind::reduce, number, nodes, model_.operators()[number].outputs[0], bytes);
      for (std::size_t k = 0; k < ring.size(); ++k) {
        ends[ring[k]] = made[k];
        add_seconds(made[k], works[ring[k]]->after);
      }
    }
  }

  std::vector<std::uint32_t> devices_of(const std::vector<std::uint32_t>& nodes) const {
    std::vector<std::uint32_t> devices(nodes.size());
    std::ranges::transform(nodes, devices.begin(), [&](std::uint32_t node) { return step_.devices[node]; });
    return devices;
  }

  // Each node's device sends to that of the next. Latencies after the first are added to the end.
  std::vector<std::uint32_t> all_reduce(SplitNodeKind kind, std::uint32_t op, const std::vector<std::uint32_t>& nodes, std::uint32_t value,
                                        double bytes) {
    const auto ranks = static_cast<std::uint32_t>(nodes.size());
    const std::vector<std::uint32_t> devices = devices_of(nodes);
    const AllReduceStep own = all_reduce_step(cluster_, devices, bytes);
    std::vector<std::uint32_t> ends;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t device = devices[rank];
      const std::uint32_t node = add_node(kind, op, step_.nodes[nodes[rank]].part, device, {});
      const double latency = (own.latencies - 1) * cluster_.link(devices[(rank + ranks - 1) % ranks], device).latency;
      for (std::uint32_t d = 0; d < cluster_.size(); ++d)
        step_.workload.nodes[node].seconds[d] = latency + seconds_of_sum(model_, cluster_, d, bytes, ranks);
      ends.push_back(node);
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      send(nodes[rank], ends[(rank + 1) % ranks], value, own.bytes);
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
      if (here_.emplace(value, step_.devices[node], box).second)
        step_.workload.nodes[node].bytes += own.is_sized ? elements_read(own, box) * own.element_bytes : 0;
      return;
    }
    if (own.maker == kNoOperator || (own.is_sized && box.empty() && !own.whole.empty())) return;
    const std::uint32_t device = step_.devices[node];
    OperandCopies copies;
    const auto take = [&](std::uint32_t at, const Box& wanted) {
      const HeldBox& held = held_[value][at];
      const std::uint32_t holder = choose(held.holders, device);
      const std::uint32_t from = held.holders[holder].node;
      // On the same device the whole box is there.
      const bool is_sent = held.holders[holder].device != device;
      copies.take(held.box, wanted, is_sent, own.element_bytes);
      Made& made = tensors_[from][tensor(from, value, held.box, is_sent ? wanted : held.box)];
      if (made.readers.empty() || made.readers.back() != node) made.readers.push_back(node);
      order_.connect(from, node);
      if (kind_ == StepKind::training) taken_[node].emplace_back(from, static_cast<std::size_t>(&made - tensors_[from].data()));
      edges_.push_back({value, own.maker, at, holder, number, part, elements(wanted) * own.element_bytes});
    };
    const auto& held = held_[value];
    // The device may have all of it.
    for (std::uint32_t at = 0; at < held.size(); ++at) {
      const bool is_here = std::ranges::any_of(held[at].holders, [&](const Holder& holder) { return holder.device == device; });
      if (is_here && contains(held[at].box, box)) {
        take(at, box);
        join(node, value, box, copies);
        return;
      }
    }
    for (std::uint32_t at = 0; at < held.size(); ++at)
      if (const auto wanted = intersection(held[at].box, box)) take(at, *wanted);
    join(node, value, box, copies);
  }
  // The first part of a device that reads a box makes it for the others.
  void join(std::uint32_t node, std::uint32_t value, const Box& box, OperandCopies& copies) {
    const std::vector<double> bytes = copies.join(box, model_.values()[value].element_bytes);
    if (bytes.empty() || !joined_.emplace(value, step_.devices[node], box).second) return;
    for (const double own : bytes) copy(node, own);
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
        order_.begin_batch(backward_batch(plan.batch(members[0])));
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
      order_.begin_batch(backward_batch(plan.batch(part)));
      const std::uint32_t node = add_node(SplitNodeKind::backward, number, part, plan.device(part), works[part]->backward);
      send(first_[number] + part, node, op.outputs[0], 0);
      // Gradients go back through the same copies.
      add_copies(node, copies_[first_[number] + part]);
      if (const std::uint32_t end = end_of(number, part); end != first_[number] + part) add_copies(node, copies_[end]);
      if (op.keeps_operands) keep(first_[number] + part, node);
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
  }

  // The node that has the results of a part.
  std::uint32_t end_of(std::uint32_t number, std::uint32_t part) const {
    for (const HeldBox& held : held_[model_.operators()[number].outputs[0]])
      for (const Holder& holder : held.holders)
        if (holder.part == part) return holder.node;
    return first_[number] + part;
  }
  // What a part has read is kept until its gradients.
  void keep(std::uint32_t forward, std::uint32_t backward) {
    for (auto& [from, number] : taken_[forward]) tensors_[from][number].readers.push_back(backward);
  }

  // Parts that read the same range of weights add its gradients.
  void update_weights(std::uint32_t number) {
    const SplitOperator& op = model_.operators()[number];
    const OperatorPlan& plan = plan_[number];
    if (op.outputs.empty() || backward_[first_[number]] == kNoNode) return;
    std::vector<const PartWork*> works(plan.parts());
    for (std::uint32_t part = 0; part < plan.parts(); ++part) {
      const PlannedPart planned = planned_part(model_, number, plan, part);
      works[part] = model_.part(number, planned.output, planned.terms);
    }
    std::map<std::pair<std::vector<Box>, std::uint32_t>, std::vector<std::uint32_t>> groups;
    double most = 0;
    for (std::uint32_t part = 0; part < works.size(); ++part) {
      std::vector<Box> weights;
      for (std::size_t k = 0; k < op.reads.size(); ++k) {
        const SplitValue& own = model_.values()[op.reads[k]];
        if (!own.is_weight() || !own.tied.empty()) continue;
        weights.push_back(works[part]->reads[k]);
        most = std::max(most, elements_read(own, weights.back()));
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
        const double read_elements = elements_read(own, key.first[position++]);
        count += read_elements;
        bytes += read_elements * own.element_bytes;
      }
      if (count == 0) continue;  // parts that have none of the weights
      std::vector<std::uint32_t> nodes;
      for (const std::uint32_t part : members) nodes.push_back(backward_[first_[number] + part]);
      add_updates(number, nodes, count, bytes);
    }
  }

  // A node for each device: one that waits for all of the device, where it has several.
  std::vector<std::uint32_t> collected(std::uint32_t number, const std::vector<std::uint32_t>& nodes) {
    std::vector<std::uint32_t> made;
    for (const auto& own : nodes_by_device(nodes, [&](std::uint32_t node) { return step_.devices[node]; })) {
      made.push_back(own[0]);
      if (own.size() == 1) continue;
      made.back() = add_node(SplitNodeKind::reduce_gradient, number, step_.nodes[own[0]].part, step_.devices[own[0]], {});
      for (const std::uint32_t from : own) send(from, made.back(), model_.operators()[number].outputs[0], 0);
    }
    return made;
  }

  // Adds the gradients of nodes, first on each device, and updates the weights there.
  void add_updates(std::uint32_t number, const std::vector<std::uint32_t>& parts, double count, double bytes) {
    const std::vector<std::uint32_t> nodes = collected(number, parts);
    if (nodes.size() == 1) {
      update(number, nodes[0], count, bytes);
      return;
    }
    if (const auto full = buckets_.add(number, devices_of(nodes), nodes, count, bytes)) add_bucket(*full);
  }
  void add_bucket(const GradientBucket& bucket) {
    const std::uint32_t value = model_.operators()[bucket.op].outputs[0];
    std::vector<std::uint32_t> nodes;
    for (std::size_t rank = 0; rank < bucket.devices.size(); ++rank) {
      const std::vector<std::uint32_t>& own = bucket.nodes[rank];
      std::uint32_t node = own[0];
      if (own.size() > 1) {
        node = add_node(SplitNodeKind::reduce_gradient, bucket.op, step_.nodes[own[0]].part, bucket.devices[rank], {});
        for (const std::uint32_t from : own) send(from, node, value, 0);
      }
      nodes.push_back(node);
    }
    for (const std::uint32_t end : all_reduce(SplitNodeKind::reduce_gradient, bucket.op, nodes, value, bucket.bytes))
      update(bucket.op, end, bucket.count, bucket.bytes);
  }
  void update(std::uint32_t number, std::uint32_t after, double count, double bytes) {
    const std::uint32_t node = add_node(SplitNodeKind::update, number, step_.nodes[after].part, step_.devices[after], {});
    for (std::uint32_t d = 0; d < cluster_.size(); ++d)
      step_.workload.nodes[node].seconds[d] = model_.update_seconds(model_.source_of(d), count);
    step_.workload.nodes[node].bytes = bytes;  // the gradients
    send(after, node, model_.operators()[number].outputs[0], 0);
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
        if (elements_read(own, work->reads[k]) > 0) add_to(groups, work->reads[k], plan_[number].position(part, SplitTarget::copies), node);
      }
    }
    for (const TiedGroup& group : groups)
      add_updates(own.tied[0], group.nodes, elements(group.box), elements(group.box) * own.element_bytes);
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
    number_nodes(step_, order_.positions());
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
  GradientBuckets buckets_;
  BatchOrder order_;
  std::vector<std::uint32_t> phases_;                                                  // of the forward pass, by operator
  std::vector<std::vector<double>> copies_;                                            // bytes of each, by node
  std::set<std::tuple<std::uint32_t, std::uint32_t, Box>> joined_;                     // value, device and box that was copied there
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::size_t>>> taken_;  // by node: the tensors that it reads
  std::set<std::tuple<std::uint32_t, std::uint32_t, Box>> here_;  // value, device and range of constants that are there
  std::vector<std::uint32_t> backward_;                           // by node of a part
};

}  // namespace

SplitStep step_of(SplitModel& model, const SplitPlan& plan, const DeviceCluster& cluster, StepKind kind) {
  return StepBuilder(model, plan, cluster, kind).make();
}

}  // namespace xflow::parallel
