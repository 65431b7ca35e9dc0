#include "src/policy/step_visits.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace xflow::policy {
namespace {

float within_one(double x) { return static_cast<float>(std::clamp(x, -1.0, 1.0)); }
float beside(double x, double mean) { return static_cast<float>(mean > 0 ? std::log1p(x / mean) : 0); }

double average(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

// A row for each group: equal shares of its neighbours.
Matrix shares_of(std::uint32_t groups, const auto& neighbours_of) {
  Matrix result(groups, groups);
  for (std::uint32_t group = 0; group < groups; ++group) {
    const std::span<const GroupEdge> neighbours = neighbours_of(group);
    for (const GroupEdge& edge : neighbours) result.at(group, edge.group) = 1 / static_cast<float>(neighbours.size());
  }
  return result;
}

}  // namespace

StepVisits::StepVisits(PlacedSteps& steps) : steps_(steps), order_(steps.groups()) {
  std::iota(order_.begin(), order_.end(), 0U);
  describe();
  GroupPlaces one(groups(), 0);
  GroupPlaces ranges;
  double all = 0;
  double before = 0;
  for (const std::uint32_t group : order_) all += steps_.seconds(group, 0);
  for (const std::uint32_t group : order_) {
    const double share = all > 0 ? before / all : 0;
    ranges.push_back(std::min(device_count() - 1, static_cast<std::uint32_t>(share * device_count())));
    before += steps_.seconds(group, 0);
  }
  reset(steps_.step(ranges) < steps_.step(one) ? std::move(ranges) : std::move(one));
}

void StepVisits::describe() {
  const std::uint32_t count = groups();
  parents_ = shares_of(count, [&](std::uint32_t group) { return steps_.sources(group); });
  children_ = shares_of(count, [&](std::uint32_t group) { return steps_.readers(group); });
  const parallel::LinkRates& link = steps_.cluster().inside;
  std::vector<double> times(count), slowest(count), bytes(count), sent(count), received(count), before(count), after(count);
  double memory = steps_.cluster().devices[0].memory;
  for (const parallel::ClusterDevice& device : steps_.cluster().devices) memory = std::min(memory, device.memory);
  for (std::uint32_t group = 0; group < count; ++group) {
    times[group] = slowest[group] = steps_.seconds(group, 0);
    for (std::uint32_t device = 1; device < device_count(); ++device) {
      times[group] = std::min(times[group], steps_.seconds(group, device));
      slowest[group] = std::max(slowest[group], steps_.seconds(group, device));
    }
    bytes[group] = steps_.bytes(group);
    for (const GroupEdge& edge : steps_.readers(group)) sent[group] += link.seconds(edge.bytes);
    for (const GroupEdge& edge : steps_.sources(group)) received[group] += link.seconds(edge.bytes);
  }
  // Groups may read each other; paths go to later groups alone.
  double path = 0;
  for (std::uint32_t group = 0; group < count; ++group) {
    for (const GroupEdge& edge : steps_.sources(group))
      if (edge.group < group) before[group] = std::max(before[group], before[edge.group]);
    before[group] += times[group];
    path = std::max(path, before[group]);
  }
  for (std::uint32_t group = count; group-- > 0;) {
    for (const GroupEdge& edge : steps_.readers(group))
      if (edge.group > group) after[group] = std::max(after[group], after[edge.group]);
    after[group] += times[group];
  }
  mean_time_ = average(times);
  group_features_ = Matrix(count, kGroupFeatures);
  for (std::uint32_t group = 0; group < count; ++group) {
    const std::span<float> row = group_features_.row(group);
    row[0] = beside(times[group], mean_time_);
    row[1] = beside(slowest[group], mean_time_);
    row[2] = beside(bytes[group], average(bytes));
    row[3] = beside(sent[group], mean_time_);
    row[4] = beside(received[group], mean_time_);
    row[5] = static_cast<float>(path > 0 ? before[group] / path : 0);
    row[6] = static_cast<float>(path > 0 ? after[group] / path : 0);
    row[7] = static_cast<float>(std::log1p(steps_.sources(group).size()));
    row[8] = static_cast<float>(std::log1p(steps_.readers(group).size()));
    row[9] = memory > 0 ? within_one(bytes[group] / memory) : 0;
    row[10] = 1;
  }
}

double StepVisits::norm_of_loads() const {
  constexpr double kLoadNorm = 16;
  const double most = *std::ranges::max_element(loads_);
  if (!(most > 0)) return 0;
  double sum = 0;
  for (const double load : loads_) sum += std::pow(std::max(0.0, load) / most, kLoadNorm);
  return most * std::pow(sum, 1 / kLoadNorm);
}

void StepVisits::reset(parallel::GroupDevices devices) {
  places_ = std::move(devices);
  loads_.assign(device_count(), 0);
  resident_.assign(device_count(), 0);
  for (std::uint32_t group = 0; group < groups(); ++group) {
    loads_[places_[group]] += steps_.seconds(group, places_[group]);
    resident_[places_[group]] += steps_.bytes(group);
  }
  cost_ = steps_.step(places_);
  steps_.keep();
  potential_ = potential_of(cost_.step);
}

void StepVisits::assign(std::uint32_t group, std::uint32_t device) {
  const std::uint32_t before = places_[group];
  loads_[before] -= steps_.seconds(group, before);
  loads_[device] += steps_.seconds(group, device);
  resident_[before] -= steps_.bytes(group);
  resident_[device] += steps_.bytes(group);
  places_[group] = device;
}

void StepVisits::move(std::uint32_t group, std::uint32_t device) {
  if (device == places_[group]) return;
  assign(group, device);
  cost_ = steps_.step(places_);
  steps_.keep();
  potential_ = potential_of(cost_.step);
}

StepVisits::Choices StepVisits::choices(std::uint32_t group, double progress) {
  constexpr double kNear = 100;  // factor for changes of about a hundredth
  constexpr double kFar = 10;
  Choices result = neighbours_on_devices(*this, group);
  const std::uint32_t current = places_[group];
  const double most = std::max(*std::ranges::max_element(loads_), 1e-300);
  std::vector<std::uint32_t> members(device_count());
  for (const std::uint32_t device : places_) ++members[device];
  double fastest = steps_.seconds(group, 0);
  for (std::uint32_t device = 1; device < device_count(); ++device) fastest = std::min(fastest, steps_.seconds(group, device));
  for (std::uint32_t device = 0; device < device_count(); ++device) {
    const bool stays = device == current;
    const double load = loads_[device];
    const double memory = steps_.cluster().devices[device].memory;
    result.possible[device] = stays || resident_[device] + steps_.bytes(group) <= memory;
    double change = 0;
    double potential_change = 0;
    const bool is_tried = !stays && result.possible[device];
    if (is_tried) {
      assign(group, device);
      const double after = steps_.step(places_).step;
      if (cost_.step > 0) change = after / cost_.step - 1;
      if (potential_ > 0) potential_change = potential_of(after) / potential_ - 1;
    }
    const std::span<float> row = result.features.row(device);
    row[0] = stays ? 1 : 0;
    row[1] = within_one(kFar * change);
    row[2] = static_cast<float>(std::tanh(kNear * change));
    row[3] = within_one(kFar * potential_change);
    row[4] = static_cast<float>(std::tanh(kNear * potential_change));
    row[5] = within_one(load / most);
    row[6] = within_one(loads_[device] / most);
    row[7] = within_one(loads_[current] / most);
    row[8] = within_one((loads_[device] - load) / std::max(mean_time_, 1e-300) / kFar);
    row[9] = memory > 0 ? within_one(resident_[device] / memory) : 0;
    row[10] = fastest > 0 ? within_one((steps_.seconds(group, device) / fastest - 1) / kFar) : 0;
    row[11] = static_cast<float>(progress);
    row[12] = static_cast<float>(members[device]) / static_cast<float>(groups());
    if (is_tried) assign(group, current);
  }
  return result;
}

}  // namespace xflow::policy
