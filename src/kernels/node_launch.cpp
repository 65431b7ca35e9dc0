#include "src/kernels/node_launch.h"

#include <fmt/format.h>

#include "src/ops/function_id.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

Result<ir::Poly> known(const ir::Arena& arena, const ir::Poly& poly, const ir::Symbols::Valuation& sizes) {
  if (poly.is_constant()) return poly;
  const auto value = arena.symbols().evaluate(poly, sizes);
  if (!value)
    return fail(ErrorCode::unsupported,
                fmt::format("cannot cost a graph: {} has no value at these sizes", arena.symbols().to_string(poly)));
  return ir::Poly(*value);
}

Result<ir::TensorType> known(const ir::Arena& arena, ir::TensorType type, const ir::Symbols::Valuation& sizes) {
  if (!type.ranked) {
    return fail(ErrorCode::unsupported,
                fmt::format("cannot cost a graph with the type {}: its rank is not known", ir::to_string(arena.symbols(), type)));
  }
  for (ir::Poly& dim : type.shape) {
    const ir::Poly symbolic = dim;
    XFLOW_TRY(dim, known(arena, symbolic, sizes));
    if (*dim.constant() < 0) {
      return fail(ErrorCode::unsupported,
                  fmt::format("cannot cost a graph: {} is {} at these sizes", arena.symbols().to_string(symbolic), *dim.constant()));
    }
  }
  return type;
}

Result<ir::Attributes> known(const ir::Arena& arena, const ir::Attributes& attributes, const ir::Symbols::Valuation& sizes) {
  ir::Attributes result;
  for (const ir::Attribute& attribute : attributes.list()) {
    ir::AttributeValue value = attribute.value;
    if (auto* poly = std::get_if<ir::Poly>(&value)) {
      XFLOW_TRY(*poly, known(arena, *poly, sizes));
    } else if (auto* list = std::get_if<std::vector<ir::Poly>>(&value)) {
      for (ir::Poly& element : *list) {
        XFLOW_TRY(element, known(arena, element, sizes));
      }
    }
    result.set(attribute.name, std::move(value));
  }
  return result;
}

// Checks that the operator, at these sizes, produces outputs of these types. Sizes behind opaque nodes are
// declared or assumed and have not been compared otherwise. A kernel whose operands contradict its results
// would read or write out of range.
Result<void> check_types(const ops::Operator& op, ir::Symbols& symbols, const ops::Operation& operation) {
  const auto refuse = [&](const std::string& reason) {
    return fail(ErrorCode::unsupported, fmt::format("cannot cost a graph whose sizes contradict each other: {}", reason));
  };
  ops::Typing typing(symbols);
  const auto types = op.type(typing, {operation.operands, operation.attributes, {}});
  if (!types) return refuse(types.error().message);
  if (types->size() != operation.outputs.size())
    return refuse(fmt::format("expected {} outputs, found {}", types->size(), operation.outputs.size()));
  for (std::size_t k = 0; k < types->size(); ++k) {
    if ((*types)[k] == operation.outputs[k]) continue;
    return refuse(fmt::format("expected {}, found {}", ir::to_string(symbols, (*types)[k]), ir::to_string(symbols, operation.outputs[k])));
  }
  return {};
}

// x^2, x^(1/2) and x^-1 are cheaper than a general power, and every library supports them.
void simplify_power(const ir::Arena& arena, NodeLaunch& kernel) {
  if (!kernel.spec.is(ops::Op::Pow) || kernel.operands.size() != 2) return;
  const ir::Node& exponent = arena.node(kernel.operands[1]);
  if (exponent.kind != ir::NodeKind::constant || exponent.constant.elements() != 1) return;
  if (kernel.spec.operands[0].dims != kernel.spec.results[0].dims) return;
  const auto values = ir::doubles(exponent.constant);
  if (!values) return;
  const double value = (*values)[0];
  if (value == 2) {
    kernel.spec.function = {.fused = ops::FunctionId::square};
  } else if (value == 0.5) {
    kernel.spec.function = {.op = ops::Op::Sqrt};
  } else if (value == -1) {
    kernel.spec.function = {.op = ops::Op::Reciprocal};
  } else {
    return;
  }
  kernel.spec.operands.pop_back();
  kernel.operands.pop_back();
}

}  // namespace

std::optional<ops::TensorSpec> tensor_of(const ir::Arena& arena, ir::ValueId value, const ir::Symbols::Valuation& sizes) {
  const ir::TensorType& type = arena.type(value);
  if (!type.ranked) return std::nullopt;
  ops::TensorSpec spec{type.data_type, {}, arena.is_constant(value)};
  for (const ir::Poly& dim : type.shape) {
    const auto known = arena.symbols().evaluate(dim, sizes);
    if (!known || *known < 0) return std::nullopt;
    spec.dims.push_back(*known);
  }
  return spec;
}

Result<NodeLaunch> kernel_of(const ir::Arena& arena, ir::NodeId id, const ir::Symbols::Valuation& sizes) {
  const ir::Node& node = arena.node(id);
  std::vector<ir::TensorType> operands = ops::operand_types(arena, node);
  std::vector<ir::TensorType> outputs = node.outputs;
  NodeLaunch kernel;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].data_type == ir::DataType::undefined) continue;  // an absent operand
    XFLOW_TRY(operands[k], known(arena, std::move(operands[k]), sizes));
    kernel.operands.push_back(node.operands[k]);
  }
  for (ir::TensorType& output : outputs) {
    XFLOW_TRY(output, known(arena, std::move(output), sizes));
  }
  XFLOW_TRY(const ir::Attributes attributes, known(arena, node.attributes, sizes));
  const ops::Operation operation{operands, attributes, outputs};
  XFLOW_CHECK(check_types(ops::get(node.op), *arena.shared_symbols(), operation));
  XFLOW_TRY(kernel.spec, ops::get(node.op).kernel(operation));
  // Some kernels read fewer operands than their operator has, never different ones.
  kernel.operands.resize(std::min(kernel.operands.size(), kernel.spec.operands.size()));
  for (std::size_t k = 0; k < kernel.operands.size(); ++k) kernel.spec.operands[k].constant = arena.is_constant(kernel.operands[k]);
  simplify_power(arena, kernel);
  return kernel;
}

std::vector<double> step_reals(const ir::Node& node) {
  std::vector<double> reals;
  for (const ops::AttributeSignature& attribute : ops::get(node.op).signature.attributes) {
    if (attribute.kind == ops::AttributeKind::real) reals.push_back(node.attributes.real(attribute.name).to_double());
  }
  return reals;
}

}  // namespace xflow::cost
