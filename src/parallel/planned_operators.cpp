#include "src/parallel/planned_operators.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "src/parallel/part_copies.h"
#include "src/parallel/planned_tasks.h"
#include "src/parallel/tied_groups.h"

namespace xflow::parallel {
namespace {

std::vector<std::optional<BoxGrid>> grids_of(const std::vector<PlannedOperator::Held>& all) {
  std::vector<std::optional<BoxGrid>> grids;
  for (std::size_t k = 0; !all.empty() && k < all[0].boxes.size(); ++k) {
    std::vector<Box> own;
    own.reserve(all.size());
    for (const PlannedOperator::Held& held : all) own.push_back(held.boxes[k]);
    grids.push_back(BoxGrid::of(own));
  }
  return grids;
}

// The box as a whole where the device has it, else from all that have some of it.
template <typename Take>
void take_from_any(const PlannedOperator& maker, std::uint32_t output, const Box& box, std::uint32_t device, const Take& take) {
  for (std::uint32_t at = 0; at < maker.held.size(); ++at) {
    const auto& devices = maker.held[at].devices;
    if (std::ranges::find(devices, device) == devices.end() || !contains(maker.held[at].boxes[output], box)) continue;
    take(at, box);
    return;
  }
  for (std::uint32_t at = 0; at < maker.held.size(); ++at)
    if (const auto wanted = intersection(maker.held[at].boxes[output], box)) take(at, *wanted);
}

}  // namespace

const PlannedOperator& PlannedOperators::with_plan(std::uint32_t op, const OperatorPlan& plan) {
  const auto [found, is_new] = operators_.try_emplace(plan_key(model_.operators()[op].kind, plan));
  if (is_new) {
    found->second = make(op, plan);
    found->second->number = static_cast<std::uint32_t>(operators_.size() - 1);
  }
  return *found->second;
}

std::unique_ptr<PlannedOperator> PlannedOperators::make(std::uint32_t number, const OperatorPlan& plan) {
  const SplitOperator& op = model_.operators()[number];
  auto made = std::make_unique<PlannedOperator>();
  made->plan = plan;
  made->is_dead = op.outputs.empty();
  made->is_reduced = plan.degree(SplitTarget::reduction) > 1;
  made->copies_of_each = plan.degree(SplitTarget::copies);
  made->is_shared = made->copies_of_each > 1 || made->is_reduced;
  std::map<Box, std::vector<std::uint32_t>> boxes;
  std::map<std::pair<std::vector<Box>, std::uint32_t>, std::vector<std::uint32_t>> weights;
  double most = 0;
  std::set<std::tuple<std::uint32_t, std::size_t, Box>> here;  // device, operand and range
  // Tied weights are those of several operators, and are not counted here.
  const auto is_weight = [&](std::uint32_t read) { return model_.values()[read].is_weight() && model_.values()[read].tied.empty(); };
  for (std::uint32_t part = 0; part < plan.parts(); ++part) {
    made->devices.push_back(plan.device(part));
    made->copies.push_back(plan.position(part, SplitTarget::copies));
    made->batches.push_back(plan.batch(part));
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
      const bool is_counted = value.is_constant && value.is_sized && value.tied.empty();
      // Micro-batches of a device share its constants.
      if (is_counted && here.emplace(made->devices.back(), k, work->reads[k]).second)
        made->resident.back() += elements_read(value, work->reads[k]) * value.element_bytes;
      if (!is_weight(op.reads[k])) continue;
      read.push_back(work->reads[k]);
      most = std::max(most, elements_read(value, read.back()));
    }
    weights[{std::move(read), made->copies.back()}].push_back(part);
  }
  std::uint32_t holders = 0;
  for (const auto& [box, parts] : boxes) {
    PlannedOperator::Held held;
    held.parts = parts;
    for (const std::uint32_t part : parts) held.devices.push_back(made->devices[part]);
    held.boxes = made->works[parts[0]]->outputs;
    made->wanted.resize(held.boxes.size());
    held.sent.resize(held.boxes.size());
    for (std::size_t k = 0; k < held.boxes.size(); ++k) held.sent[k].number(held.boxes[k]);
    held.first = holders;
    holders += static_cast<std::uint32_t>(parts.size());
    double bytes = 0;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) bytes += elements(held.boxes[k]) * model_.values()[op.outputs[k]].element_bytes;
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_copy;
    for (const std::uint32_t part : parts) by_copy[made->copies[part]].push_back(part);
    made->held.push_back(std::move(held));
    made->rings.emplace_back();
    for (auto& [copy, own] : by_copy) made->rings.back().push_back({std::move(own), bytes, 0, {}});
  }
  made->grids = grids_of(made->held);
  for (const auto& [key, parts] : weights) {
    if (most <= 1) break;  // numbers are no weights
    PlannedOperator::Ring ring{parts, 0, 0, nodes_by_device(parts, [&](std::uint32_t part) { return made->devices[part]; })};
    std::size_t position = 0;
    for (const std::uint32_t read : op.reads) {
      if (!is_weight(read)) continue;
      const double read_elements = elements_read(model_.values()[read], key.first[position++]);
      ring.count += read_elements;
      ring.bytes += read_elements * model_.values()[read].element_bytes;
    }
    // Parts that have none of the weights have nothing to update.
    if (ring.count > 0) made->updates.push_back(std::move(ring));
  }
  made->has_batches = plan.batches() > 1;
  made->forward = forward_tasks(model_, cluster_, *made);
  made->backward = backward_tasks(model_, cluster_, *made, false);
  if (made->is_shared) made->added = backward_tasks(model_, cluster_, *made, true);
  return made;
}

std::uint32_t PlannedOperators::choose(const std::vector<std::uint32_t>& devices, std::uint32_t device) const {
  const auto count = static_cast<std::uint32_t>(devices.size());
  for (std::uint32_t k = 0; k < count; ++k)
    if (devices[k] == device) return k;
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t at = (device + k) % count;
    if (cluster_.same_host(devices[at], device)) return at;
  }
  return device % count;
}

PartOperand PlannedOperators::operand(const PlannedOperator& maker, std::uint32_t output, const SplitValue& value, const Box& box,
                                      std::uint32_t device) {
  PartOperand made;
  OperandCopies copies;
  const auto take = [&](std::uint32_t at, const Box& wanted) {
    const PlannedOperator::Held& held = maker.held[at];
    OperandSource source{at, choose(held.devices, device), 0, elements(wanted) * value.element_bytes, 0, false};
    auto& sent = held.sent[output];
    // On the same device the whole box is there.
    const bool is_sent = held.devices[source.holder] != device;
    if (is_sent) source.box = sent.number(wanted);
    copies.take(held.boxes[output], wanted, is_sent, value.element_bytes);
    source.sent = elements(sent[source.box]) * value.element_bytes;
    source.is_copied = !is_contiguous(held.boxes[output], sent[source.box]);
    made.sources.push_back(source);
  };
  if (const auto& grid = maker.grids[output]; grid && elements(box) > 0) {
    for (const std::uint32_t at : grid->meeting(box)) take(at, *intersection(maker.held[at].boxes[output], box));
  } else {
    take_from_any(maker, output, box, device, take);
  }
  for (const double bytes : copies.join(box, value.element_bytes))
    made.copies.push_back(model_.copy_seconds(model_.source_of(device), bytes));
  made.box = maker.wanted[output].number(box);
  made.bytes = elements(box) * value.element_bytes;
  return made;
}

const std::vector<PartOperand>& PlannedOperators::read_by(std::uint32_t op, std::uint32_t read, const PlannedOperator& reader,
                                                          const PlannedOperator& maker, std::uint32_t output) {
  constexpr std::size_t kMostKept = 1U << 20U;
  if (parts_read_ > kMostKept) {
    operands_.clear();
    parts_read_ = 0;
  }
  const auto [found, is_new] = operands_.try_emplace({reader.number, read, maker.number, output});
  auto& result = found->second;
  if (!is_new) return result;
  const SplitValue& value = model_.values()[model_.operators()[op].reads[read]];
  result.resize(reader.works.size());
  for (std::uint32_t part = 0; part < reader.works.size(); ++part) {
    const Box& box = reader.works[part]->reads[read];
    if (value.is_sized && box.empty() && !value.whole.empty()) continue;
    result[part] = operand(maker, output, value, box, reader.devices[part]);
    parts_read_ += 1 + result[part].sources.size();
  }
  return result;
}

}  // namespace xflow::parallel
