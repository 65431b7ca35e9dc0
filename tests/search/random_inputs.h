// What tests with the graphs of bench/search share.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "src/eval/evaluate.h"

namespace xflow::bench {

// Float inputs of a graph with known sizes, uniform in [-1, 1).
inline eval::Bindings random_inputs(const ir::Arena& arena, const ir::Graph& graph) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  eval::Bindings inputs;
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    if (arena.node(id).kind != ir::NodeKind::input) continue;
    std::vector<std::int64_t> dims = *ir::constant_shape(arena.type({id, 0}).shape);
    std::size_t elements = 1;
    for (const std::int64_t d : dims) elements *= static_cast<std::size_t>(d);
    std::vector<double> values(elements);
    for (double& value : values) value = uniform(random);
    inputs.emplace(ir::ValueId{id, 0}, eval::Tensor::of_doubles(ir::DataType::float32, std::move(dims), std::move(values)));
  }
  return inputs;
}

}  // namespace xflow::bench
