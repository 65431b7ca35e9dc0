// Conversion of graphs to terms of an e-graph.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/egraph/egraph.h"
#include "src/egraph/vocabulary.h"

namespace xflow::generator {

// Returns the terms of a graph's outputs on these inputs and adds the operations that are missing.
std::vector<TermId> add_graph(EGraph& graph, const FlatGraph& flat, std::span<const TermId> inputs);
// The same without adding terms. Empty if an operation of the graph is missing.
std::vector<TermId> find_graph(const EGraph& graph, const FlatGraph& flat, std::span<const TermId> inputs);

// By representative: the smallest number of operations with which the class can be written as a tree.
// Operations without operands do not count.
std::vector<int> smallest_sizes(const EGraph& graph);

// The text of a term over the inputs x1, x2, ...: "relu(x1)".
std::string text_of(const Vocabulary& vocabulary, const EGraph& graph, TermId id);

}  // namespace xflow::generator
