#pragma once
// A whole graph run on this CPU, compared with the reference as `xflow check` compares two models.
#include <gtest/gtest.h>

#include "src/cost/cpu/program.h"
#include "src/eval/compare.h"
#include "src/eval/evaluate.h"

namespace xflow::cost::cpu {

// Runs the program of a graph, whose inputs are written, twice, so that what a run leaves behind is seen.
inline void expect_computes(Program& program, ir::Arena& arena, const ir::Graph& graph, const eval::Bindings& bindings) {
  EXPECT_EQ(program.plan().share_not_run(), 0);
  program.run();
  program.run();
  eval::Options single;
  single.number = eval::Number::float32;
  const auto reference = eval::evaluate(arena, graph, bindings);
  const auto own = eval::evaluate(arena, graph, bindings, single);
  ASSERT_TRUE(reference && own);
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const auto found = program.read(k);
    ASSERT_TRUE(found) << found.error().text();
    const eval::Comparison comparison = eval::compare((*reference)[k], (*own)[k], *found);
    EXPECT_TRUE(comparison.agrees) << "output " << k << ": " << comparison.reason;
  }
}

}  // namespace xflow::cost::cpu
