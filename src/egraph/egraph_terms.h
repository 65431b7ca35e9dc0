// Graphs as terms of an e-graph.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/egraph/egraph.h"
#include "src/egraph/vocabulary.h"

namespace xflow::generator {

// The terms that are a graph's outputs, on these inputs; operations that are not there are added.
std::vector<TermId> add_graph(EGraph& graph, const FlatGraph& flat, std::span<const TermId> inputs);
// The same without adding any; empty where one of its operations is not there.
std::vector<TermId> find_graph(const EGraph& graph, const FlatGraph& flat, std::span<const TermId> inputs);

// By representative: the fewest operations with which it can be written as a tree.
std::vector<int> smallest_sizes(const EGraph& graph);

// Over the inputs x1, x2, ...: "relu(x1)".
std::string text_of(const Vocabulary& vocabulary, const EGraph& graph, TermId id);

}  // namespace xflow::generator
