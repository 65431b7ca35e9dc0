// Graphs that tests build and run on some device.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/ir/graph.h"
#include "src/ops/operator.h"

namespace xflow::testing::graphs {

using ir::Attributes;
using ir::DataType;
using ir::Poly;
using ir::ValueId;
using Dims = std::vector<std::int64_t>;

inline std::vector<Poly> list(const Dims& values) { return ir::polys(values); }

inline std::int64_t elements(const Dims& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

class GraphTest : public ::testing::Test {
 protected:
  ValueId input(const Dims& dims, DataType type = DataType::float32) {
    const ValueId value = arena.input(ir::TensorType{type, true, ir::polys(dims)}, next_++);
    give(value, dims, type);
    return value;
  }
  // An input with an open dimension N, which will be dims[0].
  ValueId open_input(const Dims& dims) {
    std::vector<Poly> shape = ir::polys(dims);
    shape[0] = Poly(arena.symbols().named(ir::SymbolKind::dimension, "N"));
    const ValueId value = arena.input(ir::TensorType{DataType::float32, true, shape}, next_++);
    open_ = dims[0];
    give(value, dims, DataType::float32);
    return value;
  }
  ValueId constant(const Dims& dims, double scale = 1, DataType type = DataType::float32) {
    return arena.constant(ir::make_constant(type, dims, values(dims, scale)).value());
  }
  ValueId op(const std::string& name, std::vector<ValueId> operands, Attributes attributes = {}) {
    auto value = ops::apply(arena, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << value.error().text();
    return *value;
  }
  ValueId convolution(ValueId x, std::int64_t from, std::int64_t to, std::int64_t size, std::int64_t groups = 1) {
    const std::int64_t pad = size / 2;
    return op("conv", {x, constant({to, from / groups, size, size}, 0.3, arena.type(x).data_type)},
              {{"strides", list({1, 1})}, {"pads", list({pad, pad, pad, pad})}, {"dilations", list({1, 1})}, {"groups", Poly(groups)}});
  }

  ir::Arena arena;
  eval::Bindings bindings_;
  ir::Symbols::Valuation sizes_ = [this](ir::SymbolId) { return std::optional(open_); };

 private:
  std::vector<double> values(const Dims& dims, double scale) {
    std::vector<double> result(static_cast<std::size_t>(elements(dims)));
    for (double& v : result) v = static_cast<float>(std::uniform_real_distribution<double>(-scale, scale)(random_));
    return result;
  }
  void give(ValueId value, const Dims& dims, DataType type) {
    if (ir::is_floating(type)) {
      bindings_.emplace(value, eval::Tensor::of_doubles(type, dims, values(dims, 1)));
    } else {
      bindings_.emplace(value,
                        eval::Tensor::of_integers(type, dims, std::vector<std::int64_t>(static_cast<std::size_t>(elements(dims)), 1)));
    }
  }

  std::mt19937 random_{1};
  std::uint32_t next_ = 0;
  std::int64_t open_ = 3;
};

}  // namespace xflow::testing::graphs
