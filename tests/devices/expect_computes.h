#pragma once
// A whole graph run on this CPU, compared with the reference as `xflow check` compares two models.
#include <gtest/gtest.h>

#include "src/devices/cpu/program.h"
#include "tests/devices/expect_outputs.h"

namespace xflow::cost::cpu {

// Runs the program of a graph, whose inputs are written, twice, so that what a run leaves behind is seen.
inline void expect_computes(Program& program, ir::Arena& arena, const ir::Graph& graph, const eval::Bindings& bindings) {
  EXPECT_EQ(program.plan().share_not_run(), 0);
  program.run();
  program.run();
  xflow::testing::expect_outputs(arena, graph, bindings, [&](std::size_t k) { return program.read(k); });
}

}  // namespace xflow::cost::cpu
