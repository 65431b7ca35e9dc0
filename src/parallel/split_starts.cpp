#include "src/parallel/split_starts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/ops/op.h"

namespace xflow::parallel {
namespace {

// The target whose parts read parts of this dimension of an operand.
std::optional<Split> follower(const OperatorKind& kind, std::uint32_t read, std::uint32_t dimension) {
  const std::pair wanted(read, dimension);
  for (std::uint32_t d = 0; d < kind.axes.size(); ++d)
    if (kind.axes[d].blocks > 1 && std::ranges::find(kind.axes[d].follows, wanted) != kind.axes[d].follows.end())
      return Split{SplitTarget::output, d};
  if (kind.reduction.blocks > 1 && std::ranges::find(kind.reduction.follows, wanted) != kind.reduction.follows.end())
    return Split{SplitTarget::reduction, 0};
  return std::nullopt;
}

// Makes copies of splits, the last ones first, until the operator has these parts.
OperatorPlan made_possible(SplitModel& model, std::uint32_t op, OperatorPlan plan, std::uint32_t devices) {
  for (std::size_t k = plan.splits.size(); !is_possible(model, op, plan, devices); --k) {
    if (k == 0) return {plan.base, {}};
    plan.splits[k - 1].target = SplitTarget::copies;
    plan.splits[k - 1].dimension = 0;
  }
  return plan;
}

// The dimension of the result that follows weights, and no operand that an operator makes; kNoOperator if
// there is none.
std::uint32_t parameter_axis(const SplitModel& model, const SplitOperator& op) {
  const OperatorKind& kind = model.kind(op);
  for (std::uint32_t d = static_cast<std::uint32_t>(kind.axes.size()); d-- > 0;) {
    const auto& follows = kind.axes[d].follows;
    if (kind.axes[d].blocks < 2 || follows.empty()) continue;
    const auto is_weight = [&](const auto& own) { return model.values()[op.reads[own.first]].is_constant; };
    if (std::ranges::all_of(follows, is_weight)) return d;
  }
  return kNoOperator;
}

}  // namespace

std::uint32_t main_read(const SplitModel& model, std::uint32_t number) {
  const SplitOperator& op = model.operators()[number];
  std::uint32_t best = kNoOperator;
  double most = -1;
  for (std::uint32_t k = 0; k < op.reads.size(); ++k) {
    const SplitValue& value = model.values()[op.reads[k]];
    if (value.maker == kNoOperator || elements(value.whole) <= most) continue;
    most = elements(value.whole);
    best = k;
  }
  return best;
}

OperatorPlan following_plan(SplitModel& model, std::uint32_t number, std::uint32_t read, const OperatorPlan& maker, std::uint32_t devices) {
  const SplitOperator& op = model.operators()[number];
  // The splits of the first result of the maker are those of this value where it has the same dimensions.
  const SplitValue& value = model.values()[op.reads[read]];
  const SplitValue& result = model.values()[model.operators()[value.maker].outputs[0]];
  OperatorPlan plan{maker.base, {}};
  for (const Split& split : maker.splits) {
    Split own{SplitTarget::copies, 0, split.degree, split.stride};
    if (split.target == SplitTarget::output && value.whole.size() == result.whole.size()) {
      if (const auto found = follower(model.kind(op), read, split.dimension)) {
        own.target = found->target;
        own.dimension = found->dimension;
      }
    }
    plan.splits.push_back(own);
  }
  return made_possible(model, number, std::move(plan), devices);
}

SplitPlan grid_plan(SplitModel& model, std::uint32_t devices, const GridPolicy& policy) {
  SplitPlan plans(model.operators().size());
  for (std::uint32_t number = 0; number < plans.size(); ++number) {
    const SplitOperator& op = model.operators()[number];
    if (op.outputs.empty()) continue;
    OperatorPlan& plan = plans[number];
    const std::uint32_t read = main_read(model, number);
    if (read != kNoOperator) {
      plan = following_plan(model, number, read, plans[model.values()[op.reads[read]].maker], devices);
    } else {
      // The first operator of its kind: by samples, and copies in a group.
      if (policy.data > 1) plan.splits.push_back({SplitTarget::output, 0, policy.data, policy.tensor});
      if (policy.tensor > 1) plan.splits.push_back({SplitTarget::copies, 0, policy.tensor, 1});
      plan = made_possible(model, number, std::move(plan), devices);
    }
    if (!op.is_product) continue;
    const std::uint32_t axis = parameter_axis(model, op);
    if (axis == kNoOperator) continue;
    OperatorPlan by_weights = plan;
    for (Split& split : by_weights.splits) {
      if (split.target == SplitTarget::copies && split.stride < policy.tensor)
        split = {SplitTarget::output, axis, split.degree, split.stride};
    }
    if (policy.products_by_parameters && op.type != "Conv") by_weights = {0, {{SplitTarget::output, axis, devices, 1}}};
    if (is_possible(model, number, by_weights, devices)) plan = std::move(by_weights);
  }
  return plans;
}

std::vector<NamedPlan> start_plans(SplitModel& model, std::uint32_t devices) {
  std::vector<NamedPlan> plans;
  plans.push_back({"single", SplitPlan(model.operators().size())});
  if (devices == 1) return plans;
  plans.push_back({"data parallel", grid_plan(model, devices, {devices, 1, false})});
  for (std::uint32_t tensor = 2; tensor <= devices; ++tensor) {
    if (devices % tensor != 0) continue;
    plans.push_back(
        {fmt::format("data {} x tensor {}", devices / tensor, tensor), grid_plan(model, devices, {devices / tensor, tensor, false})});
  }
  plans.push_back({"one weird trick", grid_plan(model, devices, {devices, 1, true})});
  return plans;
}

}  // namespace xflow::parallel
