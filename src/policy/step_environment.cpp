#include "src/policy/step_environment.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace xflow::policy {
namespace {

double bytes_of(const parallel::SplitValue& value) { return value.is_sized ? parallel::elements(value.whole) * value.element_bytes : 0; }

// The group that an operator was joined to; paths become short.
std::uint32_t root_of(std::vector<std::uint32_t>& root, std::uint32_t op) {
  while (root[op] != op) op = root[op] = root[root[op]];
  return op;
}

// Joins two groups, which keep the number of the smaller one.
void join(std::vector<std::uint32_t>& root, std::vector<double>& work, std::uint32_t a, std::uint32_t b) {
  const auto [kept, gone] = std::minmax(a, b);
  root[gone] = kept;
  work[kept] += work[gone];
}

// log(1 + value / mean): about the same for models of any size.
float beside_mean(double value, double mean) { return mean > 0 ? static_cast<float>(std::log1p(value / mean)) : 0; }

double mean_over(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

StepEnvironment::StepEnvironment(parallel::SplitModel& model, const parallel::DeviceCluster& cluster, parallel::StepKind kind,
                                 MeasureStep measure)
    : model_(model), cluster_(cluster), clock_(model, cluster, kind), measure_(std::move(measure)) {
  describe_operators(kind);
  group_operators();
  describe_groups();
  set_features();
}

void StepEnvironment::describe_operators(parallel::StepKind kind) {
  for (std::uint32_t op = 0; op < model_.operators().size(); ++op) {
    const parallel::SplitOperator& own = model_.operators()[op];
    std::vector<double> seconds(devices(), 0);
    const parallel::PartWork* work = own.outputs.empty() ? nullptr : model_.part(op, model_.values()[own.outputs[0]].whole, std::nullopt);
    for (std::uint32_t device = 0; device < devices() && work != nullptr; ++device) {
      const std::uint32_t source = model_.source_of(device);
      seconds[device] = work->seconds[source] + (kind == parallel::StepKind::training ? work->backward[source] : 0);
    }
    operator_seconds_.push_back(std::move(seconds));
  }
}

void StepEnvironment::group_operators() {
  const std::span<const parallel::SplitOperator> operators = model_.operators();
  const auto least = [](const std::vector<double>& seconds) { return *std::ranges::min_element(seconds); };
  std::vector<double> work(operators.size());
  std::ranges::transform(operator_seconds_, work.begin(), least);
  constexpr double kMostShare = 0.125;
  const double most = kMostShare * std::accumulate(work.begin(), work.end(), 0.0) / devices();
  std::vector<std::vector<std::uint32_t>> readers(operators.size());
  std::vector<std::set<std::uint32_t>> makers(operators.size());
  for (std::uint32_t op = 0; op < operators.size(); ++op) {
    for (const std::uint32_t read : operators[op].reads) {
      const std::uint32_t maker = model_.values()[read].maker;
      if (maker != parallel::kNoOperator && makers[op].insert(maker).second) readers[maker].push_back(op);
    }
  }
  std::vector<std::uint32_t> root(operators.size());
  std::iota(root.begin(), root.end(), 0U);
  for (std::uint32_t op = 0; op < operators.size(); ++op) {
    if (readers[op].size() != 1 || makers[readers[op][0]].size() != 1) continue;
    const std::uint32_t own = root_of(root, op);
    const std::uint32_t other = root_of(root, readers[op][0]);
    if (own != other && work[own] + work[other] <= most) join(root, work, own, other);
  }
  join_small_groups(root, work);
  std::vector<std::uint32_t> number(operators.size(), parallel::kNoOperator);
  for (std::uint32_t op = 0; op < operators.size(); ++op) {
    std::uint32_t& group = number[root_of(root, op)];
    if (group == parallel::kNoOperator) {
      group = groups();
      members_.emplace_back();
    }
    members_[group].push_back(op);
    group_of_.push_back(group);
  }
}

// The group with the least work joins the neighbour with which it has the least, until they are few.
void StepEnvironment::join_small_groups(std::vector<std::uint32_t>& root, std::vector<double>& work) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t op = 0; op < root.size(); ++op) {
    for (const std::uint32_t read : model_.operators()[op].reads) {
      if (const std::uint32_t maker = model_.values()[read].maker; maker != parallel::kNoOperator) edges.emplace_back(maker, op);
    }
  }
  const auto is_root = [&](std::uint32_t op) { return root[op] == op; };
  std::vector<std::uint32_t> all(root.size());
  std::iota(all.begin(), all.end(), 0U);
  auto count = std::ranges::count_if(all, is_root);
  while (count > kMostGroups) {
    // A round joins disjoint pairs with about the least work.
    std::vector<std::pair<double, std::pair<std::uint32_t, std::uint32_t>>> pairs;
    for (const auto& edge : edges) {
      const std::uint32_t a = root_of(root, edge.first);
      const std::uint32_t b = root_of(root, edge.second);
      if (a != b) pairs.push_back({work[a] + work[b], {std::min(a, b), std::max(a, b)}});
    }
    // Groups that exchange nothing join by their order.
    std::vector<std::uint32_t> roots;
    std::ranges::copy_if(all, std::back_inserter(roots), is_root);
    for (std::size_t k = 0; pairs.empty() && k + 1 < roots.size(); ++k)
      pairs.push_back({work[roots[k]] + work[roots[k + 1]], {roots[k], roots[k + 1]}});
    std::ranges::sort(pairs);
    std::vector<bool> is_joined(root.size(), false);
    for (const auto& pair : pairs) {
      const auto [a, b] = pair.second;
      if (count <= kMostGroups || pair.first > 2 * pairs[0].first) break;
      if (is_joined[a] || is_joined[b]) continue;
      is_joined[a] = is_joined[b] = true;
      join(root, work, a, b);
      --count;
    }
  }
}

void StepEnvironment::describe_groups() {
  seconds_.assign(groups(), std::vector<double>(devices(), 0));
  bytes_.assign(groups(), 0);
  sources_.resize(groups());
  readers_.resize(groups());
  for (std::uint32_t op = 0; op < group_of_.size(); ++op) {
    for (std::uint32_t device = 0; device < devices(); ++device) seconds_[group_of_[op]][device] += operator_seconds_[op][device];
  }
  for (std::uint32_t group = 0; group < groups(); ++group) {
    std::vector<std::uint32_t> values;  // that the group reads, each once
    for (const std::uint32_t op : members_[group]) {
      const auto& reads = model_.operators()[op].reads;
      values.insert(values.end(), reads.begin(), reads.end());
    }
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    std::map<std::uint32_t, double> from;
    for (const std::uint32_t number : values) {
      const parallel::SplitValue& value = model_.values()[number];
      if (value.is_constant) bytes_[group] += bytes_of(value);
      if (value.maker != parallel::kNoOperator && group_of_[value.maker] != group) from[group_of_[value.maker]] += bytes_of(value);
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
  for (const std::vector<std::uint32_t>& members : members_) {
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
  parallel::SplitPlan plan(group_of_.size());
  for (std::size_t op = 0; op < plan.size(); ++op) plan[op].base = places[group_of_[op]];
  return plan;
}

GroupPlaces StepEnvironment::places(const parallel::SplitPlan& plan) const {
  GroupPlaces places;
  for (const std::vector<std::uint32_t>& members : members_) places.push_back(plan[members[0]].base);
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
