#include "src/parallel/split_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace xflow::parallel {

std::uint32_t OperatorPlan::parts() const {
  std::uint32_t product = 1;
  for (const Split& split : splits) product *= split.degree;
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

std::string to_string(const OperatorPlan& plan) {
  std::string text;
  for (const Split& split : plan.splits) {
    switch (split.target) {
      case SplitTarget::output:
        text += fmt::format("axis {} / {}, ", split.dimension, split.degree);
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

bool has_equal_parts(const SplitModel& model, std::uint32_t number, const OperatorPlan& plan) {
  const SplitOperator& op = model.operators()[number];
  const OperatorKind& kind = model.kind(op);
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

bool is_possible(SplitModel& model, std::uint32_t number, const OperatorPlan& plan, std::uint32_t devices) {
  const SplitOperator& op = model.operators()[number];
  const OperatorKind& kind = model.kind(op);
  if (plan.base >= devices || op.outputs.empty()) return plan.base < devices && plan.splits.empty();
  for (const Split& split : plan.splits) {
    if (split.target == SplitTarget::output) {
      if (split.dimension >= kind.axes.size() || kind.axes[split.dimension].blocks < plan.degree(SplitTarget::output, split.dimension))
        return false;
    } else if (split.target == SplitTarget::reduction && kind.reduction.blocks < plan.degree(SplitTarget::reduction)) {
      return false;
    }
  }
  const std::uint32_t parts = plan.parts();
  if (parts > devices || (model.has_only_equal_parts() && !has_equal_parts(model, number, plan))) return false;
  std::vector<bool> used(devices, false);
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::uint32_t device = plan.device(part);
    if (device >= devices || used[device]) return false;
    used[device] = true;
    const PlannedPart planned = planned_part(model, number, plan, part);
    if (model.part(number, planned.output, planned.terms) == nullptr) return false;
  }
  return true;
}

}  // namespace xflow::parallel
