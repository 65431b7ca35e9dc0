// A small arena for tests of operators that move data: named dimensions, operations, and their index notation as text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/ops/operator.h"

namespace xflow::ops {

struct MovementWorld {
  ir::Arena arena;
  std::uint32_t inputs = 0;

  ir::Poly dim(std::string_view name) { return arena.symbols().named(ir::SymbolKind::dimension, name); }
  ir::Poly parameter(std::string_view name) { return arena.symbols().named(ir::SymbolKind::parameter, name); }

  ir::ValueId input(ir::Shape shape, ir::DataType type = ir::DataType::float32) {
    return arena.input(ir::TensorType{type, true, std::move(shape)}, inputs++);
  }
  ir::ValueId integers(std::vector<std::int64_t> values) {
    const auto size = static_cast<std::int64_t>(values.size());
    return arena.constant(ir::make_integer_constant(ir::DataType::int64, {size}, values));
  }
  ir::ValueId integer(std::int64_t value) { return arena.constant(ir::make_integer_constant(ir::DataType::int64, {}, std::vector{value})); }

  ir::ValueId make(std::string_view op, std::vector<ir::ValueId> operands, ir::Attributes attributes = {}) {
    auto value = apply(arena, op, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << value.error().text();
    return value ? *value : arena.absent();
  }
  std::string error(std::string_view op, std::vector<ir::ValueId> operands, ir::Attributes attributes = {}) {
    auto value = apply(arena, op, std::move(operands), std::move(attributes));
    return value ? "no error" : value.error().message;
  }

  std::string type(ir::ValueId value) { return ir::to_string(arena.symbols(), arena.type(value)); }
  // The element of output `output` at [i, j, k, l, m, n].
  std::string notation(ir::ValueId value, int output = 0) {
    const ir::Node& node = arena.node(value);
    const std::vector<ir::TensorType> types = operand_types(arena, node);
    std::vector<ir::Poly> index;
    for (std::size_t k = 0; k < node.outputs[static_cast<std::size_t>(output)].rank(); ++k) {
      index.emplace_back(arena.symbols().named(ir::SymbolKind::index, std::string(1, static_cast<char>('i' + k))));
    }
    Builder builder(arena.symbols());
    const Expr expr = get(node.op).semantics(builder, Operation{types, node.attributes, node.outputs}, output, index);
    return to_string(arena.symbols(), expr, {"x", "y", "z"});
  }
};

}  // namespace xflow::ops
