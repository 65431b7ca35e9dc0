// What a device computes of a graph, against the reference, as `xflow check` compares two models.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "src/eval/compare.h"

namespace xflow::testing {

// `read` gives the tensor of an output.
template <typename Read>
void expect_outputs(ir::Arena& arena, const ir::Graph& graph, const eval::Bindings& bindings, const Read& read) {
  std::vector<eval::Tensor> found;
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    auto output = read(k);
    ASSERT_TRUE(output) << output.error().text();
    found.push_back(*std::move(output));
  }
  const auto agrees = eval::agree_with_reference(arena, graph, bindings, found);
  ASSERT_TRUE(agrees) << agrees.error().text();
  EXPECT_EQ(agrees->reason, "");
}

}  // namespace xflow::testing
