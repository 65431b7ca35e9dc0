#include "src/parallel/split_clock.h"

#include <algorithm>
#include <functional>
#include <set>

#include "src/parallel/tied_groups.h"

namespace xflow::parallel {
namespace {

constexpr std::uint32_t kEnd = UINT32_MAX;

}  // namespace

struct SplitClock::Planned {
  struct Held {
    std::vector<std::uint32_t> parts;  // that have it
    std::vector<std::uint32_t> devices;
    std::vector<Box> boxes;  // by output
    // Parts of the box that are sent, by output. The first is all of it.
    mutable std::vector<std::vector<Box>> sent;
    std::uint32_t first = 0;  // number of its first holder
  };
  struct Ring {
    std::vector<std::uint32_t> parts;
    double bytes = 0;
    double count = 0;  // elements
  };

  std::uint32_t number = 0;
  OperatorPlan plan;
  std::vector<std::uint32_t> devices;  // by part
  std::vector<const PartWork*> works;  // by part
  std::vector<double> resident;        // bytes, by part
  std::vector<std::uint32_t> copies;   // position of a part among copies
  std::vector<Held> held;
  std::vector<std::vector<Ring>> rings;  // of reductions, by box
  std::vector<Ring> updates;             // of weights
  std::uint32_t copies_of_each = 1;
  bool is_reduced = false;
  bool is_shared = false;
  bool is_dead = false;  // nobody reads it
};

SplitClock::SplitClock(SplitModel& model, const DeviceCluster& cluster, StepKind kind)
    : model_(model), cluster_(cluster), kind_(kind), maker_of_(model.values().size(), {kNoOperator, 0}) {
  for (std::uint32_t op = 0; op < model.operators().size(); ++op) {
    const auto& outputs = model.operators()[op].outputs;
    for (std::uint32_t k = 0; k < outputs.size(); ++k) maker_of_[outputs[k]] = {op, k};
  }
}
SplitClock::~SplitClock() = default;

const SplitClock::Planned& SplitClock::planned(std::uint32_t op, const OperatorPlan& plan) {
  const auto [found, is_new] = planned_.try_emplace({model_.operators()[op].kind, plan});
  if (is_new) {
    found->second = make_planned(op, plan);
    found->second->number = static_cast<std::uint32_t>(planned_.size() - 1);
  }
  return *found->second;
}

std::unique_ptr<SplitClock::Planned> SplitClock::make_planned(std::uint32_t number, const OperatorPlan& plan) {
  const SplitOperator& op = model_.operators()[number];
  auto made = std::make_unique<Planned>();
  made->plan = plan;
  made->is_dead = op.outputs.empty();
  made->is_reduced = plan.degree(SplitTarget::reduction) > 1;
  made->copies_of_each = plan.degree(SplitTarget::copies);
  made->is_shared = made->copies_of_each > 1 || made->is_reduced;
  std::map<Box, std::vector<std::uint32_t>> boxes;
  std::map<std::pair<std::vector<Box>, std::uint32_t>, std::vector<std::uint32_t>> weights;
  double most = 0;
  // Tied weights are those of several operators, and are not counted here.
  const auto is_weight = [&](std::uint32_t read) { return model_.values()[read].is_weight() && model_.values()[read].tied.empty(); };
  for (std::uint32_t part = 0; part < plan.parts(); ++part) {
    made->devices.push_back(plan.device(part));
    made->copies.push_back(plan.position(part, SplitTarget::copies));
    made->resident.push_back(0);
    if (made->is_dead) {
      made->works.push_back(nullptr);
      continue;
    }
    const PlannedPart own = planned_part(model_, number, plan, part);
    const PartWork* work = model_.part(number, own.output, own.terms);
    made->works.push_back(work);
    boxes[own.output].push_back(part);
    std::vector<Box> read;
    for (std::size_t k = 0; k < op.reads.size(); ++k) {
      const SplitValue& value = model_.values()[op.reads[k]];
      if (value.is_constant && value.is_sized && value.tied.empty())
        made->resident.back() += elements(work->reads[k]) * value.element_bytes;
      if (!is_weight(op.reads[k])) continue;
      read.push_back(work->reads[k]);
      most = std::max(most, elements(read.back()));
    }
    weights[{std::move(read), made->copies.back()}].push_back(part);
  }
  std::uint32_t holders = 0;
  for (const auto& [box, parts] : boxes) {
    Planned::Held held;
    held.parts = parts;
    for (const std::uint32_t part : parts) held.devices.push_back(made->devices[part]);
    held.boxes = made->works[parts[0]]->outputs;
    for (const Box& own : held.boxes) held.sent.push_back({own});
    held.first = holders;
    holders += static_cast<std::uint32_t>(parts.size());
    double bytes = 0;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) bytes += elements(held.boxes[k]) * model_.values()[op.outputs[k]].element_bytes;
    std::map<std::uint32_t, Planned::Ring> rings;  // by copy
    for (const std::uint32_t part : parts) {
      Planned::Ring& ring = rings[made->copies[part]];
      ring.parts.push_back(part);
      ring.bytes = bytes;
    }
    made->held.push_back(std::move(held));
    made->rings.emplace_back();
    for (auto& [copy, ring] : rings) made->rings.back().push_back(std::move(ring));
  }
  for (const auto& [key, parts] : weights) {
    if (most <= 1) break;  // numbers are no weights
    Planned::Ring ring{parts, 0, 0};
    std::size_t position = 0;
    for (const std::uint32_t read : op.reads) {
      if (!is_weight(read)) continue;
      ring.count += elements(key.first[position]);
      ring.bytes += elements(key.first[position++]) * model_.values()[read].element_bytes;
    }
    made->updates.push_back(std::move(ring));
  }
  return made;
}

std::uint32_t SplitClock::choose(const std::vector<std::uint32_t>& devices, std::uint32_t device) const {
  const auto count = static_cast<std::uint32_t>(devices.size());
  for (std::uint32_t k = 0; k < count; ++k)
    if (devices[k] == device) return k;
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t at = (device + k) % count;
    if (cluster_.same_host(devices[at], device)) return at;
  }
  return device % count;
}

const SplitClock::Sources& SplitClock::sources(std::uint32_t op, std::uint32_t read, const Planned& reader, const Planned& maker,
                                               std::uint32_t output) {
  const auto [found, is_new] = sources_.try_emplace({reader.number, read, maker.number, output});
  Sources& result = found->second;
  if (!is_new) return result;
  const SplitValue& value = model_.values()[model_.operators()[op].reads[read]];
  result.resize(reader.works.size());
  for (std::uint32_t part = 0; part < reader.works.size(); ++part) {
    const Box& box = reader.works[part]->reads[read];
    if (value.is_sized && box.empty() && !value.whole.empty()) continue;
    const std::uint32_t device = reader.devices[part];
    const auto take = [&](std::uint32_t at, const Box& wanted) {
      const Planned::Held& held = maker.held[at];
      Source source{at, choose(held.devices, device), 0, elements(wanted) * value.element_bytes, 0};
      auto& sent = held.sent[output];
      // On the same device the whole box is there.
      if (held.devices[source.holder] != device) {
        const auto known = std::ranges::find(sent, wanted);
        source.box = static_cast<std::uint32_t>(known - sent.begin());
        if (known == sent.end()) sent.push_back(wanted);
      }
      source.sent = elements(sent[source.box]) * value.element_bytes;
      result[part].push_back(source);
    };
    bool is_here = false;
    for (std::uint32_t at = 0; at < maker.held.size() && !is_here; ++at) {
      const auto& devices = maker.held[at].devices;
      is_here = std::ranges::find(devices, device) != devices.end() && contains(maker.held[at].boxes[output], box);
      if (is_here) take(at, box);
    }
    for (std::uint32_t at = 0; at < maker.held.size() && !is_here; ++at)
      if (const auto wanted = intersection(maker.held[at].boxes[output], box)) take(at, *wanted);
  }
  return result;
}

std::uint32_t SplitClock::add_node(std::uint32_t device, double seconds, double bytes) {
  nodes_.push_back({device, kEnd, kEnd, 0, seconds, 0});
  resident_[device] += bytes;
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

std::uint32_t SplitClock::add_tensor(std::uint32_t node, std::uint32_t output, std::uint32_t box, double bytes) {
  const auto made = static_cast<std::uint32_t>(tensors_.size());
  Node& source = nodes_[node];
  const std::uint32_t number = source.last == kEnd ? 0 : tensors_[source.last].number + 1;
  tensors_.push_back({kEnd, output, box, kEnd, kEnd, number, bytes});
  (source.last == kEnd ? source.first : tensors_[source.last].next) = made;
  source.last = made;
  return made;
}

void SplitClock::add_reader(std::uint32_t tensor, std::uint32_t node) {
  Tensor& own = tensors_[tensor];
  if (own.last != kEnd && readers_[own.last].node == node) return;
  const auto made = static_cast<std::uint32_t>(readers_.size());
  readers_.push_back({node, kEnd});
  (own.last == kEnd ? own.first : readers_[own.last].next) = made;
  own.last = made;
  ++nodes_[node].pending;
}

void SplitClock::add_reads(std::uint32_t number, const Planned& own, std::uint32_t part) {
  const SplitOperator& op = model_.operators()[number];
  const std::uint32_t node = first_[number] + part;
  for (std::uint32_t k = 0; k < op.reads.size(); ++k) {
    const SplitValue& value = model_.values()[op.reads[k]];
    if (value.is_constant || value.maker == kNoOperator) continue;
    const auto [maker, output] = maker_of_[op.reads[k]];
    for (const Source& source : sources(number, k, own, *now_[maker], output)[part]) {
      const std::uint32_t from = holders_[maker][now_[maker]->held[source.held].first + source.holder];
      std::uint32_t tensor = nodes_[from].first;
      while (tensor != kEnd && (tensors_[tensor].output != output || tensors_[tensor].box != source.box)) tensor = tensors_[tensor].next;
      if (tensor == kEnd) tensor = add_tensor(from, output, source.box, source.sent);
      add_reader(tensor, node);
      if (kind_ == StepKind::training) edges_[maker].push_back({source.held, source.holder, output, number, part, source.bytes});
    }
  }
}

std::vector<std::uint32_t> SplitClock::all_reduce(const std::vector<std::uint32_t>& nodes, double bytes) {
  const auto ranks = static_cast<std::uint32_t>(nodes.size());
  std::vector<std::uint32_t> ends;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t device = nodes_[nodes[rank]].device;
    const std::uint32_t before = nodes_[nodes[(rank + ranks - 1) % ranks]].device;
    ends.push_back(add_node(device, (2.0 * (ranks - 1) - 1) * cluster_.link(before, device).latency, 0));
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    send(nodes[rank], ends[(rank + 1) % ranks], 2.0 * (ranks - 1) / ranks * bytes);
    send(nodes[rank], ends[rank], 0);
  }
  return ends;
}

void SplitClock::add_forward(std::uint32_t number, const Planned& own) {
  first_[number] = static_cast<std::uint32_t>(nodes_.size());
  for (std::uint32_t part = 0; part < own.works.size(); ++part) {
    const double seconds = own.is_dead ? 0 : own.works[part]->seconds[model_.source_of(own.devices[part])];
    add_node(own.devices[part], seconds, own.resident[part]);
    if (!own.is_dead) add_reads(number, own, part);
  }
  auto& holders = holders_[number];
  holders.clear();
  for (std::size_t at = 0; at < own.held.size(); ++at) {
    const auto& parts = own.held[at].parts;
    const std::size_t begin = holders.size();
    for (const std::uint32_t part : parts) holders.push_back(first_[number] + part);
    if (!own.is_reduced) continue;
    for (const Planned::Ring& ring : own.rings[at]) {
      std::vector<std::uint32_t> nodes;
      nodes.reserve(ring.parts.size());
      for (const std::uint32_t part : ring.parts) nodes.push_back(first_[number] + part);
      const auto ends = all_reduce(nodes, ring.bytes);
      for (std::size_t k = 0; k < ends.size(); ++k) {
        const auto place = std::ranges::find(parts, ring.parts[k]) - parts.begin();
        holders[begin + static_cast<std::size_t>(place)] = ends[k];
      }
    }
  }
}

bool SplitClock::is_partial(std::uint32_t number) const {
  return std::ranges::any_of(
      edges_[number], [&](const Edge& edge) { return now_[edge.reader_op]->copies_of_each < now_[number]->held[edge.held].parts.size(); });
}

void SplitClock::add_backward(std::uint32_t number, const Planned& own) {
  auto& backward = backward_[number];
  backward.assign(own.works.size(), kEnd);
  if (own.is_dead) return;
  std::vector<std::uint32_t> nodes(own.works.size(), kEnd);
  std::vector<std::uint32_t> arrived(own.works.size(), kEnd);
  if (own.is_shared && is_partial(number)) {
    for (std::size_t at = 0; at < own.held.size(); ++at) {
      const auto& parts = own.held[at].parts;
      std::vector<std::uint32_t> collected;
      for (const std::uint32_t part : parts) {
        collected.push_back(add_node(own.devices[part], 0, 0));
        nodes[part] = collected.back();
      }
      const auto ends = parts.size() == 1 ? collected : all_reduce(collected, own.rings[at][0].bytes);
      for (std::size_t k = 0; k < parts.size(); ++k) arrived[parts[k]] = ends[k];
    }
  }
  for (std::uint32_t part = 0; part < own.works.size(); ++part) {
    const std::uint32_t node = add_node(own.devices[part], own.works[part]->backward[model_.source_of(own.devices[part])], 0);
    send(first_[number] + part, node, 0);
    if (arrived[part] != kEnd)
      send(arrived[part], node, 0);
    else
      nodes[part] = node;
    backward[part] = node;
  }
  for (const Edge& edge : edges_[number]) {
    const Planned::Held& held = own.held[edge.held];
    const std::uint32_t reader = backward_[edge.reader_op][edge.reader_part];
    if (reader == kEnd) continue;
    const bool is_here = nodes_[reader].device == held.devices[edge.holder];
    // Copies of a reader have the same gradient.
    if (!is_here && now_[edge.reader_op]->copies[edge.reader_part] > 0) continue;
    send(reader, nodes[held.parts[edge.holder]], edge.bytes);
  }
  update_weights(number, own);
}

// The bytes of tied weights, once for each range on a device.
void SplitClock::hold_tied() {
  for (const std::uint32_t value : model_.tied_values()) {
    const SplitValue& own = model_.values()[value];
    std::set<std::pair<std::uint32_t, Box>> held;
    std::set<std::uint32_t> seen;  // plans
    for (const std::uint32_t number : own.tied) {
      const Planned& planned = *now_[number];
      if (planned.is_dead || !seen.insert(planned.number).second) continue;
      const auto& reads = model_.operators()[number].reads;
      const auto k = static_cast<std::size_t>(std::ranges::find(reads, value) - reads.begin());
      for (std::size_t part = 0; part < planned.works.size(); ++part) {
        const Box& box = planned.works[part]->reads[k];
        if (held.emplace(planned.devices[part], box).second) resident_[planned.devices[part]] += elements(box) * own.element_bytes;
      }
    }
  }
}

void SplitClock::update_tied(std::uint32_t value) {
  TiedGroups groups;
  const SplitValue& own = model_.values()[value];
  for (const std::uint32_t number : own.tied) {
    const Planned& planned = *now_[number];
    if (planned.is_dead) continue;
    const auto& reads = model_.operators()[number].reads;
    const auto k = static_cast<std::size_t>(std::ranges::find(reads, value) - reads.begin());
    for (std::uint32_t part = 0; part < planned.works.size(); ++part)
      add_to(groups, planned.works[part]->reads[k], planned.copies[part], planned.devices[part], backward_[number][part]);
  }
  for (const TiedGroup& group : groups) {
    std::vector<std::uint32_t> nodes;
    for (const auto& [device, members] : group.nodes) {
      std::uint32_t node = members[0];
      if (members.size() > 1) {
        node = add_node(device, 0, 0);
        for (const std::uint32_t member : members) send(member, node, 0);
      }
      nodes.push_back(node);
    }
    add_updates(nodes, elements(group.box), elements(group.box) * own.element_bytes);
  }
}

void SplitClock::add_updates(const std::vector<std::uint32_t>& nodes, double count, double bytes) {
  const auto ends = nodes.size() > 1 ? all_reduce(nodes, bytes) : nodes;
  for (const std::uint32_t end : ends) {
    const std::uint32_t device = nodes_[end].device;
    send(end, add_node(device, model_.update_seconds(model_.source_of(device), count), bytes), 0);
  }
}

void SplitClock::update_weights(std::uint32_t number, const Planned& own) {
  for (const Planned::Ring& ring : own.updates) {
    std::vector<std::uint32_t> nodes;
    nodes.reserve(ring.parts.size());
    for (const std::uint32_t part : ring.parts) nodes.push_back(backward_[number][part]);
    add_updates(nodes, ring.count, ring.bytes);
  }
}

double SplitClock::prepare(const SplitPlan& plan) {
  const auto count = static_cast<std::uint32_t>(plan.size());
  now_.resize(count);
  first_.resize(count);
  holders_.resize(count);
  edges_.resize(count);
  backward_.resize(count);
  nodes_.clear();
  tensors_.clear();
  readers_.clear();
  resident_.assign(cluster_.size(), 0);
  for (std::uint32_t op = 0; op < count; ++op) {
    now_[op] = &planned(op, plan[op]);
    edges_[op].clear();
  }
  for (std::uint32_t op = 0; op < count; ++op) add_forward(op, *now_[op]);
  hold_tied();
  if (kind_ == StepKind::training) {
    for (std::uint32_t op = count; op-- > 0;) add_backward(op, *now_[op]);
    for (const std::uint32_t value : model_.tied_values()) update_tied(value);
  }
  double missing = 0;
  for (std::size_t k = 0; k < resident_.size(); ++k) missing += std::max(0.0, resident_[k] - cluster_.devices[k].memory);
  return missing;
}

double SplitClock::seconds_of(const Waiting& task) const {
  if (!task.is_transfer) return nodes_[task.item].seconds;
  return cluster_.link(nodes_[task.source].device, task.device).seconds(tensors_[task.item].bytes);
}

// Tells the tasks that need a task that it has ended.
void SplitClock::finish(const Waiting& done, double end) {
  const auto arrive = [&](std::uint32_t number) {
    Node& node = nodes_[number];
    node.ready = std::max(node.ready, end);
    if (--node.pending > 0) return;
    queue_.push_back({node.ready, std::uint64_t{number} << 32U, number, 0, node.device, false});
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  };
  if (done.is_transfer) {
    for (std::uint32_t reader = tensors_[done.item].first; reader != kEnd; reader = readers_[reader].next)
      if (nodes_[readers_[reader].node].device == done.device) arrive(readers_[reader].node);
    return;
  }
  for (std::uint32_t tensor = nodes_[done.item].first; tensor != kEnd; tensor = tensors_[tensor].next) {
    for (std::uint32_t reader = tensors_[tensor].first; reader != kEnd; reader = readers_[reader].next) {
      const std::uint32_t device = nodes_[readers_[reader].node].device;
      if (device == done.device) {
        arrive(readers_[reader].node);
        continue;
      }
      if (seen_[device] == tensor) continue;  // another reader of that device was first
      seen_[device] = tensor;
      const std::uint64_t key = (std::uint64_t{done.item} << 32U) + 1 + std::uint64_t{tensors_[tensor].number} * cluster_.size() + device;
      queue_.push_back({end, key, tensor, done.item, device, true});
      std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
    }
  }
}

std::optional<double> SplitClock::step(double limit) {
  // Bounds add up in another order than times do.
  constexpr double kDrift = 1e-9;
  const double bound = limit + kDrift * limit;
  free_.assign(cluster_.resources(), 0);
  left_.assign(cluster_.resources(), 0);
  seen_.assign(cluster_.size(), kEnd);
  queue_.clear();
  for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
    const Node& node = nodes_[number];
    left_[node.device] += node.seconds;
    if (node.pending == 0) queue_.push_back({0, std::uint64_t{number} << 32U, number, 0, node.device, false});
  }
  for (const double work : left_)
    if (work > bound) return std::nullopt;
  std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
  double step = 0;
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const Waiting task = queue_.back();
    queue_.pop_back();
    const std::uint32_t resource = task.is_transfer ? cluster_.link_resource(nodes_[task.source].device, task.device) : task.device;
    const double seconds = seconds_of(task);
    const double end = std::max(task.ready, free_[resource]) + seconds;
    free_[resource] = end;
    if (!task.is_transfer) left_[resource] -= seconds;
    step = std::max(step, end);
    if (end + left_[resource] > bound) return std::nullopt;
    finish(task, end);
  }
  return step <= limit ? std::optional(step) : std::nullopt;
}

}  // namespace xflow::parallel
