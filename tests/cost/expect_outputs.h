// What a device computes of a graph, against the reference, as `xflow check` compares two models.
#pragma once

#include <gtest/gtest.h>

#include "src/eval/compare.h"
#include "src/eval/evaluate.h"

namespace xflow::testing {

// `read` gives the tensor of an output.
template <typename Read>
void expect_outputs(ir::Arena& arena, const ir::Graph& graph, const eval::Bindings& bindings, const Read& read) {
  eval::Options single;
  single.number = eval::Number::float32;
  const auto reference = eval::evaluate(arena, graph, bindings);
  const auto own = eval::evaluate(arena, graph, bindings, single);
  ASSERT_TRUE(reference && own);
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const auto found = read(k);
    ASSERT_TRUE(found) << found.error().text();
    const eval::Comparison comparison = eval::compare((*reference)[k], (*own)[k], *found);
    EXPECT_TRUE(comparison.agrees) << "output " << k << ": " << comparison.reason;
  }
}

}  // namespace xflow::testing
