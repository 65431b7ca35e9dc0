// What is made of small graphs and known of them: renamed ones, parts, replacements, costs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>

#include "src/generator/enumerate/graph_code.h"

namespace xflow::generator {

// A graph with other leaves, its operations in the same order.
SmallGraph rename(const GraphSignature& signature, const SmallGraph& graph, std::span<const std::uint8_t> leaves);
// The inputs that a graph reads.
std::set<std::uint8_t> inputs_of(const GraphSignature& signature, const SmallGraph& graph);
// What of a graph computes these values.
SmallGraph with_outputs(const GraphSignature& signature, const SmallGraph& graph, std::span<const std::uint8_t> outputs);
// The part of a graph that computes one value.
SmallGraph part_of(const GraphSignature& signature, const SmallGraph& graph, std::uint8_t value);
// The graph with another one, on the same inputs and of one output, in the place of a value; equal
// operations are one, unused ones gone.
SmallGraph replace(const GraphSignature& signature, const SmallGraph& graph, std::uint8_t value, const SmallGraph& by);

// The outputs of several graphs on the same inputs as those of one.
SmallGraph join(const GraphSignature& signature, std::span<const SmallGraph> small_graphs);

// What a graph costs, roughly, and with what it is compared: operators, then the sum of their weights, then
// the structure.
struct Rank {
  std::size_t operators = 0;
  int weight = 0;
  std::uint64_t structure = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};
int weight_of(const GraphSignature& signature, const SmallGraph& graph);
// The same without the operations on parameters (GraphSignature::is_parameter) and constants alone.
Rank rank_with_constant_parameters(const GraphSignature& signature, const SmallGraph& graph, std::uint64_t structure);

// Whether a graph reads a number, or numbers for channels or columns.
bool reads_numbers(const GraphSignature& signature, const SmallGraph& graph);
// Whether every identity is used for products of other tensors: it, or its product with one number for each
// channel or column, is a term of a sum with a tensor, which one product with no other constant reads.
bool uses_identities(const GraphSignature& signature, const SmallGraph& graph);

}  // namespace xflow::generator
