#include "src/ops/common.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cmath>

namespace xflow::ops {

Types one_type(ir::DataType data_type, ir::Shape shape) {
  return std::vector<ir::TensorType>{ir::TensorType{data_type, true, std::move(shape)}};
}

Result<void> require_same_data_type(const Operation& operation, std::initializer_list<std::size_t> operands) {
  std::optional<ir::DataType> first;
  for (const std::size_t k : operands) {
    if (!operation.has(k)) continue;
    const ir::DataType type = operation.operands[k].data_type;
    if (first && *first != type) {
      return fail(ErrorCode::ill_typed,
                  fmt::format("expected operands of one element type, found {} and {}", ir::name(*first), ir::name(type)));
    }
    first = type;
  }
  return {};
}

Result<void> require_rank_at_least(const ir::Symbols& symbols, const Operation& operation, std::size_t operand, std::string_view name,
                                   std::size_t rank) {
  const ir::TensorType& type = operation.operands[operand];
  if (type.rank() >= rank) return {};
  return fail(ErrorCode::ill_typed, fmt::format("expected operand '{}' to have at least {} dimension{}, found {}", name, rank,
                                                rank == 1 ? "" : "s", ir::to_string(symbols, type)));
}

Result<void> require_same_rank(const ir::Symbols& symbols, const Operation& operation, std::string_view first, std::string_view second) {
  const ir::TensorType& a = operation.operands[0];
  const ir::TensorType& b = operation.operands[1];
  if (a.rank() == b.rank()) return {};
  return fail(ErrorCode::ill_typed, fmt::format("expected '{}' and '{}' to have equally many dimensions, found {} and {}", first, second,
                                                ir::to_string(symbols, a), ir::to_string(symbols, b)));
}

Result<void> require_size(const ir::Attributes& attributes, std::string_view name, std::size_t size) {
  const std::size_t found = attributes.integers(name).size();
  if (found == size) return {};
  return fail(ErrorCode::ill_typed, fmt::format("expected '{}' to have {} element{}, found {}", name, size, size == 1 ? "" : "s", found));
}

Result<void> require_elements_at_least(Typing& typing, const ir::Attributes& attributes, std::string_view name, std::int64_t least) {
  for (const ir::Poly& value : attributes.integers(name)) {
    if (const auto known = value.constant(); known && *known < least) {
      return fail(ErrorCode::ill_typed, fmt::format("expected '{}' to be at least {}, found {}", name, least, *known));
    }
    XFLOW_CHECK(typing.require_at_least_zero(value - least, fmt::format("'{}' to be at least {}", name, least)));
  }
  return {};
}

Result<void> require_flag(const ir::Attributes& attributes, std::string_view name) {
  const auto value = attributes.known_integer(name);
  if (value && (*value == 0 || *value == 1)) return {};
  return fail(ErrorCode::ill_typed, fmt::format("expected '{}' to be 0 or 1", name));
}

Types pointwise_type(Typing& typing, const Operation& operation, std::optional<ir::DataType> result) {
  std::vector<ir::Shape> shapes;
  shapes.reserve(operation.operands.size());
  for (const ir::TensorType& operand : operation.operands) {
    shapes.push_back(operand.shape);
    if (operand.data_type != operation.operands[0].data_type) {
      return fail(ErrorCode::ill_typed, fmt::format("expected operands of one element type, found {} and {}",
                                                    ir::name(operation.operands[0].data_type), ir::name(operand.data_type)));
    }
  }
  XFLOW_TRY(ir::Shape shape, typing.broadcast(shapes));
  return one_type(result.value_or(operation.operands[0].data_type), std::move(shape));
}

Expr read_broadcast(Builder& builder, const Operation& operation, int operand, const ir::Shape& shape, std::span<const ir::Poly> index) {
  const ir::Shape& own = operation.operands[static_cast<std::size_t>(operand)].shape;
  assert(own.size() <= shape.size() && shape.size() == index.size());
  const std::size_t offset = shape.size() - own.size();
  std::vector<ir::Poly> indices;
  indices.reserve(own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    indices.push_back(builder.symbols().broadcast_index(index[offset + k], own[k], shape[offset + k]));
  }
  return builder.read(operand, std::move(indices));
}

Expr read_broadcast(Builder& builder, const Operation& operation, int operand, std::span<const ir::Poly> index) {
  return read_broadcast(builder, operation, operand, operation.outputs[0].shape, index);
}

Expr pointwise(Builder& builder, Function function, const Operation& operation, std::span<const ir::Poly> index) {
  const auto read = [&](int operand) { return read_broadcast(builder, operation, operand, index); };
  switch (arity(function)) {
    case 1:
      return builder.apply(function, read(0));
    case 2:
      return builder.apply(function, read(0), read(1));
    default:
      return builder.apply(function, read(0), read(1), read(2));
  }
}

Signature pointwise_signature(std::string_view name, int operands, TypeClass type_class, std::vector<AttributeSignature> attributes) {
  static constexpr std::array<std::string_view, 3> kNames = {"a", "b", "c"};
  Signature signature;
  signature.name = name;
  for (int k = 0; k < operands; ++k) {
    signature.operands.push_back({operands == 1 ? "x" : kNames[static_cast<std::size_t>(k)], type_class});
  }
  signature.attributes = std::move(attributes);
  signature.pointwise = true;
  return signature;
}

Result<TensorSpec> tensor_spec(const ir::TensorType& type) {
  auto dims = ir::constant_shape(type.shape);
  if (!type.ranked || !dims) return fail(ErrorCode::unsupported, "cannot describe a kernel: a dimension is not known");
  return TensorSpec{type.data_type, *std::move(dims), false};
}

Result<KernelSpec> kernel_spec(KernelFamily family, const Operation& operation) {
  KernelSpec spec;
  spec.family = family;
  for (std::size_t k = 0; k < operation.operands.size(); ++k) {
    if (!operation.has(k)) continue;
    XFLOW_TRY(TensorSpec tensor, tensor_spec(operation.operands[k]));
    spec.operands.push_back(std::move(tensor));
  }
  for (const ir::TensorType& output : operation.outputs) {
    XFLOW_TRY(TensorSpec tensor, tensor_spec(output));
    spec.results.push_back(std::move(tensor));
  }
  return spec;
}

Result<KernelSpec> pointwise_kernel(std::string_view name, const Operation& operation) {
  XFLOW_TRY(KernelSpec spec, kernel_spec(KernelFamily::pointwise, operation));
  for (const AttributeSignature& attribute : get(id_of(name)).signature.attributes) {
    if (attribute.kind != AttributeKind::real) continue;
    spec.reals.emplace_back(attribute.name, operation.attributes.real(attribute.name).to_double());
  }
  return spec;
}

Result<KernelSpec> none_kernel(const Operation& operation) { return kernel_spec(KernelFamily::none, operation); }

Result<void> add_integers(KernelSpec& spec, const Operation& operation, std::string_view name) {
  const ir::AttributeValue* value = operation.attributes.find(name);
  assert(value != nullptr);
  if (std::holds_alternative<ir::Poly>(*value)) {
    XFLOW_TRY(const std::int64_t known, known_integer(operation, name));
    spec.integers.emplace_back(name, std::vector<std::int64_t>{known});
  } else {
    XFLOW_TRY(std::vector<std::int64_t> known, known_integers(operation, name));
    spec.integers.emplace_back(name, std::move(known));
  }
  return {};
}

Result<void> require_exportable(const Operation& operation, std::size_t operand, TypeSet types) {
  const ir::DataType type = operation.operands[operand].data_type;
  if (contains(types, type)) return {};
  return fail(ErrorCode::unsupported, fmt::format("cannot be exported for {} in this opset", ir::name(type)));
}

Result<Lifted> lift_two_operands(const OnnxNode& node) {
  if (node.input_count() != 2) return fail(ErrorCode::unsupported, fmt::format("{} inputs are a composition", node.input_count()));
  return lift_operands(node);
}

Result<std::int64_t> known_integer(const Operation& operation, std::string_view name) {
  if (const auto value = operation.attributes.known_integer(name)) return *value;
  return fail(ErrorCode::unsupported, fmt::format("cannot export a symbolic '{}'", name));
}

Result<std::vector<std::int64_t>> known_integers(const Operation& operation, std::string_view name) {
  if (auto values = operation.attributes.known_integers(name)) return *std::move(values);
  return fail(ErrorCode::unsupported, fmt::format("cannot export a symbolic '{}'", name));
}

Result<float> known_real(const Operation& operation, std::string_view name) {
  const ir::Real& value = operation.attributes.real(name);
  if (value.is_variable()) return fail(ErrorCode::unsupported, fmt::format("cannot export a variable '{}'", name));
  return static_cast<float>(value.to_double());
}

Result<std::vector<ir::Poly>> input_integers(const OnnxNode& node, std::size_t k, std::string_view what) {
  if (auto values = node.integers(k)) return *std::move(values);
  return fail(ErrorCode::unsupported, fmt::format("cannot read '{}': its values are not known before the run", what));
}

Result<std::size_t> input_rank(const OnnxNode& node, std::size_t k) {
  if (k < node.input_count() && node.has_input(k) && node.input_type(k).ranked) return node.input_type(k).rank();
  return fail(ErrorCode::unsupported, fmt::format("the rank of input {} is not known", k));
}

}  // namespace xflow::ops
