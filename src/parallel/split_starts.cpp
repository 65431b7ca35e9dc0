#include "src/parallel/split_starts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
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

// Makes copies of splits, and one of micro-batches, the last ones first, until the operator has these parts.
OperatorPlan made_possible(SplitModel& model, std::uint32_t op, OperatorPlan plan, std::uint32_t devices) {
  for (std::size_t k = plan.splits.size(); !is_possible(model, op, plan, devices); --k) {
    if (k == 0) return {plan.base, {}};
    if (plan.splits[k - 1].stride == 0) {
      plan.splits.erase(plan.splits.begin() + static_cast<std::ptrdiff_t>(k - 1));
      continue;
    }
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

// Whether the operator reads rows of a table of weights, which can be divided.
bool reads_table(const SplitModel& model, const SplitOperator& op) {
  const OperatorKind& kind = model.kind(op);
  return kind.reduction.blocks > 1 && kind.reduction_kind == partition::AxisKind::rows &&
         std::ranges::all_of(kind.reduction.follows, [&](const auto& own) { return model.values()[op.reads[own.first]].is_weight(); });
}

// The devices of a group, which would compute the same, divide the rows of the table.
void divide_table(SplitModel& model, std::uint32_t number, const GridPolicy& policy, std::uint32_t devices, OperatorPlan& plan) {
  OperatorPlan by_rows = plan;
  for (Split& split : by_rows.splits)
    if (split.target == SplitTarget::copies && split.stride < policy.tensor)
      split = {SplitTarget::reduction, 0, split.degree, split.stride};
  if (is_possible(model, number, by_rows, devices)) plan = std::move(by_rows);
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
    // A device cannot compute the same for each micro-batch, nor one term of a sum after the other.
    if (split.stride == 0 && own.target != SplitTarget::output) continue;
    plan.splits.push_back(own);
  }
  return made_possible(model, number, std::move(plan), devices);
}

// By operator: a range of them, in their order, has about the same seconds as any other.
std::vector<std::uint32_t> stages_of(SplitModel& model, std::uint32_t stages) {
  const auto operators = model.operators();
  std::vector<double> work(operators.size(), 0);
  for (std::uint32_t number = 0; number < operators.size(); ++number) {
    if (operators[number].outputs.empty()) continue;
    const PartWork* whole = model.part(number, model.values()[operators[number].outputs[0]].whole, std::nullopt);
    work[number] = whole->seconds[model.source_of(0)] + whole->backward[model.source_of(0)];
  }
  const double total = std::accumulate(work.begin(), work.end(), 0.0);
  std::vector<std::uint32_t> stage(operators.size(), 0);
  double before = 0;
  for (std::uint32_t number = 0; number < operators.size(); ++number) {
    const double middle = before + work[number] / 2;
    if (total > 0) stage[number] = std::min(stages - 1, static_cast<std::uint32_t>(middle / total * stages));
    before += work[number];
  }
  return stage;
}

SplitPlan grid_plan(SplitModel& model, std::uint32_t devices, const GridPolicy& policy) {
  SplitPlan plans(model.operators().size());
  const std::vector<std::uint32_t> stage = stages_of(model, policy.stages);
  const std::uint32_t group = policy.data * policy.tensor;
  for (std::uint32_t number = 0; number < plans.size(); ++number) {
    const SplitOperator& op = model.operators()[number];
    OperatorPlan& plan = plans[number];
    plan.base = stage[number] * group;
    if (op.outputs.empty()) continue;
    const std::uint32_t read = main_read(model, number);
    if (read != kNoOperator) {
      plan = following_plan(model, number, read, plans[model.values()[op.reads[read]].maker], devices);
      plan.base = stage[number] * group;
    } else {
      // The first operator of its kind: by samples, and copies in a group.
      if (policy.data > 1) plan.splits.push_back({SplitTarget::output, policy.axis, policy.data, policy.tensor});
      if (policy.tensor > 1) plan.splits.push_back({SplitTarget::copies, 0, policy.tensor, 1});
      if (policy.batches > 1) plan.splits.push_back({SplitTarget::output, policy.axis, policy.batches, 0});
      plan = made_possible(model, number, std::move(plan), devices);
    }
    if (policy.divides_tables && reads_table(model, op)) divide_table(model, number, policy, devices, plan);
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

namespace {

// The most micro-batches: one of the first operators has as many samples for each group.
std::uint32_t most_batches(const SplitModel& model, std::uint32_t data) {
  std::int64_t most = 1;
  for (std::uint32_t number = 0; number < model.operators().size(); ++number) {
    const SplitOperator& op = model.operators()[number];
    const auto& axes = model.kind(op).axes;
    if (op.outputs.empty() || axes.empty() || main_read(model, number) != kNoOperator) continue;
    most = std::max(most, axes[0].blocks / data);
  }
  constexpr std::int64_t kMost = 1024;
  return static_cast<std::uint32_t>(std::min(most, kMost));
}

}  // namespace

std::vector<NamedPolicy> pipeline_policies(const SplitModel& model, std::uint32_t devices) {
  std::vector<NamedPolicy> policies;
  constexpr std::size_t kMostParts = std::size_t{1} << 20U;  // of all plans
  std::size_t parts = 0;
  for (const std::uint32_t times : {1U, 2U, 4U}) {
    for (std::uint32_t stages = 2; stages <= devices; ++stages) {
      const std::uint32_t group = devices / stages;
      for (std::uint32_t tensor = 1; tensor <= group; ++tensor) {
        if (devices % stages != 0 || group % tensor != 0) continue;
        GridPolicy policy{group / tensor, tensor};
        policy.stages = stages;
        policy.batches = stages * times;
        const std::size_t own = std::size_t{policy.batches} * group * model.operators().size();
        if (policy.batches > most_batches(model, policy.data) || parts + own > kMostParts) continue;
        parts += own;
        std::string name = fmt::format("pipeline {}", stages);
        if (policy.data > 1) name += fmt::format(" x data {}", policy.data);
        if (policy.tensor > 1) name += fmt::format(" x tensor {}", policy.tensor);
        policies.push_back({fmt::format("{}, {} batches", name, policy.batches), policy});
      }
    }
  }
  return policies;
}

std::vector<NamedPlan> start_plans(SplitModel& model, std::uint32_t devices, StepKind kind) {
  std::vector<NamedPlan> plans;
  plans.push_back({"single", SplitPlan(model.operators().size())});
  if (devices == 1) return plans;
  const auto add = [&](std::string name, const GridPolicy& policy) {
    plans.push_back({std::move(name), grid_plan(model, devices, policy)});
  };
  for (const std::uint32_t axis : {0U, 1U}) {
    add(axis == 0 ? "data parallel" : "axis 1 parallel", {devices, 1, false, axis});
    for (std::uint32_t tensor = 2; tensor <= devices; ++tensor) {
      const std::uint32_t data = devices / tensor;
      if (devices % tensor != 0 || (axis == 1 && data == 1)) continue;
      add(fmt::format("{} {} x tensor {}", axis == 0 ? "data" : "axis 1 /", data, tensor), {data, tensor, false, axis});
    }
  }
  const bool has_tables = std::ranges::any_of(model.operators(), [&](const SplitOperator& op) { return reads_table(model, op); });
  for (std::uint32_t tensor = 2; has_tables && tensor <= devices; ++tensor) {
    if (devices % tensor != 0) continue;
    GridPolicy policy{devices / tensor, tensor};
    policy.divides_tables = true;
    add(fmt::format("data {} x tensor {}, vocabulary", policy.data, tensor), policy);
  }
  add("one weird trick", {devices, 1, true, 0});
  if (kind == StepKind::inference) return plans;
  for (const auto& [name, policy] : pipeline_policies(model, devices)) add(name, policy);
  return plans;
}

}  // namespace xflow::parallel
