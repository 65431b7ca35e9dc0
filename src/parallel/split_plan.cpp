#include "src/parallel/split_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace xflow::parallel {

std::uint32_t OperatorPlan::parts() const {
  std::uint32_t product = 1;
  for (const Split& split : splits) product *= split.degree;
  return product;
}

std::uint32_t OperatorPlan::batches() const {
  std::uint32_t product = 1;
  for (const Split& split : splits)
    if (split.stride == 0) product *= split.degree;
  return product;
}

std::uint32_t OperatorPlan::device(std::uint32_t part) const {
  std::uint32_t device = base;
  for (auto split = splits.rbegin(); split != splits.rend(); ++split) {
    device += part % split->degree * split->stride;
    part /= split->degree;
  }
  return device;
}

std::uint32_t OperatorPlan::degree(SplitTarget target, std::uint32_t dimension) const {
  std::uint32_t product = 1;
  for (const Split& split : splits)
    if (split.target == target && split.dimension == dimension) product *= split.degree;
  return product;
}

std::uint32_t OperatorPlan::position(std::uint32_t part, SplitTarget target, std::uint32_t dimension) const {
  std::uint32_t position = 0;
  std::uint32_t weight = 1;
  for (auto split = splits.rbegin(); split != splits.rend(); ++split) {
    if (split->target == target && split->dimension == dimension) {
      position += part % split->degree * weight;
      weight *= split->degree;
    }
    part /= split->degree;
  }
  return position;
}

std::uint32_t OperatorPlan::batch(std::uint32_t part) const {
  std::uint32_t batch = 0;
  std::uint32_t weight = 1;
  for (auto split = splits.rbegin(); split != splits.rend(); ++split) {
    if (split->stride == 0) {
      batch += part % split->degree * weight;
      weight *= split->degree;
    }
    part /= split->degree;
  }
  return weight > 1 ? batch + 1 : 0;
}

OperatorPlan OperatorPlan::by_device() const {
  OperatorPlan plan{base, {}};
  for (const Split& split : splits)
    if (split.stride > 0) plan.splits.push_back(split);
  return plan;
}

SplitPlan by_device(const SplitPlan& plan) {
  SplitPlan made;
  made.reserve(plan.size());
  for (const OperatorPlan& own : plan) made.push_back(own.by_device());
  return made;
}

std::string to_string(const OperatorPlan& plan) {
  std::string text;
  for (const Split& split : plan.splits) {
    switch (split.target) {
      case SplitTarget::output:
        text += split.stride == 0 ? fmt::format("axis {} in {} batches, ", split.dimension, split.degree)
                                  : fmt::format("axis {} / {}, ", split.dimension, split.degree);
        break;
      case SplitTarget::reduction:
        text += fmt::format("sum / {}, ", split.degree);
        break;
      case SplitTarget::copies:
        text += fmt::format("{} copies, ", split.degree);
        break;
    }
  }
  const std::uint32_t last = plan.device(plan.parts() - 1);
  return text + (last == plan.base ? fmt::format("device {}", plan.base) : fmt::format("devices {} to {}", plan.base, last));
}

Interval share(std::int64_t blocks, std::uint32_t parts, std::uint32_t position) {
  return {blocks * position / parts, blocks * (position + 1) / parts};
}

PlannedPart planned_part(const SplitModel& model, std::uint32_t number, const OperatorPlan& plan, std::uint32_t part) {
  const SplitOperator& op = model.operators()[number];
  const OperatorKind& kind = model.kind(op);
  PlannedPart planned{model.values()[op.outputs[0]].whole, std::nullopt};
  for (std::uint32_t d = 0; d < planned.output.size(); ++d) {
    const std::uint32_t degree = plan.degree(SplitTarget::output, d);
    if (degree == 1) continue;
    const Interval own = share(kind.axes[d].blocks, degree, plan.position(part, SplitTarget::output, d));
    planned.output[d] = {own.begin * kind.axes[d].block, own.end * kind.axes[d].block};
  }
  if (const std::uint32_t degree = plan.degree(SplitTarget::reduction); degree > 1)
    planned.terms = share(kind.reduction.blocks, degree, plan.position(part, SplitTarget::reduction));
  return planned;
}

std::vector<ShardedDimension> dimensions_of_result(const OperatorPlan& plan, std::size_t rank) {
  std::vector<ShardedDimension> found;
  for (std::uint32_t d = 0; d < rank; ++d)
    if (plan.degree(SplitTarget::output, d) > 1) found.push_back({d, SplitTarget::output, d});
  return found;
}

std::vector<ShardedDimension> dimensions_of_operand(const OperatorKind& kind, const OperatorPlan& plan, std::uint32_t read) {
  std::vector<ShardedDimension> found;
  const auto add = [&](const OperatorAxis& axis, SplitTarget target, std::uint32_t number) {
    if (plan.degree(target, number) == 1) return;
    for (const auto& [own, dimension] : axis.follows)
      if (own == read) found.push_back({dimension, target, number});
  };
  for (std::uint32_t d = 0; d < kind.axes.size(); ++d) add(kind.axes[d], SplitTarget::output, d);
  add(kind.reduction, SplitTarget::reduction, 0);
  std::ranges::sort(found, {}, &ShardedDimension::dimension);
  return found;
}

std::optional<std::uint32_t> joined_axis(const OperatorKind& kind, const OperatorPlan& plan) {
  for (std::uint32_t d = 0; d < kind.axes.size(); ++d)
    if (kind.axes[d].is_joined && plan.degree(SplitTarget::output, d) > 1) return d;
  return std::nullopt;
}

bool has_equal_parts(const SplitModel& model, std::uint32_t number, const OperatorPlan& plan) {
  const SplitOperator& op = model.operators()[number];
  const OperatorKind& kind = model.kind(op);
  if (joined_axis(kind, plan)) return false;
  for (std::uint32_t d = 0; d < kind.axes.size(); ++d)
    if (kind.axes[d].blocks > 0 && kind.axes[d].blocks % plan.degree(SplitTarget::output, d) != 0) return false;
  if (kind.reduction.blocks > 0 && kind.reduction.blocks % plan.degree(SplitTarget::reduction) != 0) return false;
  for (std::uint32_t k = 0; k < op.reads.size(); ++k) {
    const Box& whole = model.values()[op.reads[k]].whole;
    for (const ShardedDimension& own : dimensions_of_operand(kind, plan, k))
      if (whole[own.dimension].end % plan.degree(own.target, own.axis) != 0) return false;
  }
  return true;
}

namespace {

// Whether splits without a stride divide a dimension of the result, after the other splits of it.
bool has_possible_batches(const OperatorPlan& plan) {
  for (std::size_t k = 0; k < plan.splits.size(); ++k) {
    const Split& split = plan.splits[k];
    if (split.stride > 0) continue;
    if (split.target != SplitTarget::output) return false;
    for (std::size_t after = k + 1; after < plan.splits.size(); ++after) {
      const Split& other = plan.splits[after];
      if (other.stride > 0 && other.target == split.target && other.dimension == split.dimension) return false;
    }
  }
  return true;
}

// Whether its devices are of the cluster, and different ones but for micro-batches.
bool has_possible_devices(const OperatorPlan& plan, std::uint32_t devices) {
  const std::uint32_t parts = plan.parts();
  const std::uint32_t batches = plan.batches();
  if (parts / batches > devices) return false;
  std::vector<std::uint32_t> used(devices, 0);
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::uint32_t device = plan.device(part);
    if (device >= devices || ++used[device] > batches) return false;
  }
  return true;
}

// Whether the model has all parts, wherever they are.
bool has_parts(SplitModel& model, std::uint32_t number, const OperatorPlan& plan) {
  const OperatorKind& kind = model.kind(model.operators()[number]);
  for (const Split& split : plan.splits) {
    if (split.target == SplitTarget::output) {
      if (split.dimension >= kind.axes.size() || kind.axes[split.dimension].blocks < plan.degree(SplitTarget::output, split.dimension))
        return false;
    } else if (split.target == SplitTarget::reduction && kind.reduction.blocks < plan.degree(SplitTarget::reduction)) {
      return false;
    }
  }
  if (model.has_only_equal_parts() && !has_equal_parts(model, number, plan)) return false;
  for (std::uint32_t part = 0; part < plan.parts(); ++part) {
    const PlannedPart planned = planned_part(model, number, plan, part);
    if (model.part(number, planned.output, planned.terms) == nullptr) return false;
  }
  return true;
}

}  // namespace

std::vector<std::uint32_t> plan_key(std::uint32_t kind, const OperatorPlan& plan) {
  std::vector<std::uint32_t> key = {kind, plan.base};
  for (const Split& split : plan.splits)
    key.insert(key.end(), {static_cast<std::uint32_t>(split.target), split.dimension, split.degree, split.stride});
  return key;
}

bool is_possible(SplitModel& model, std::uint32_t number, const OperatorPlan& plan, std::uint32_t devices) {
  const SplitOperator& op = model.operators()[number];
  if (plan.base >= devices || op.outputs.empty()) return plan.base < devices && plan.splits.empty();
  if (!has_possible_batches(plan)) return false;
  std::vector<std::uint32_t> key = plan_key(op.kind, plan);
  key.push_back(devices);
  return model.remember(std::move(key), [&] {
    if (!has_possible_devices(plan, devices)) return false;
    // The same parts on other devices.
    OperatorPlan parts{0, plan.splits};
    for (Split& split : parts.splits) split.stride = std::min(split.stride, 1U);
    return model.remember(plan_key(op.kind, parts), [&] { return has_parts(model, number, parts); });
  });
}

}  // namespace xflow::parallel
