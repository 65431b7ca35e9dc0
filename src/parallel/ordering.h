// Orders of directed graphs whose vertices are numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/parallel/instance.h"

namespace xflow::parallel {

// Neighbours of each vertex, without duplicates, ascending.
struct Adjacency {
  Adjacency() = default;
  Adjacency(std::uint32_t vertices, std::span<const PlacementEdge> edges, bool reversed);

  std::span<const std::uint32_t> operator[](std::size_t vertex) const {
    return std::span(targets).subspan(begins[vertex], begins[vertex + 1] - begins[vertex]);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(begins.size() - 1); }

  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> targets;
};

// A vertex of a cycle, or nothing.
std::optional<std::uint32_t> node_of_cycle(std::uint32_t vertices, std::span<const PlacementEdge> edges);

// Number of the strongly connected component of each vertex, from 0 in an order in which each edge leads to
// the same or a later component (Tarjan, Depth-first search and linear graph algorithms, 1972).
std::vector<std::uint32_t> components(std::uint32_t vertices, std::span<const PlacementEdge> edges);

// A topological order: among ready vertices, the one with the smallest number first. Vertices in cycles, and
// those that only follow cycles, are left out.
std::vector<std::uint32_t> topological_order(std::uint32_t vertices, std::span<const PlacementEdge> edges);

}  // namespace xflow::parallel
