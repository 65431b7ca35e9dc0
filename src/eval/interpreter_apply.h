// Functions and casts: a part of the class template of interpreter.h, which includes this file.
#pragma once

#include "src/eval/interpreter.h"

namespace xflow::eval {

template <typename A>
template <typename T>
View<T> Interpreter<A>::choose(const ValueNode& node, NodeState& state, Mask mask) {
  const View<std::int64_t> condition = eval<std::int64_t>(node.arguments[0], mask);
  const View<T> a = eval<T>(node.arguments[1], mask);
  const View<T> b = eval<T>(node.arguments[2], mask);
  if (condition.uniform) return condition.data[0] != 0 ? a : b;
  T* const out = buffer<T>(state);
  for (std::int64_t lane = 0; lane < loops_.lanes(); ++lane) {
    if (is_active(mask, lane)) out[lane] = condition.data[lane] != 0 ? a[lane] : b[lane];
  }
  return {out, false};
}

template <typename A>
View<std::int64_t> Interpreter<A>::compare(const ValueNode& node, NodeState& state, Mask mask) {
  std::int64_t* const out = state.integers.data();
  const View<Number> a = eval<Number>(node.arguments[0], mask);
  if (node.function == Function::is_nan) {
    return map(a, out, mask, [&](const Number& x) -> std::int64_t { return arithmetic_.is_nan(x) ? 1 : 0; });
  }
  const View<Number> b = eval<Number>(node.arguments[1], mask);
  if (node.function == Function::less) {
    return map(a, b, out, mask, [&](const Number& x, const Number& y) -> std::int64_t { return arithmetic_.less(x, y) ? 1 : 0; });
  }
  return map(a, b, out, mask, [&](const Number& x, const Number& y) -> std::int64_t { return arithmetic_.equal(x, y) ? 1 : 0; });
}

template <typename A>
View<std::int64_t> Interpreter<A>::apply_integer(const ValueNode& node, NodeState& state, Mask mask) {
  std::int64_t* const out = state.integers.data();
  const View<std::int64_t> a = eval<std::int64_t>(node.arguments[0], mask);
  const ir::DataType type = node.data_type;
  if (ops::arity(node.function) == 1) {
    return map(a, out, mask, [&](std::int64_t x) { return wrap(integer_unary(node.function, x), type); });
  }
  const View<std::int64_t> b = eval<std::int64_t>(node.arguments[1], mask);
  return map(a, b, out, mask, [&](std::int64_t x, std::int64_t y) { return integer_binary(node.function, x, y, type); });
}

template <typename A>
View<typename A::Number> Interpreter<A>::apply_unary(const ValueNode& node, NodeState& state, Mask mask) {
  switch (node.function) {
    case Function::negate:
      return unary<Function::negate>(node, state, mask);
    case Function::reciprocal:
      return unary<Function::reciprocal>(node, state, mask);
    case Function::exp:
      return unary<Function::exp>(node, state, mask);
    case Function::log:
      return unary<Function::log>(node, state, mask);
    case Function::sqrt:
      return unary<Function::sqrt>(node, state, mask);
    case Function::sin:
      return unary<Function::sin>(node, state, mask);
    case Function::cos:
      return unary<Function::cos>(node, state, mask);
    case Function::tanh:
      return unary<Function::tanh>(node, state, mask);
    case Function::erf:
      return unary<Function::erf>(node, state, mask);
    case Function::abs:
      return unary<Function::abs>(node, state, mask);
    case Function::sign:
      return unary<Function::sign>(node, state, mask);
    case Function::floor:
      return unary<Function::floor>(node, state, mask);
    case Function::ceil:
      return unary<Function::ceil>(node, state, mask);
    default:
      return unary<Function::round_even>(node, state, mask);
  }
}

template <typename A>
View<typename A::Number> Interpreter<A>::apply_binary(const ValueNode& node, NodeState& state, Mask mask) {
  switch (node.function) {
    case Function::add:
      return binary<Function::add>(node, state, mask);
    case Function::subtract:
      return binary<Function::subtract>(node, state, mask);
    case Function::multiply:
      return binary<Function::multiply>(node, state, mask);
    case Function::divide:
      return binary<Function::divide>(node, state, mask);
    case Function::integer_divide:
      return binary<Function::integer_divide>(node, state, mask);
    case Function::modulo:
      return binary<Function::modulo>(node, state, mask);
    case Function::remainder:
      return binary<Function::remainder>(node, state, mask);
    case Function::power:
      return binary<Function::power>(node, state, mask);
    case Function::minimum:
      return binary<Function::minimum>(node, state, mask);
    default:
      return binary<Function::maximum>(node, state, mask);
  }
}

template <typename A>
template <typename T>
View<T> Interpreter<A>::cast(const ValueNode& node, NodeState& state, Mask mask) {
  const ValueNode& argument = stage_.nodes[static_cast<std::size_t>(node.arguments[0])];
  T* const out = buffer<T>(state);
  const ir::DataType to = node.data_type;
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (!argument.real) {
      const ir::DataType from = argument.data_type;
      return map(eval<std::int64_t>(node.arguments[0], mask), out, mask, [from, to](std::int64_t x) {
        if (!ir::is_narrow_floating(from) && !ir::is_narrow_floating(to)) return wrap(x, to);
        return narrowed(ir::is_narrow_floating(from) ? ir::narrow_to_double(from, static_cast<std::uint8_t>(x)) : static_cast<double>(x),
                        to);
      });
    }
    const View<Number> view = eval<Number>(node.arguments[0], mask);
    if (to == ir::DataType::boolean)
      return map(view, out, mask, [&](const Number& x) -> std::int64_t { return arithmetic_.nonzero(x) ? 1 : 0; });
    if (ir::is_narrow_floating(to)) return map(view, out, mask, [&](const Number& x) { return narrowed(arithmetic_.to_double(x), to); });
    if (to == ir::DataType::uint64) return map(view, out, mask, [&](const Number& x) { return arithmetic_.to_unsigned(x); });
    return map(view, out, mask, [&](const Number& x) { return wrap(arithmetic_.to_integer(x), to); });
  } else {
    if (argument.real)
      return map(eval<Number>(node.arguments[0], mask), out, mask, [&](const Number& x) { return arithmetic_.round(x, to); });
    const View<std::int64_t> view = eval<std::int64_t>(node.arguments[0], mask);
    if (ir::is_narrow_floating(argument.data_type)) {
      return map(view, out, mask, [&](std::int64_t x) {
        return arithmetic_.round(arithmetic_.from_double(ir::narrow_to_double(argument.data_type, static_cast<std::uint8_t>(x))), to);
      });
    }
    if (argument.data_type == ir::DataType::uint64) {
      return map(view, out, mask,
                 [&](std::int64_t x) { return arithmetic_.round(arithmetic_.from_unsigned(static_cast<std::uint64_t>(x)), to); });
    }
    return map(view, out, mask, [&](std::int64_t x) { return arithmetic_.round(arithmetic_.from_integer(x), to); });
  }
}

}  // namespace xflow::eval
