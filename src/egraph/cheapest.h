// Weights of graphs, and the search for a light graph in an e-graph.
#pragma once

#include <span>

#include "src/egraph/egraph.h"
#include "src/egraph/vocabulary.h"

namespace xflow::generator {

// The sum of the weights of the graph's operations (as Choice::weight), each operation once.
int weight_of(const Vocabulary& vocabulary, std::span<const TypeRef> inputs, const FlatGraph& graph);

// True if the e-graph holds a graph that computes all of `wanted` and whose operations weigh at most `most`.
// The search visits a bounded number of graphs, so false can also mean that it found none within that bound.
bool has_graph_within(const Vocabulary& vocabulary, const EGraph& graph, std::span<const TermId> wanted, int most);

}  // namespace xflow::generator
