#include "src/ops/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "src/ir/narrow.h"

namespace xflow::ops {

#define XFLOW_OPERATOR(T) Operator define_##T();
#include "src/ops/ops.def"
#undef XFLOW_OPERATOR

namespace {

std::string_view describe(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer:
      return "an integer";
    case AttributeKind::integers:
      return "a list of integers";
    case AttributeKind::real:
      return "a real number";
    case AttributeKind::word:
      return "a word";
    case AttributeKind::data_type:
      return "a data type";
  }
  return "";
}

bool is_kind(const ir::AttributeValue& value, AttributeKind kind) { return value.index() == static_cast<std::size_t>(kind); }
static_assert(static_cast<std::size_t>(AttributeKind::integer) == 0 && static_cast<std::size_t>(AttributeKind::data_type) == 4,
              "AttributeKind numbers the alternatives of ir::AttributeValue");

std::string_view describe(TypeClass type_class) {
  switch (type_class) {
    case TypeClass::any:
      return "any type";
    case TypeClass::numeric:
      return "a numeric type";
    case TypeClass::floating:
      return "a floating type";
    case TypeClass::integer:
      return "an integer type";
    case TypeClass::quantized:
      return "an integer type or a floating type of 8 bits or fewer";
    case TypeClass::boolean:
      return "type bool";
    case TypeClass::numeric_or_boolean:
      return "a numeric type or bool";
  }
  return "";
}

bool belongs(ir::DataType type, TypeClass type_class) {
  switch (type_class) {
    case TypeClass::any:
      return true;
    case TypeClass::numeric:
      return ir::is_floating(type) || ir::is_integer(type);
    case TypeClass::floating:
      return ir::is_floating(type);
    case TypeClass::integer:
      return ir::is_integer(type);
    case TypeClass::quantized:
      return ir::is_integer(type) || ir::is_narrow(type);
    case TypeClass::boolean:
      return type == ir::DataType::boolean;
    case TypeClass::numeric_or_boolean:
      return ir::is_floating(type) || ir::is_integer(type) || type == ir::DataType::boolean;
  }
  return false;
}

std::string names_of(const std::vector<AttributeSignature>& attributes) {
  std::string list;
  for (const AttributeSignature& attribute : attributes) list += fmt::format("{}{}", list.empty() ? "" : ", ", attribute.name);
  return list.empty() ? "no attributes" : list;
}

std::string operand_counts(const std::vector<OperandSignature>& operands) {
  const auto required =
      static_cast<std::size_t>(std::count_if(operands.begin(), operands.end(), [](const auto& o) { return !o.optional; }));
  const bool variadic = !operands.empty() && operands.back().variadic;
  if (variadic) return fmt::format("at least {} operand{}", required, required == 1 ? "" : "s");
  if (required == operands.size()) return fmt::format("{} operand{}", required, required == 1 ? "" : "s");
  return fmt::format("{} to {} operands", required, operands.size());
}

Result<void> check_operands(const ir::Symbols& symbols, const Signature& signature, std::span<const ir::TensorType> types) {
  const std::vector<OperandSignature>& expected = signature.operands;
  const bool variadic = !expected.empty() && expected.back().variadic;
  const auto count_error = [&] {
    return fail(ErrorCode::ill_typed, fmt::format("expected {}, found {}", operand_counts(expected), types.size()));
  };
  if (types.size() > expected.size() && !variadic) return count_error();
  for (std::size_t k = types.size(); k < expected.size(); ++k) {
    if (!expected[k].optional) return count_error();
  }
  for (std::size_t k = 0; k < types.size(); ++k) {
    const OperandSignature& operand = expected[std::min(k, expected.size() - 1)];
    const ir::TensorType& type = types[k];
    if (type.data_type == ir::DataType::undefined) {
      if (operand.optional) continue;
      return fail(ErrorCode::ill_typed, fmt::format("expected operand '{}' to be present", operand.name));
    }
    if (!belongs(type.data_type, operand.type_class)) {
      return fail(ErrorCode::ill_typed, fmt::format("expected operand '{}' to be of {}, found {}", operand.name,
                                                    describe(operand.type_class), ir::to_string(symbols, type)));
    }
    if (!type.ranked) return fail(ErrorCode::ill_typed, fmt::format("expected the rank of operand '{}' to be known", operand.name));
  }
  return {};
}

Result<ir::Poly> canonical_axis(const AttributeSignature& attribute, const ir::Poly& axis, std::size_t rank) {
  const auto value = axis.constant();
  const auto dimensions = static_cast<std::int64_t>(rank);
  if (!value) return fail(ErrorCode::ill_typed, fmt::format("expected attribute '{}' to be a known integer", attribute.name));
  if (*value < -dimensions || *value >= dimensions) {
    return fail(ErrorCode::ill_typed, fmt::format("expected attribute '{}' to be an axis of {} dimension{}, found {}", attribute.name, rank,
                                                  rank == 1 ? "" : "s", *value));
  }
  return ir::Poly(*value < 0 ? *value + dimensions : *value);
}

// Makes attributes canonical. Axes become numbers in [0, rank of operand 0), and sets of axes ascend. A list
// with one element for all spatial dimensions is repeated to its full length.
Result<void> make_canonical(const Signature& signature, std::span<const ir::TensorType> types, ir::Attributes& attributes) {
  for (const AttributeSignature& attribute : signature.attributes) {
    if (attribute.per_spatial > 0 && types[0].rank() > 2 && attributes.integers(attribute.name).size() == 1) {
      const std::size_t count = static_cast<std::size_t>(attribute.per_spatial) * (types[0].rank() - 2);
      attributes.set(attribute.name, std::vector<ir::Poly>(count, attributes.integers(attribute.name).front()));
    }
    if (!attribute.axis) continue;
    const std::size_t rank = types[0].rank();
    if (attribute.kind == AttributeKind::integer) {
      XFLOW_TRY(ir::Poly axis, canonical_axis(attribute, attributes.integer(attribute.name), rank));
      attributes.set(attribute.name, std::move(axis));
      continue;
    }
    std::vector<std::int64_t> axes;
    for (const ir::Poly& given : attributes.integers(attribute.name)) {
      XFLOW_TRY(const ir::Poly axis, canonical_axis(attribute, given, rank));
      axes.push_back(axis.constant_term());
    }
    std::sort(axes.begin(), axes.end());
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
      return fail(ErrorCode::ill_typed, fmt::format("expected attribute '{}' to name each axis once", attribute.name));
    }
    attributes.set(attribute.name, ir::polys(axes));
  }
  return {};
}

Unexpected in_operator(const Operator& op, Error error) {
  error.message = fmt::format("{}: {}", op.signature.name, error.message);
  return fail(std::move(error));
}

const std::vector<Operator>& registry() {
  static const std::vector<Operator> operators = [] {
    std::vector<Operator> list = {
#define XFLOW_OPERATOR(T) define_##T(),
#include "src/ops/ops.def"
#undef XFLOW_OPERATOR
    };
    std::sort(list.begin(), list.end(), [](const Operator& a, const Operator& b) { return a.signature.name < b.signature.name; });
    return list;
  }();
  return operators;
}

}  // namespace

Result<void> Typing::require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view what) {
  const auto difference = (a - b).constant();
  if (!difference || *difference == 0) return {};
  return fail(ErrorCode::ill_typed, fmt::format("expected {}, found {} and {}", what, symbols_.to_string(a), symbols_.to_string(b)));
}

Result<void> Typing::require_at_least_zero(const ir::Poly& a, std::string_view what) {
  const auto value = a.constant();
  if (!value || *value >= 0) return {};
  return fail(ErrorCode::ill_typed, fmt::format("expected {}, found {}", what, *value));
}

Result<ir::Poly> Typing::broadcast(const ir::Poly& a, const ir::Poly& b) {
  const auto x = a.constant();
  const auto y = b.constant();
  if (x && y && *x != *y && *x != 1 && *y != 1) {
    return fail(ErrorCode::ill_typed, fmt::format("expected dimensions that broadcast, found {} and {}", *x, *y));
  }
  return symbols_.broadcast(a, b);
}

Result<ir::Shape> Typing::broadcast(std::span<const ir::Shape> shapes) {
  std::size_t rank = 0;
  for (const ir::Shape& shape : shapes) rank = std::max(rank, shape.size());
  ir::Shape result(rank, ir::Poly(1));
  for (const ir::Shape& shape : shapes) {
    const std::size_t offset = rank - shape.size();
    for (std::size_t k = 0; k < shape.size(); ++k) {
      ir::Poly& dimension = result[offset + k];
      if (dimension == shape[k] || shape[k].is_one()) continue;
      if (dimension.is_one()) {
        dimension = shape[k];
        continue;
      }
      XFLOW_TRY(ir::Poly both, broadcast(dimension, shape[k]));
      dimension = std::move(both);
    }
  }
  return result;
}

std::span<const Operator> all_operators() { return registry(); }

const Operator& get(ir::OperatorId id) {
  assert(static_cast<std::size_t>(id) < registry().size());
  return registry()[static_cast<std::size_t>(id)];
}

std::optional<ir::OperatorId> find_operator(std::string_view name) {
  const std::vector<Operator>& operators = registry();
  const auto found = std::lower_bound(operators.begin(), operators.end(), name,
                                      [](const Operator& op, std::string_view wanted) { return op.signature.name < wanted; });
  if (found == operators.end() || found->signature.name != name) return std::nullopt;
  return static_cast<ir::OperatorId>(found - operators.begin());
}

ir::OperatorId id_of(std::string_view name) {
  const auto id = find_operator(name);
  assert(id);
  return *id;
}

ir::OperatorId id_of(Op op) {
  static const std::vector<ir::OperatorId> kIds = [] {
    std::vector<ir::OperatorId> ids(registry().size());
    for (std::size_t k = 0; k < ids.size(); ++k) ids[static_cast<std::size_t>(registry()[k].op)] = static_cast<ir::OperatorId>(k);
    return ids;
  }();
  return kIds[static_cast<std::size_t>(op)];
}

Result<ir::Attributes> complete_attributes(const Operator& op, ir::Attributes attributes) {
  const std::vector<AttributeSignature>& expected = op.signature.attributes;
  const auto ill_typed = [&](std::string message) { return in_operator(op, Error{ErrorCode::ill_typed, std::move(message), {}}); };
  for (const ir::Attribute& attribute : attributes.list()) {
    const bool known =
        std::any_of(expected.begin(), expected.end(), [&](const auto& signature) { return signature.name == attribute.name; });
    if (!known) return ill_typed(fmt::format("unknown attribute '{}', expected {}", attribute.name, names_of(expected)));
  }
  for (const AttributeSignature& signature : expected) {
    const ir::AttributeValue* value = attributes.find(signature.name);
    if (value == nullptr) {
      if (!signature.default_value) {
        return ill_typed(fmt::format("expected attribute '{}' ({})", signature.name, describe(signature.kind)));
      }
      attributes.set(signature.name, *signature.default_value);
      continue;
    }
    if (is_kind(*value, signature.kind)) continue;
    // A constant integer is accepted for a real attribute.
    const auto* integer = std::get_if<ir::Poly>(value);
    if (signature.kind == AttributeKind::real && integer != nullptr && integer->is_constant()) {
      attributes.set(signature.name, ir::Real(integer->constant_term()));
      continue;
    }
    return ill_typed(fmt::format("expected attribute '{}' to be {}", signature.name, describe(signature.kind)));
  }
  return attributes;
}

Result<ir::NodeId> apply(ir::Arena& arena, Typing& typing, ir::OperatorId id, std::vector<ir::ValueId> operands,
                         ir::Attributes attributes) {
  const Operator& op = get(id);
  while (!operands.empty() && arena.is_absent(operands.back())) operands.pop_back();
  std::vector<ir::TensorType> types;
  types.reserve(operands.size());
  for (const ir::ValueId operand : operands) types.push_back(arena.type(operand));

  XFLOW_TRY(ir::Attributes complete, complete_attributes(op, std::move(attributes)));
  if (auto checked = check_operands(arena.symbols(), op.signature, types); !checked) return in_operator(op, std::move(checked).error());
  if (auto checked = make_canonical(op.signature, types, complete); !checked) return in_operator(op, std::move(checked).error());
  auto outputs = op.type(typing, Operation{types, complete, {}});
  if (!outputs) return in_operator(op, std::move(outputs).error());
  assert(op.signature.outputs < 0 || outputs->size() == static_cast<std::size_t>(op.signature.outputs));
  for (const ir::TensorType& type : *outputs) {
    for (const ir::Poly& d : type.shape)
      if (d.is_poisoned()) return in_operator(op, Error{ErrorCode::ill_typed, "expected sizes that fit 64 bits and no division by 0", {}});
  }
  return arena.operation(id, std::move(complete), std::move(operands), *std::move(outputs), op.signature.at_run);
}

Result<ir::ValueId> apply(ir::Arena& arena, std::string_view op, std::vector<ir::ValueId> operands, ir::Attributes attributes) {
  const auto id = find_operator(op);
  if (!id) return fail(ErrorCode::ill_typed, fmt::format("unknown operator '{}'", op));
  Typing typing(arena.symbols());
  XFLOW_TRY(const ir::NodeId node, apply(arena, typing, *id, std::move(operands), std::move(attributes)));
  return ir::ValueId{node, 0};
}

Expr semantics_of(ir::Arena& arena, ir::NodeId id, int output, std::vector<ir::Poly>& index) {
  const ir::Node& node = arena.node(id);
  assert(node.kind == ir::NodeKind::operation);
  const ir::TensorType& type = node.outputs[static_cast<std::size_t>(output)];
  assert(type.ranked);
  index.clear();
  for (std::size_t k = 0; k < type.rank(); ++k) index.emplace_back(arena.symbols().fresh(ir::SymbolKind::index, "i"));
  const std::vector<ir::TensorType> types = operand_types(arena, node);
  Builder builder(arena.symbols());
  return get(node.op).semantics(builder, Operation{types, node.attributes, node.outputs}, output, index);
}

std::vector<ir::TensorType> operand_types(const ir::Arena& arena, const ir::Node& node) {
  std::vector<ir::TensorType> types;
  types.reserve(node.operands.size());
  for (const ir::ValueId operand : node.operands) types.push_back(arena.type(operand));
  return types;
}

}  // namespace xflow::ops
