#include "src/parallel/ordering.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace xflow::parallel {

Adjacency::Adjacency(std::uint32_t vertices, std::span<const PlacementEdge> edges, bool reversed) {
  std::vector<PlacementEdge> sorted(edges.begin(), edges.end());
  if (reversed) {
    for (PlacementEdge& edge : sorted) std::swap(edge.from, edge.to);
  }
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  begins.assign(vertices + std::size_t{1}, 0);
  for (const PlacementEdge& edge : sorted) {
    ++begins[edge.from + std::size_t{1}];
    targets.push_back(edge.to);
  }
  for (std::size_t k = 1; k < begins.size(); ++k) begins[k] += begins[k - 1];
}

std::vector<std::uint32_t> components(std::uint32_t vertices, std::span<const PlacementEdge> edges) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  struct Visit {
    std::uint32_t vertex;
    std::uint32_t next;  // position of the next successor
  };
  const Adjacency successors(vertices, edges, false);
  std::vector<std::uint32_t> index(vertices, kNone);
  std::vector<std::uint32_t> low(vertices);
  std::vector<std::uint32_t> component(vertices, kNone);
  std::vector<std::uint32_t> open;
  std::vector<Visit> visits;
  std::uint32_t visited = 0;
  std::uint32_t closed = 0;
  const auto enter = [&](std::uint32_t vertex) {
    index[vertex] = low[vertex] = visited++;
    open.push_back(vertex);
    visits.push_back({vertex, 0});
  };
  for (std::uint32_t root = 0; root < vertices; ++root) {
    if (index[root] != kNone) continue;
    enter(root);
    while (!visits.empty()) {
      Visit& visit = visits.back();
      const std::uint32_t vertex = visit.vertex;
      if (visit.next < successors[vertex].size()) {
        const std::uint32_t next = successors[vertex][visit.next++];
        if (index[next] == kNone) {
          enter(next);
        } else if (component[next] == kNone) {
          low[vertex] = std::min(low[vertex], index[next]);
        }
        continue;
      }
      if (low[vertex] == index[vertex]) {
        for (bool is_last = false; !is_last; open.pop_back()) {
          component[open.back()] = closed;
          is_last = open.back() == vertex;
        }
        ++closed;
      }
      visits.pop_back();
      if (!visits.empty()) low[visits.back().vertex] = std::min(low[visits.back().vertex], low[vertex]);
    }
  }
  // Components close in the reverse of a topological order.
  for (std::uint32_t& c : component) c = closed - 1 - c;
  return component;
}

std::optional<std::uint32_t> node_of_cycle(std::uint32_t vertices, std::span<const PlacementEdge> edges) {
  const std::vector<std::uint32_t> component = components(vertices, edges);
  std::vector<std::uint32_t> members(vertices, 0);
  for (const std::uint32_t c : component) ++members[c];
  for (std::uint32_t k = 0; k < vertices; ++k) {
    if (members[component[k]] > 1) return k;
  }
  for (const PlacementEdge& edge : edges) {
    if (edge.from == edge.to) return edge.from;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> topological_order(std::uint32_t vertices, std::span<const PlacementEdge> edges) {
  const Adjacency successors(vertices, edges, false);
  std::vector<std::uint32_t> missing(vertices, 0);
  for (const std::uint32_t target : successors.targets) ++missing[target];
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t k = 0; k < vertices; ++k) {
    if (missing[k] == 0) ready.push(k);
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t vertex = ready.top();
    ready.pop();
    order.push_back(vertex);
    for (const std::uint32_t next : successors[vertex]) {
      if (--missing[next] == 0) ready.push(next);
    }
  }
  return order;
}

}  // namespace xflow::parallel
