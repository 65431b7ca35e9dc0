#include "src/parallel/operator_groups.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace xflow::parallel {
namespace {

class Grouping {
 public:
  Grouping(const SplitModel& model, std::span<const std::vector<double>> seconds) : model_(model), root_(seconds.size()) {
    std::iota(root_.begin(), root_.end(), 0U);
    for (const std::vector<double>& own : seconds) work_.push_back(*std::ranges::min_element(own));
    const std::size_t devices = seconds.empty() ? 1 : seconds[0].size();
    constexpr double kMostShare = 0.125;
    most_ = kMostShare * std::accumulate(work_.begin(), work_.end(), 0.0) / static_cast<double>(devices);
  }

  OperatorGroups group() {
    join_chains();
    join_small_groups();
    OperatorGroups groups;
    std::vector<std::uint32_t> number(root_.size(), kNoOperator);
    for (std::uint32_t op = 0; op < root_.size(); ++op) {
      std::uint32_t& group = number[root_of(op)];
      if (group == kNoOperator) {
        group = static_cast<std::uint32_t>(groups.members.size());
        groups.members.emplace_back();
      }
      groups.members[group].push_back(op);
      groups.of.push_back(group);
    }
    return groups;
  }

 private:
  // The group that an operator was joined to; paths become short.
  std::uint32_t root_of(std::uint32_t op) {
    while (root_[op] != op) op = root_[op] = root_[root_[op]];
    return op;
  }
  // Joins two groups, which keep the number of the smaller one.
  void join(std::uint32_t a, std::uint32_t b) {
    const auto [kept, gone] = std::minmax(a, b);
    root_[gone] = kept;
    work_[kept] += work_[gone];
  }

  void join_chains() {
    const std::span<const SplitOperator> operators = model_.operators();
    std::vector<std::vector<std::uint32_t>> readers(operators.size());
    std::vector<std::set<std::uint32_t>> makers(operators.size());
    for (std::uint32_t op = 0; op < operators.size(); ++op) {
      for (const std::uint32_t read : operators[op].reads) {
        const std::uint32_t maker = model_.values()[read].maker;
        if (maker != kNoOperator && makers[op].insert(maker).second) readers[maker].push_back(op);
      }
    }
    for (std::uint32_t op = 0; op < operators.size(); ++op) {
      if (readers[op].size() != 1 || makers[readers[op][0]].size() != 1) continue;
      const std::uint32_t own = root_of(op);
      const std::uint32_t other = root_of(readers[op][0]);
      if (own != other && work_[own] + work_[other] <= most_) join(own, other);
    }
  }

  // The group with the least work joins the neighbour with which it has the least, until they are few.
  void join_small_groups() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t op = 0; op < root_.size(); ++op) {
      for (const std::uint32_t read : model_.operators()[op].reads) {
        if (const std::uint32_t maker = model_.values()[read].maker; maker != kNoOperator) edges.emplace_back(maker, op);
      }
    }
    const auto is_root = [&](std::uint32_t op) { return root_[op] == op; };
    std::vector<std::uint32_t> all(root_.size());
    std::iota(all.begin(), all.end(), 0U);
    auto count = std::ranges::count_if(all, is_root);
    while (count > kMostOperatorGroups) {
      // A round joins disjoint pairs with about the least work.
      std::vector<std::pair<double, std::pair<std::uint32_t, std::uint32_t>>> pairs;
      for (const auto& edge : edges) {
        const std::uint32_t a = root_of(edge.first);
        const std::uint32_t b = root_of(edge.second);
        if (a != b) pairs.push_back({work_[a] + work_[b], {std::min(a, b), std::max(a, b)}});
      }
      // Groups that exchange nothing join by their order.
      std::vector<std::uint32_t> roots;
      std::ranges::copy_if(all, std::back_inserter(roots), is_root);
      for (std::size_t k = 0; pairs.empty() && k + 1 < roots.size(); ++k)
        pairs.push_back({work_[roots[k]] + work_[roots[k + 1]], {roots[k], roots[k + 1]}});
      std::ranges::sort(pairs);
      std::vector<bool> is_joined(root_.size(), false);
      for (const auto& pair : pairs) {
        const auto [a, b] = pair.second;
        if (count <= kMostOperatorGroups || pair.first > 2 * pairs[0].first) break;
        if (is_joined[a] || is_joined[b]) continue;
        is_joined[a] = is_joined[b] = true;
        join(a, b);
        --count;
      }
    }
  }

  const SplitModel& model_;
  std::vector<std::uint32_t> root_;
  std::vector<double> work_;  // seconds on the fastest device, by root
  double most_ = 0;           // of a chain
};

}  // namespace

std::vector<std::vector<double>> whole_seconds(SplitModel& model, std::uint32_t devices, StepKind kind) {
  std::vector<std::vector<double>> result;
  result.reserve(model.operators().size());
  for (std::uint32_t op = 0; op < model.operators().size(); ++op) {
    const SplitOperator& own = model.operators()[op];
    std::vector<double> seconds(devices, 0);
    const PartWork* work = own.outputs.empty() ? nullptr : model.part(op, model.values()[own.outputs[0]].whole, std::nullopt);
    for (std::uint32_t device = 0; device < devices && work != nullptr; ++device) {
      const std::uint32_t source = model.source_of(device);
      seconds[device] = work->seconds[source] + (kind == StepKind::training ? work->backward[source] : 0);
    }
    result.push_back(std::move(seconds));
  }
  return result;
}

std::vector<double> least_seconds(const std::vector<std::vector<double>>& seconds) {
  std::vector<double> result;
  result.reserve(seconds.size());
  for (const std::vector<double>& of_devices : seconds) result.push_back(*std::ranges::min_element(of_devices));
  return result;
}

OperatorGroups operator_groups(const SplitModel& model, std::span<const std::vector<double>> seconds) {
  return Grouping(model, seconds).group();
}

std::vector<std::vector<std::uint32_t>> neighbours_of(const SplitModel& model, const OperatorGroups& groups) {
  std::vector<std::set<std::uint32_t>> neighbours(groups.members.size());
  for (std::uint32_t op = 0; op < groups.of.size(); ++op) {
    for (const std::uint32_t read : model.operators()[op].reads) {
      const std::uint32_t maker = model.values()[read].maker;
      if (maker == kNoOperator || groups.of[maker] == groups.of[op]) continue;
      neighbours[groups.of[op]].insert(groups.of[maker]);
      neighbours[groups.of[maker]].insert(groups.of[op]);
    }
  }
  std::vector<std::vector<std::uint32_t>> result;
  result.reserve(neighbours.size());
  for (const auto& own : neighbours) result.emplace_back(own.begin(), own.end());
  return result;
}

}  // namespace xflow::parallel
