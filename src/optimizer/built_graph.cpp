#include "src/optimizer/built_graph.h"

#include <fmt/format.h>

#include <unordered_map>

#include "src/ir/data_type_from_number.h"
#include "src/ops/operator.h"

namespace xflow {
namespace {

DataType public_type(ir::DataType type) { return static_cast<DataType>(type); }

ir::Poly poly(ir::Symbols& symbols, const Dimension& dimension) {
  if (!dimension.is_named()) return ir::Poly(dimension.size());
  return ir::Poly(symbols.named(ir::SymbolKind::dimension, dimension.name()));
}

std::vector<ir::Poly> polys(ir::Symbols& symbols, const std::vector<Dimension>& dimensions) {
  std::vector<ir::Poly> result;
  result.reserve(dimensions.size());
  for (const Dimension& d : dimensions) result.push_back(poly(symbols, d));
  return result;
}

Dimension dimension(const ir::Symbols& symbols, const ir::Poly& p) {
  if (const auto size = p.constant()) return *size;
  return symbols.to_string(p);
}

ir::AttributeValue ir_attribute(ir::Symbols& symbols, const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return ir::Poly(*integer);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return ir::polys(*list);
  if (const auto* sizes = std::get_if<std::vector<Dimension>>(&value)) return polys(symbols, *sizes);
  if (const auto* real = std::get_if<double>(&value)) return ir::Real::from_double(*real);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  return api::ir_type(std::get<DataType>(value));
}

AttributeValue public_attribute(const ir::Symbols& symbols, const ir::AttributeValue& value) {
  if (const auto* p = std::get_if<ir::Poly>(&value)) {
    if (const auto constant = p->constant()) return *constant;
    return symbols.to_string(*p);
  }
  if (const auto* list = std::get_if<std::vector<ir::Poly>>(&value)) {
    if (auto constants = ir::constant_shape(*list)) return *std::move(constants);
    std::vector<Dimension> sizes;
    for (const ir::Poly& p : *list) sizes.push_back(dimension(symbols, p));
    return sizes;
  }
  if (const auto* real = std::get_if<ir::Real>(&value)) return real->to_double();
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  return public_type(std::get<ir::DataType>(value));
}

}  // namespace

Graph::Graph(std::shared_ptr<const State> state) : state_(std::move(state)) {}
std::span<const GraphInput> Graph::inputs() const { return state_->inputs; }
std::span<const GraphWeight> Graph::weights() const { return state_->weights; }
std::span<const GraphNode> Graph::nodes() const { return state_->nodes; }
std::span<const GraphOutput> Graph::outputs() const { return state_->outputs; }

namespace api {

ir::DataType ir_type(DataType type) { return ir::data_type_from_number(static_cast<std::int64_t>(type)); }

void OperationMaker::input(DataType type, const std::vector<Dimension>& dims) {
  const auto serial = static_cast<std::uint32_t>(inputs.size());
  inputs.push_back(arena_.input({ir_type(type), true, polys(arena_.symbols(), dims)}, serial));
  values.push_back(inputs.back());
}

void OperationMaker::weight(const ir::Constant& constant) { values.push_back(arena_.constant(constant)); }

Result<std::size_t> OperationMaker::apply(std::string_view op, std::span<const Value> operands,
                                          std::span<const NamedAttribute> attributes) {
  const auto id = ops::find_operator(op);
  if (!id) return fail(ErrorCode::invalid_argument, fmt::format("no operator '{}'", op));
  std::vector<ir::ValueId> known;
  for (const Value v : operands) {
    if (static_cast<std::size_t>(v) >= values.size())
      return fail(ErrorCode::invalid_argument, fmt::format("{}: value {} does not exist", op, static_cast<std::uint32_t>(v)));
    known.push_back(values[static_cast<std::size_t>(v)]);
  }
  ir::Attributes list;
  for (const auto& [name, value] : attributes) list.set(name, ir_attribute(arena_.symbols(), value));
  ops::Typing typing(arena_.symbols());
  XFLOW_TRY(const ir::NodeId node, ops::apply(arena_, typing, *id, std::move(known), std::move(list)));
  const std::size_t count = arena_.node(node).outputs.size();
  for (std::uint32_t k = 0; k < count; ++k) values.push_back({node, k});
  return count;
}

Result<BuiltGraph> to_ir(const Graph& graph, ir::Arena& arena) {
  OperationMaker maker(arena);
  BuiltGraph built;
  // Values are numbered over inputs, weights and results together, in order of creation.
  std::size_t input = 0;
  std::size_t weight = 0;
  std::size_t node = 0;
  while (true) {
    const auto next = static_cast<Value>(maker.values.size());
    if (input < graph.inputs().size() && graph.inputs()[input].value == next) {
      const GraphInput& i = graph.inputs()[input++];
      maker.input(i.data_type, i.dims);
    } else if (weight < graph.weights().size() && graph.weights()[weight].value == next) {
      const GraphWeight& w = graph.weights()[weight++];
      maker.weight(ir::Constant{ir_type(w.data_type), w.dims, ir::owned_bytes({w.bytes.begin(), w.bytes.end()})});
    } else if (node < graph.nodes().size()) {
      const GraphNode& n = graph.nodes()[node++];
      XFLOW_CHECK(maker.apply(n.op, n.operands, n.attributes));
      built.nodes.push_back(maker.values.back().node);
    } else {
      break;
    }
  }
  built.inputs = maker.inputs;
  for (const GraphOutput& output : graph.outputs()) built.graph.outputs.push_back(maker.values.at(static_cast<std::size_t>(output.value)));
  return built;
}

Result<Graph> from_ir(const Graph& original, ir::Arena& arena, const BuiltGraph& built, const ir::Graph& result,
                      const std::function<Result<ir::Constant>(ir::ValueId)>& fold) {
  auto state = std::make_shared<Graph::State>();
  std::unordered_map<ir::ValueId, Value> values;
  std::uint32_t count = 0;
  for (std::size_t k = 0; k < built.inputs.size(); ++k) {
    GraphInput input = original.inputs()[k];
    input.value = static_cast<Value>(count++);
    values.emplace(built.inputs[k], input.value);
    state->inputs.push_back(std::move(input));
  }
  const auto value_of = [&](ir::ValueId v) -> Result<Value> {
    if (const auto known = values.find(v); known != values.end()) return known->second;
    if (arena.is_absent(v)) return fail(ErrorCode::unsupported, "an operand is omitted before one that is given");
    const ir::Node& node = arena.node(v);
    XFLOW_TRY(ir::Constant constant, node.kind == ir::NodeKind::constant ? Result<ir::Constant>(node.constant) : fold(v));
    XFLOW_TRY(const std::span<const std::byte> bytes, constant.source->bytes());
    const auto value = static_cast<Value>(count++);
    values.emplace(v, value);
    state->weights.push_back({value, public_type(constant.data_type), constant.dims, bytes});
    state->constants.push_back(std::move(constant));
    return value;
  };
  for (const ir::NodeId id : ir::topological_order(arena, result)) {
    const ir::Node& node = arena.node(id);
    if (node.kind != ir::NodeKind::operation || node.is_constant) continue;
    GraphNode made{std::string(ops::get(node.op).signature.name), {}, {}, {}};
    for (const ir::ValueId operand : node.operands) {
      XFLOW_TRY(const Value v, value_of(operand));
      made.operands.push_back(v);
    }
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const auto value = static_cast<Value>(count++);
      values.emplace(ir::ValueId{id, k}, value);
      made.results.push_back(value);
    }
    for (const ir::Attribute& a : node.attributes.list()) made.attributes.emplace_back(a.name, public_attribute(arena.symbols(), a.value));
    state->nodes.push_back(std::move(made));
  }
  for (std::size_t k = 0; k < result.outputs.size(); ++k) {
    XFLOW_TRY(const Value v, value_of(result.outputs[k]));
    state->outputs.push_back({original.outputs()[k].name, v});
  }
  return Graph(std::move(state));
}

}  // namespace api
}  // namespace xflow
