#include "src/parallel/split_sweep.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace xflow::parallel {

std::vector<Split> split_targets(const SplitModel& model, std::uint32_t op) {
  const OperatorKind& kind = model.kind(model.operators()[op]);
  std::vector<Split> targets;
  for (std::uint32_t d = 0; d < kind.axes.size(); ++d)
    if (kind.axes[d].blocks > 1) targets.push_back({SplitTarget::output, d});
  if (kind.reduction.blocks > 1) targets.push_back({SplitTarget::reduction, 0});
  targets.push_back({SplitTarget::copies, 0});
  return targets;
}

std::vector<std::uint32_t> with_tied(const SplitModel& model, std::uint32_t op) {
  std::set<std::uint32_t> all = {op};
  for (const std::uint32_t read : model.operators()[op].reads)
    for (const std::uint32_t other : model.values()[read].tied)
      if (model.operators()[other].kind == model.operators()[op].kind) all.insert(other);
  return {all.begin(), all.end()};
}

std::vector<SweptSplit> swept_splits(const SplitModel& model, std::uint32_t devices, std::span<const double> seconds) {
  std::vector<std::uint32_t> first_of_kind(model.kinds(), kNoOperator);
  std::map<std::uint32_t, double> classes;  // by first operator
  for (std::uint32_t op = 0; op < model.operators().size(); ++op) {
    std::uint32_t& of_kind = first_of_kind[model.operators()[op].kind];
    of_kind = std::min(of_kind, op);
    const std::vector<std::uint32_t> tied = with_tied(model, op);
    classes[tied.size() > 1 ? tied[0] : of_kind] += seconds[op];
  }
  std::vector<std::pair<double, std::uint32_t>> order;
  order.reserve(classes.size());
  for (const auto& [op, time] : classes) order.emplace_back(-time, op);
  std::ranges::sort(order);
  std::vector<SweptSplit> result;
  for (const auto& [time, op] : order) {
    for (Split split : split_targets(model, op)) {
      if (split.target == SplitTarget::copies) continue;
      for (split.degree = devices; split.degree >= 2; --split.degree)
        if (devices % split.degree == 0) result.push_back({op, split});
    }
  }
  return result;
}

}  // namespace xflow::parallel
