#include "src/policy/go_plan_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace xflow::policy {
namespace {

float part_of(double value, double whole) { return whole > 0 ? static_cast<float>(value / whole) : 0; }

float squashed(double value, double unit) { return unit > 0 ? static_cast<float>(std::tanh(value / unit)) : 0; }

float log_of_ratio(double value, double unit) { return unit > 0 ? static_cast<float>(std::log1p(std::max(value, 0.0) / unit)) : 0; }

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

GoPlanView::GoPlanView(const GoGraph& graph) : graph_(graph), simulator_(graph.problem()) {}

parallel::OrderedStep GoPlanView::look(const parallel::OrderedPlan& plan) {
  plan_ = plan;
  const parallel::OrderedStep step = *simulator_.simulate(plan);
  step_ = step.seconds;
  find_roots();
  look_at_times();
  look_at_edges();
  look_at_loads();
  summarize();
  return step;
}

void GoPlanView::find_roots() {
  root_.resize(graph_.nodes());
  for (std::uint32_t node = graph_.nodes(); node-- > 0;) {
    const std::uint32_t choice = graph_.choice_of(node);
    const bool is_fused = choice != GoGraph::kNoChoice && plan_.fused[choice];
    root_[node] = is_fused ? root_[graph_.problem().fusions[choice].into] : node;
  }
}

void GoPlanView::look_at_times() {
  const std::uint32_t devices = graph_.devices();
  start_.assign(simulator_.starts().begin(), simulator_.starts().end());
  seconds_.assign(pair(graph_.nodes(), 0), 0);
  bytes_.assign(graph_.nodes(), 0);
  for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
    const parallel::WorkloadNode& own = graph_.problem().workload.nodes[node];
    const std::uint32_t root = root_[node];
    bytes_[root] += own.bytes;
    const double saved = root == node ? 0 : graph_.problem().fusions[graph_.choice_of(node)].saved;
    for (std::uint32_t device = 0; device < devices; ++device)
      seconds_[pair(root, device)] += static_cast<float>(own.seconds[device] - saved);
  }
  for (float& seconds : seconds_) seconds = std::max(seconds, 0.0F);
  end_.resize(graph_.nodes());
  for (std::uint32_t node = 0; node < graph_.nodes(); ++node) end_[node] = start_[node] + seconds_[pair(node, plan_.devices[node])];
}

void GoPlanView::look_at_edges() {
  const std::uint32_t devices = graph_.devices();
  operand_bytes_.assign(pair(graph_.nodes(), 0), 0);
  reader_bytes_.assign(pair(graph_.nodes(), 0), 0);
  arrival_.assign(pair(graph_.nodes(), 0), 0);
  needed_.assign(graph_.nodes(), kNever);
  received_.assign(graph_.nodes(), 0);
  last_source_.assign(graph_.nodes(), GoGraph::kNoChoice);
  for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
    const std::uint32_t root = root_[node];
    for (const GoEdge& edge : graph_.operands(node)) {
      const std::uint32_t source = root_[edge.node];
      if (source == root) continue;
      const std::uint32_t from = plan_.devices[source];
      operand_bytes_[pair(root, from)] += static_cast<float>(edge.bytes);
      reader_bytes_[pair(source, plan_.devices[root])] += static_cast<float>(edge.bytes);
      const double transfer = graph_.transfer_seconds(edge.bytes);
      if (from != plan_.devices[root]) received_[root] += transfer;
      for (std::uint32_t device = 0; device < devices; ++device) {
        double& arrival = arrival_[pair(root, device)];
        arrival = std::max(arrival, end_[source] + (device == from ? 0 : transfer));
      }
      needed_[source] = std::min(needed_[source], start_[root]);
      if (last_source_[root] == GoGraph::kNoChoice || end_[source] > end_[last_source_[root]]) last_source_[root] = source;
    }
  }
}

void GoPlanView::look_at_loads() {
  const std::uint32_t devices = graph_.devices();
  loads_.assign(simulator_.busy().begin(), simulator_.busy().end());
  resident_.assign(simulator_.resident().begin(), simulator_.resident().end());
  mean_load_ = std::accumulate(loads_.begin(), loads_.end(), 0.0) / devices;
  std::vector<std::uint32_t> critical;
  simulator_.find_critical_nodes(critical);
  is_critical_.assign(graph_.nodes(), false);
  critical_seconds_.assign(devices, 0);
  for (const std::uint32_t node : critical) {
    is_critical_[node] = true;
    critical_seconds_[plan_.devices[node]] += end_[node] - start_[node];
  }
  sum_critical_ = std::accumulate(critical_seconds_.begin(), critical_seconds_.end(), 0.0);
  constexpr std::uint32_t kNodesOfBucket = 4;
  constexpr std::uint32_t kMostBuckets = 4096;
  buckets_ = std::clamp(graph_.nodes() / (kNodesOfBucket * devices), 1U, kMostBuckets);
  busy_.assign(devices * (buckets_ + 1), 0);
  if (!(step_ > 0)) return;
  const double width = step_ / static_cast<double>(buckets_);
  for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
    if (is_fused(node)) continue;
    const std::size_t first = static_cast<std::size_t>(plan_.devices[node]) * (buckets_ + 1);
    auto bucket = std::min(buckets_ - 1, static_cast<std::size_t>(start_[node] / width));
    for (double begin = start_[node]; bucket < buckets_ && begin < end_[node]; ++bucket) {
      const double end = std::min(end_[node], width * static_cast<double>(bucket + 1));
      busy_[first + bucket + 1] += std::max(0.0, end - begin);
      begin = std::max(begin, end);
    }
  }
  for (std::uint32_t device = 0; device < devices; ++device) {
    const auto first = busy_.begin() + static_cast<std::ptrdiff_t>(device * (buckets_ + 1));
    std::partial_sum(first, first + static_cast<std::ptrdiff_t>(buckets_ + 1), first);
  }
}

double GoPlanView::busy_until(std::uint32_t device, double time) const {
  const double at = std::clamp(time / step_, 0.0, 1.0) * static_cast<double>(buckets_);
  const auto bucket = std::min(buckets_ - 1, static_cast<std::size_t>(at));
  const double* busy = &busy_[device * (buckets_ + 1) + bucket];
  return busy[0] + (at - static_cast<double>(bucket)) * (busy[1] - busy[0]);
}

void GoPlanView::summarize() {
  summary_ = Matrix(1, kNodeFeatures);
  std::vector<double> sums(kNodeFeatures, 0);
  std::vector<float> row(kNodeFeatures);
  for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
    describe_node(node, row);
    for (std::size_t k = 0; k < kNodeFeatures; ++k) sums[k] += row[k];
  }
  for (std::size_t k = 0; k < kNodeFeatures; ++k) summary_.values[k] = static_cast<float>(sums[k] / graph_.nodes());
}

void GoPlanView::describe_node(std::uint32_t node, std::span<float> row) const {
  std::ranges::copy(graph_.features().row(node), row.begin());
  const std::uint32_t root = root_[node];
  const std::uint32_t choice = graph_.choice_of(node);
  const double unit = graph_.mean_seconds();
  const double ready = arrival_[pair(root, plan_.devices[root])];
  const double slack = needed_[root] == kNever ? step_ - end_[root] : needed_[root] - end_[root];
  float fused_now = 0;
  if (choice != GoGraph::kNoChoice) fused_now = root == node ? -1.0F : 1.0F;
  const float own[kPlanFeatures] = {is_critical_[root] ? 1.0F : 0.0F,
                                    part_of(start_[root], step_),
                                    part_of(loads_[plan_.devices[root]], mean_load_) - 1,
                                    fused_now,
                                    log_of_ratio(start_[root] - ready, unit),
                                    log_of_ratio(received_[root], unit),
                                    squashed(plan_.priorities[root] - graph_.ranks()[root], 4 * kPriorityStep * unit),
                                    root == node ? 1.0F : 0.0F,
                                    log_of_ratio(slack, unit)};
  std::ranges::copy(own, row.begin() + GoGraph::kFeatures);
}

void GoPlanView::describe_device(std::uint32_t node, std::uint32_t device, std::span<float> row) const {
  double mean_seconds = 0;
  double operands = 0;
  double readers = 0;
  for (std::uint32_t other = 0; other < graph_.devices(); ++other) {
    mean_seconds += seconds_[pair(node, other)] / static_cast<double>(graph_.devices());
    operands += operand_bytes_[pair(node, other)];
    readers += reader_bytes_[pair(node, other)];
  }
  const bool is_there = plan_.devices[node] == device;
  const float seconds = seconds_[pair(node, device)];
  const double arrival = arrival_[pair(node, device)];
  const double window = std::max(2.0 * seconds, step_ / static_cast<double>(buckets_));
  double busy = step_ > 0 ? busy_until(device, arrival + window) - busy_until(device, arrival) : 0;
  // The node itself is not in its own way.
  if (is_there) busy -= std::clamp(arrival + window - start_[node], 0.0, static_cast<double>(seconds));
  const bool is_after_last = last_source_[node] != GoGraph::kNoChoice && plan_.devices[last_source_[node]] == device;
  const double unit = graph_.mean_seconds();
  const double held = resident_[device] + (is_there ? 0 : bytes_[node]);
  const float own[kDeviceFeatures] = {
      is_there ? 1.0F : 0.0F,
      part_of(operand_bytes_[pair(node, device)], operands),
      part_of(reader_bytes_[pair(node, device)], readers),
      mean_seconds > 0 && seconds > 0 ? static_cast<float>(std::log(seconds / mean_seconds)) : 0,
      part_of(loads_[device], mean_load_) - 1,
      std::min(2.0F, part_of(held, graph_.problem().cluster.devices[device].memory)),
      squashed(arrival - start_[node], 4 * unit),
      part_of(busy, window),
      is_after_last ? 1.0F : 0.0F,
      part_of(critical_seconds_[device], sum_critical_),
      is_there && is_critical_[node] ? 1.0F : 0.0F,
      is_after_last && is_critical_[node] ? 1.0F : 0.0F,
  };
  std::ranges::copy(own, row.begin());
}

GoSegment GoPlanView::segment(std::uint32_t number) const {
  GoSegment result;
  result.begin = number * kSegment;
  const std::uint32_t nodes = std::min(kSegment, graph_.nodes() - result.begin);
  result.nodes = Matrix(nodes, kNodeFeatures);
  result.devices = Matrix(static_cast<std::size_t>(nodes) * graph_.devices(), kDeviceFeatures);
  result.possible.resize(result.devices.rows);
  for (std::uint32_t k = 0; k < nodes; ++k) {
    const std::uint32_t node = result.begin + k;
    describe_node(node, result.nodes.row(k));
    const std::uint32_t root = root_[node];
    for (std::uint32_t device = 0; device < graph_.devices(); ++device) {
      const std::size_t row = pair(k, device);
      describe_device(root, device, result.devices.row(row));
      const bool fits = resident_[device] + bytes_[root] <= graph_.problem().cluster.devices[device].memory;
      result.possible[row] = plan_.devices[root] == device || (root == node && fits);
    }
  }
  return result;
}

}  // namespace xflow::policy
