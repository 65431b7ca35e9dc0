// The star bound, in a file of its own: it alone uses Boost.Graph.
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/parallel/load_bounds.h"

namespace xflow::parallel {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Capacity = std::int64_t;
struct FlowEdge {
  Capacity capacity = 0;
  Capacity residual = 0;
  Traits::edge_descriptor reverse;
};
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, FlowEdge>;

// Groups on the source's side of a cut are on one accelerator. A group there costs its compute, an edge to
// the sink. A tensor costs its transfer if its groups are on different sides: its two vertices pass on what
// comes from any of its groups to all of them, and no more than the transfer. Capacities are rounded down,
// so a cut is never above the true one.
class Network {
 public:
  explicit Network(const PlacementProblem& problem)
      : graph_(problem.groups.size() + 2 * problem.tensors.size() + 1), sink_(boost::num_vertices(graph_) - 1) {
    double all = 0;
    for (const PlacementGroup& group : problem.groups) all += group.on_accelerator ? group.accelerator_time : 0;
    for (const GroupTensor& tensor : problem.tensors) all += tensor.cost;
    unit_ = all > 0 ? all / kMostCapacity : 1;
    const auto capacity = [&](double time) { return static_cast<Capacity>(std::floor(time / unit_)); };
    for (std::size_t k = 0; k < problem.groups.size(); ++k) {
      const PlacementGroup& group = problem.groups[k];
      connect(k, sink_, group.on_accelerator ? capacity(group.accelerator_time) : kUncut);
    }
    for (std::size_t k = 0; k < problem.tensors.size(); ++k) {
      const std::size_t in = problem.groups.size() + 2 * k;
      connect(in, in + 1, capacity(problem.tensors[k].cost));
      for (const std::uint32_t group : problem.tensors[k].groups) {
        connect(group, in, kUncut);
        connect(in + 1, group, kUncut);
      }
    }
  }

  std::size_t vertices() const { return boost::num_vertices(graph_); }

  double smallest_cut(std::size_t group) {
    const Capacity flow = boost::push_relabel_max_flow(graph_, group, sink_,
                                                       boost::capacity_map(boost::get(&FlowEdge::capacity, graph_))
                                                           .residual_capacity_map(boost::get(&FlowEdge::residual, graph_))
                                                           .reverse_edge_map(boost::get(&FlowEdge::reverse, graph_)));
    return flow >= kUncut ? kInfinity : static_cast<double>(flow) * unit_;
  }

 private:
  static constexpr double kMostCapacity = 0x1p50;
  static constexpr Capacity kUncut = Capacity{1} << 51U;

  void connect(std::size_t from, std::size_t to, Capacity capacity) {
    const auto edge = boost::add_edge(from, to, graph_).first;
    const auto reverse = boost::add_edge(to, from, graph_).first;
    graph_[edge] = {capacity, 0, reverse};
    graph_[reverse] = {0, 0, edge};
  }

  FlowGraph graph_;
  std::size_t sink_;
  double unit_ = 1;
};

// The smallest T for which the CPUs can hold in T all groups whose star exceeds T.
double smallest_time(const PlacementProblem& problem, std::span<const double> star) {
  std::vector<std::uint32_t> order(problem.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return star[a] > star[b]; });
  // With the groups before k on CPUs, T is at least the star of k and their work.
  double best = kInfinity;
  double work = 0;
  double largest = 0;
  for (std::size_t k = 0; k <= order.size(); ++k) {
    const double next = k < order.size() ? star[order[k]] : 0;
    const double on_cpus = k == 0 ? 0 : problem.cpus == 0 ? kInfinity : std::max(work / problem.cpus, largest);
    best = std::min(best, std::max(next, on_cpus));
    if (k == order.size()) break;
    work += problem.groups[order[k]].cpu_time;
    largest = std::max(largest, problem.groups[order[k]].cpu_time);
  }
  return best;
}

}  // namespace

std::vector<double> stars(const PlacementProblem& problem, std::span<const std::uint32_t> groups, SearchBudget& budget) {
  Network network(problem);
  std::vector<double> result;
  for (const std::uint32_t group : groups) {
    if (!problem.groups[group].on_accelerator) {
      result.push_back(kInfinity);
    } else if (budget.spend(network.vertices())) {
      result.push_back(network.smallest_cut(group));
    } else {
      result.push_back(problem.groups[group].accelerator_time);
    }
  }
  return result;
}

double star_bound(const PlacementProblem& problem, double lower, SearchBudget& budget) {
  // The group alone is a cut: its star is at most its compute and all its tensors.
  std::vector<double> star;
  std::vector<std::uint32_t> large;
  for (std::uint32_t group = 0; group < problem.size(); ++group) {
    const PlacementGroup& g = problem.groups[group];
    star.push_back(g.on_accelerator ? g.accelerator_time : kInfinity);
    double most = g.accelerator_time;
    for (const std::uint32_t tensor : problem.tensors_of[group]) most += problem.tensors[tensor].cost;
    if (g.on_accelerator && most > lower) large.push_back(group);
  }
  const std::vector<double> cuts = stars(problem, large, budget);
  for (std::size_t k = 0; k < large.size(); ++k) star[large[k]] = std::max(star[large[k]], cuts[k]);
  return std::max(lower, smallest_time(problem, star) * (1 - 1e-12));
}

}  // namespace xflow::parallel
