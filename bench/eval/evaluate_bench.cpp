// Multiply-adds a second of the reference, on one core in double: the counter MAC/s.
#include <benchmark/benchmark.h>

#include "src/eval/evaluate.h"
#include "src/ops/operator.h"

namespace {

using namespace xflow;

eval::Tensor tensor(const std::vector<std::int64_t>& dims) {
  eval::Tensor result = eval::Tensor::of_doubles(ir::DataType::float32, dims, {});
  std::vector<double> values(result.count());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k * 2654435761U % 1000) / 500 - 1;
  result.elements = std::move(values);
  return result;
}

void run(benchmark::State& state, const char* op, const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w,
         const ir::Attributes& attributes, std::int64_t multiply_adds) {
  ir::Arena arena;
  const ir::ValueId a = arena.input({ir::DataType::float32, true, ir::polys(x)}, 0);
  const ir::ValueId b = arena.input({ir::DataType::float32, true, ir::polys(w)}, 1);
  const auto y = ops::apply(arena, op, {a, b}, attributes);
  if (!y) return state.SkipWithError(y.error().text().c_str());
  const eval::Bindings inputs = {{a, tensor(x)}, {b, tensor(w)}};
  for (auto unused : state) {
    const auto result = eval::evaluate(arena, ir::Graph{{*y}}, inputs);
    if (!result) return state.SkipWithError(result.error().text().c_str());
  }
  state.counters["MAC/s"] = benchmark::Counter(static_cast<double>(multiply_adds), benchmark::Counter::kIsIterationInvariantRate);
}

void matmul(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  run(state, "matmul", {n, n}, {n, n}, {}, n * n * n);
}
BENCHMARK(matmul)->Arg(64)->Arg(256)->Arg(512);

void matrix_vector(benchmark::State& state) { run(state, "matmul", {1, 2048}, {2048, 1000}, {}, std::int64_t{2048} * 1000); }
BENCHMARK(matrix_vector);

// Channels, size of the image, size of the kernel; padding keeps the size.
void convolution(benchmark::State& state) {
  const std::int64_t c = state.range(0);
  const std::int64_t size = state.range(1);
  const std::int64_t kernel = state.range(2);
  const std::vector<std::int64_t> pads(4, kernel / 2);
  run(state, "conv", {1, c, size, size}, {c, c, kernel, kernel},
      {{"strides", ir::polys(std::vector<std::int64_t>{1, 1})},
       {"dilations", ir::polys(std::vector<std::int64_t>{1, 1})},
       {"pads", ir::polys(pads)}},
      c * c * size * size * kernel * kernel);
}
BENCHMARK(convolution)->Args({64, 56, 3})->Args({256, 14, 1})->Args({256, 7, 3});

void depthwise(benchmark::State& state) {
  const std::int64_t c = state.range(0);
  const std::int64_t size = state.range(1);
  run(state, "conv", {1, c, size, size}, {c, 1, 3, 3},
      {{"strides", ir::polys(std::vector<std::int64_t>{1, 1})},
       {"dilations", ir::polys(std::vector<std::int64_t>{1, 1})},
       {"pads", ir::polys(std::vector<std::int64_t>(4, 1))},
       {"groups", ir::Poly(c)}},
      c * size * size * 9);
}
BENCHMARK(depthwise)->Args({128, 28})->Args({64, 112});

}  // namespace
