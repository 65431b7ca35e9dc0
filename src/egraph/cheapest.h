// What graphs an e-graph holds, by what they cost.
#pragma once

#include <span>

#include "src/egraph/egraph.h"
#include "src/egraph/vocabulary.h"

namespace xflow::generator {

// The weights of its operations (as Choice::weight), each once.
int weight_of(const Vocabulary& vocabulary, std::span<const TypeRef> inputs, const FlatGraph& graph);

// Whether there are terms that compute all of `wanted` whose operations weigh no more than `most`. Looks at a bounded number of graphs:
// false also where it has found none by then.
bool has_graph_within(const Vocabulary& vocabulary, const EGraph& graph, std::span<const TermId> wanted, int most);

}  // namespace xflow::generator
