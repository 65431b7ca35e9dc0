#include "src/policy/step_environment.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace xflow::policy {
namespace {

double bytes_of(const parallel::SplitValue& value) { return value.is_sized ? parallel::elements(value.whole) * value.element_bytes : 0; }

// log(1 + value / mean): about the same for models of any size.
float beside_mean(double value, double mean) { return mean > 0 ? static_cast<float>(std::log1p(value / mean)) : 0; }

double mean_over(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

StepEnvironment::StepEnvironment(parallel::SplitModel& model, const parallel::DeviceCluster& cluster, parallel::StepKind kind,
                                 MeasureStep measure)
    : model_(model),
      cluster_(cluster),
      clock_(model, cluster, kind),
      measure_(std::move(measure)),
      operator_seconds_(parallel::whole_seconds(model, cluster.size(), kind)),
      groups_(parallel::operator_groups(model, operator_seconds_)) {
  describe_groups();
  set_features();
}

void StepEnvironment::describe_groups() {
  seconds_.assign(groups(), std::vector<double>(devices(), 0));
  bytes_.assign(groups(), 0);
  sources_.resize(groups());
  readers_.resize(groups());
  for (std::uint32_t op = 0; op < groups_.of.size(); ++op) {
    for (std::uint32_t device = 0; device < devices(); ++device) seconds_[groups_.of[op]][device] += operator_seconds_[op][device];
  }
  for (std::uint32_t group = 0; group < groups(); ++group) {
    std::vector<std::uint32_t> values;  // that the group reads, each once
    for (const std::uint32_t op : groups_.members[group]) {
      const auto& reads = model_.operators()[op].reads;
      values.insert(values.end(), reads.begin(), reads.end());
    }
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    std::map<std::uint32_t, double> from;
    for (const std::uint32_t number : values) {
      const parallel::SplitValue& value = model_.values()[number];
      if (value.is_constant) bytes_[group] += bytes_of(value);
      if (value.maker != parallel::kNoOperator && groups_.of[value.maker] != group) from[groups_.of[value.maker]] += bytes_of(value);
    }
    for (const auto& [source, bytes] : from) {
      sources_[group].push_back({source, bytes});
      readers_[source].push_back({group, bytes});
    }
  }
}

void StepEnvironment::set_features() {
  std::vector<double> work;
  std::vector<double> in(groups(), 0);
  std::vector<double> out(groups(), 0);
  for (std::uint32_t group = 0; group < groups(); ++group) {
    work.push_back(*std::ranges::min_element(seconds_[group]));
    for (const GroupEdge& edge : sources_[group]) in[group] += edge.bytes;
    for (const GroupEdge& edge : readers_[group]) out[group] += edge.bytes;
  }
  // Groups may read each other; the longest path counts edges to later groups alone.
  std::vector<double> before(groups(), 0);
  std::vector<double> after(groups(), 0);
  double longest = 0;
  for (std::uint32_t group = 0; group < groups(); ++group) {
    for (const GroupEdge& edge : sources_[group])
      if (edge.group < group) before[group] = std::max(before[group], before[edge.group] + work[edge.group]);
  }
  for (std::uint32_t group = groups(); group-- > 0;) {
    for (const GroupEdge& edge : readers_[group])
      if (edge.group > group) after[group] = std::max(after[group], after[edge.group] + work[edge.group]);
    longest = std::max(longest, before[group] + work[group] + after[group]);
  }
  // Types by their work.
  std::map<std::string, double> of_type;
  std::vector<std::string> main_type;
  for (const std::vector<std::uint32_t>& members : groups_.members) {
    const auto work_of = [&](std::uint32_t op) { return *std::ranges::min_element(operator_seconds_[op]); };
    for (const std::uint32_t op : members) of_type[model_.operators()[op].type] += work_of(op);
    main_type.push_back(model_.operators()[*std::ranges::max_element(members, {}, work_of)].type);
  }
  std::vector<std::string> types;
  types.reserve(of_type.size());
  for (const auto& entry : of_type) types.push_back(entry.first);
  std::ranges::stable_sort(types, [&](const std::string& a, const std::string& b) { return of_type[a] > of_type[b]; });
  types.resize(std::min(types.size(), kMostTypes));
  features_ = Matrix(groups(), kGroupFeatures);
  for (std::uint32_t group = 0; group < groups(); ++group) {
    const std::span<float> row = features_.row(group);
    std::size_t column = 0;
    row[column++] = beside_mean(work[group], mean_over(work));
    row[column++] = beside_mean(bytes_[group], mean_over(bytes_));
    row[column++] = beside_mean(in[group], mean_over(in));
    row[column++] = beside_mean(out[group], mean_over(out));
    row[column++] = static_cast<float>(group) / static_cast<float>(groups());
    row[column++] = longest > 0 ? static_cast<float>(before[group] / longest) : 0;
    row[column++] = longest > 0 ? static_cast<float>(after[group] / longest) : 0;
    row[column++] = static_cast<float>(std::log1p(sources_[group].size()));
    row[column++] = static_cast<float>(std::log1p(readers_[group].size()));
    const auto type = static_cast<std::size_t>(std::ranges::find(types, main_type[group]) - types.begin());
    if (type < types.size()) row[column + type] = 1;
  }
}

parallel::SplitPlan StepEnvironment::plan(std::span<const std::uint32_t> places) const {
  parallel::SplitPlan plan(groups_.of.size());
  for (std::size_t op = 0; op < plan.size(); ++op) plan[op].base = places[groups_.of[op]];
  return plan;
}

GroupPlaces StepEnvironment::places(const parallel::SplitPlan& plan) const {
  GroupPlaces places;
  for (const std::vector<std::uint32_t>& members : groups_.members) places.push_back(plan[members[0]].base);
  return places;
}

std::optional<parallel::PlanCost> StepEnvironment::simulate(std::span<const std::uint32_t> places, const parallel::PlanCost& limit) {
  return clock_.cost(plan(places), limit);
}

Result<parallel::PlanCost> StepEnvironment::cost_of(const parallel::SplitPlan& plan) {
  parallel::PlanCost cost = *clock_.cost(plan);
  if (measure_ && cost.missing == 0) {
    XFLOW_TRY(cost.step, measure_(plan));
  }
  return cost;
}

Result<parallel::PlanCost> StepEnvironment::cost(std::span<const std::uint32_t> places) {
  parallel::PlanCost cost = *simulate(places);
  if (!measure_ || cost.missing > 0) return cost;
  GroupPlaces key(places.begin(), places.end());
  auto known = measured_.find(key);
  if (known == measured_.end()) {
    XFLOW_TRY(const double step, measure_(plan(places)));
    known = measured_.emplace(std::move(key), step).first;
  }
  cost.step = known->second;
  return cost;
}

}  // namespace xflow::policy
