#include "src/onnx/lift/body_types.h"

#include <algorithm>
#include <utility>

#include "src/onnx/lift/lift_operator.h"
#include "src/onnx/lift/opaque_type.h"

namespace xflow::onnx_io {
namespace {

using ir::DataType;
using ir::Poly;
using ir::TensorType;
using ir::ValueId;

constexpr std::size_t kMostDepth = 16;         // nesting of bodies
constexpr std::int64_t kFirstScanOfToday = 9;  // opset; earlier, a Scan has a batch
// The most iterations until the types of a loop's state are stable. Each iteration drops at least one size.
constexpr std::size_t kMostTurns = 64;

// Replaces each attribute that refers to an attribute of the function by the attribute that the call passes;
// drops it if the call passes none. Returns nothing if the call passes a graph.
std::optional<Node> with_attributes(const Node& node, const std::unordered_map<std::string_view, Attribute>& given) {
  Node result = node;
  result.attributes.clear();
  for (const Attribute& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      result.attributes.push_back(attribute);
      continue;
    }
    const auto found = given.find(attribute.reference);
    if (found == given.end()) continue;
    const AttributeType type = found->second.type;
    if (!found->second.graphs.empty() || type == AttributeType::graph || type == AttributeType::graphs) return std::nullopt;
    result.attributes.push_back(found->second);
    result.attributes.back().name = attribute.name;
  }
  return result;
}

bool has_references(const Node& node) {
  return std::ranges::any_of(node.attributes, [](const Attribute& attribute) { return !attribute.reference.empty(); });
}

std::int64_t integer_of(const Node& node, std::string_view name, std::int64_t otherwise) {
  const Attribute* attribute = node.find(name);
  return attribute == nullptr ? otherwise : attribute->integer().value_or(otherwise);
}

// Returns element `k` of a list of integers, 0 if there is no list.
std::optional<std::int64_t> axis_of(const Node& node, std::string_view name, std::size_t k, std::int64_t rank) {
  std::int64_t axis = 0;
  if (const Attribute* attribute = node.find(name)) {
    const auto list = attribute->integers();
    if (!list || k >= list->size()) return std::nullopt;
    axis = (*list)[k];
  }
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? std::optional(axis) : std::nullopt;
}

// Returns the body in an attribute of the node; null unless there is exactly one.
const Graph* body_of(const Document& document, const Node& node, std::string_view attribute) {
  const Attribute* found = node.find(attribute);
  return found == nullptr || found->graphs.size() != 1 ? nullptr : &document.graph(found->graphs[0]);
}

// Returns a type with one element: a scalar, or a vector of size 1 if the body declares the input as a
// vector.
TensorType of_one_element(DataType data_type, const ValueInfo& input) {
  const bool is_list = input.type.kind == DeclaredType::Kind::tensor && input.type.ranked && input.type.dims.size() == 1;
  return {data_type, true, is_list ? ir::Shape{Poly(1)} : ir::Shape()};
}

}  // namespace

BodyTypes::BodyTypes(const Document& document, ir::Arena& arena, NodeInference& nodes, const ir::Symbols::Valuation& sizes,
                     std::size_t most_nodes)
    : document_(document), arena_(arena), nodes_(nodes), sizes_(sizes), contents_(arena), most_nodes_(most_nodes) {}

std::vector<std::optional<InferredType>> BodyTypes::infer(const Node& node, std::span<const ValueId> operands) {
  std::vector<std::optional<InferredType>> types(node.outputs.size());
  if (operands.size() != node.inputs.size() + node.captures.size() || has_references(node)) return types;
  Scope scope;
  for (std::size_t k = 0; k < node.captures.size(); ++k) scope.values.emplace(node.captures[k], operands[node.inputs.size() + k]);
  const auto arguments = operands.first(node.inputs.size());
  const std::size_t first_symbol = arena_.symbols().size();
  Types found;
  if (node.has_bodies()) {
    found = of_body(node, arguments, scope).value_or(Types());
  } else if (const auto values = call(node, arguments)) {
    for (const ValueId value : *values) found.push_back(arena_.type(value));
  }
  if (visited_ > most_nodes_) return types;
  for (std::size_t k = 0; k < std::min(types.size(), found.size()); ++k) types[k] = inferred(found[k], first_symbol);
  return types;
}

std::optional<ValueId> BodyTypes::find(const Scope& scope, std::string_view name) const {
  for (const Scope* at = &scope; at != nullptr; at = at->outer)
    if (const auto found = at->values.find(name); found != at->values.end()) return found->second;
  return std::nullopt;
}

// Assumes that tensors of a model are not empty. Assumes nothing else about values of a body, which may not
// run.
ValueId BodyTypes::leaf(TensorType type) {
  for (const Poly& size : type.shape)
    if (size.as_symbol()) arena_.symbols().assume_positive(size);
  return {arena_.opaque(kLeafSerial, {}, {std::move(type)}), 0};
}

bool BodyTypes::is_older(const Poly& size, std::size_t first_symbol) const {
  if (size.is_poisoned()) return false;
  return std::ranges::none_of(arena_.symbols().all_symbols(size), [&](ir::SymbolId symbol) {
    return static_cast<std::size_t>(symbol) >= first_symbol && arena_.symbols().info(symbol).kind == ir::SymbolKind::dimension;
  });
}

// Replaces sizes that only the body knows by fresh symbols.
TensorType BodyTypes::known_outside(TensorType type, std::size_t first_symbol) {
  for (Poly& size : type.shape)
    if (!is_older(size, first_symbol)) size = fresh();
  return type;
}

std::optional<InferredType> BodyTypes::inferred(const TensorType& type, std::size_t first_symbol) {
  if (!type.ranked || type.data_type == DataType::undefined) return std::nullopt;
  InferredType result{type.data_type, {}};
  for (const Poly& size : type.shape) {
    const auto number = size.is_constant() ? size.constant() : sizes_ ? arena_.symbols().evaluate(size, sizes_) : std::nullopt;
    if (number && *number < 0) {
      result.dims.emplace_back();
    } else if (number) {
      result.dims.emplace_back(Poly(*number));
    } else {
      result.dims.push_back(is_older(size, first_symbol) ? std::optional(size) : std::nullopt);
    }
  }
  return result;
}

bool BodyTypes::define_initializers(const Graph& graph, Scope& scope) {
  visited_ += graph.initializers.size() + graph.sparse_initializers.size();
  if (visited_ > most_nodes_) return false;
  for (const Initializer& initializer : graph.initializers) {
    auto constant = document_.constant(initializer.tensor);
    const TensorType type{initializer.tensor.data_type, true, ir::polys(initializer.tensor.dims)};
    scope.values.emplace(initializer.tensor.name, constant ? arena_.constant(*std::move(constant)) : leaf(type));
  }
  for (const SparseInitializer& sparse : graph.sparse_initializers)
    scope.values.emplace(sparse.values.name, leaf({sparse.values.data_type, true, ir::polys(sparse.dims)}));
  return true;
}

bool BodyTypes::walk(GraphId graph, Scope& scope) {
  if (depth_ == kMostDepth || !define_initializers(document_.graph(graph), scope)) return false;
  ++depth_;
  for (const NodeId id : document_.graph(graph).order) {
    if (++visited_ > most_nodes_) break;
    const Node& node = document_.node(id);
    auto values = visit(node, scope);
    if (!values) break;
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].empty())
        scope.values.emplace(node.outputs[k], k < values->size() ? (*values)[k] : leaf(TensorType::unranked({})));
  }
  --depth_;
  return visited_ <= most_nodes_;
}

// Returns the values of the node's outputs; nothing if the walk ends.
std::optional<BodyTypes::Values> BodyTypes::visit(const Node& original, const Scope& scope) {
  std::optional<Node> replaced;
  if (scope.attributes != nullptr && has_references(original)) {
    replaced = with_attributes(original, *scope.attributes);
    if (!replaced) return Values();
  }
  const Node& node = replaced ? *replaced : original;
  Values operands;
  for (const std::string_view name : node.inputs) {
    const auto value = name.empty() ? std::optional(arena_.absent()) : find(scope, name);
    if (!value) return std::nullopt;
    operands.push_back(*value);
  }
  if (auto lifted = lift_operator(document_, arena_, node, operands)) {
    for (ValueId& value : *lifted) value = folded(arena_, contents_, value);
    return *std::move(lifted);
  }
  if (!node.has_bodies() && calls_function(document_, node)) return call(node, operands).value_or(Values());
  const auto types = node.has_bodies() ? of_body(node, operands, scope).value_or(Types()) : of_operator(node, operands);
  Values values;
  for (const TensorType& type : types) values.push_back(leaf(type));
  return values;
}

BodyTypes::Types BodyTypes::of_operator(const Node& node, std::span<const ValueId> operands) {
  const auto inferred = nodes_.infer_operator(node, operands, sizes_);
  Types types;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    types.push_back(opaque_output_type(document_, arena_, node, k, operands).value_or(TensorType::unranked(DataType::undefined)));
    if (!inferred[k]) continue;
    TensorType& type = types.back();
    if (!type.ranked || type.data_type == DataType::undefined || type.rank() != inferred[k]->dims.size()) {
      type = {inferred[k]->data_type, true, {}};
      for (std::size_t d = 0; d < inferred[k]->dims.size(); ++d) type.shape.push_back(fresh());
    }
    for (std::size_t d = 0; d < type.rank(); ++d)
      if (inferred[k]->dims[d]) type.shape[d] = *inferred[k]->dims[d];
  }
  return types;
}

std::optional<BodyTypes::Values> BodyTypes::call(const Node& node, std::span<const ValueId> operands) {
  const Function* function = called_function(document_, node);
  // If ONNX has an operator of the same name as the function, runtimes disagree about which of the two is
  // called.
  if (function == nullptr || nodes_.has_schema(node) || std::ranges::find(calls_, function) != calls_.end()) return std::nullopt;
  const Graph& body = document_.graph(function->body);
  if (operands.size() > body.function_inputs.size() || node.outputs.size() > body.function_outputs.size()) return std::nullopt;
  Attributes given;
  for (const Attribute& attribute : node.attributes) given.emplace(attribute.name, attribute);
  for (const Attribute& attribute : function->defaults) given.emplace(attribute.name, attribute);
  Scope scope{nullptr, &given, {}};
  for (std::size_t k = 0; k < body.function_inputs.size(); ++k)
    scope.values.emplace(body.function_inputs[k], k < operands.size() ? operands[k] : arena_.absent());
  calls_.push_back(function);
  const bool done = walk(function->body, scope);
  calls_.pop_back();
  if (!done) return std::nullopt;
  Values values;
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const auto value = find(scope, body.function_outputs[k]);
    values.push_back(value && !arena_.is_absent(*value) ? *value : leaf(TensorType::unranked(DataType::undefined)));
  }
  return values;
}

std::optional<BodyTypes::Types> BodyTypes::of_body(const Node& node, std::span<const ValueId> operands, const Scope& scope) {
  if (calls_function(document_, node)) return std::nullopt;
  if (node.is("If")) return branches(node, scope);
  if (node.is("Loop")) return loop(node, operands, scope);
  if (node.is("Scan") && document_.opset(node.graph, "").value_or(0) >= kFirstScanOfToday) return scan(node, operands, scope);
  return std::nullopt;
}

// Returns the outputs of a body for these input values.
std::optional<BodyTypes::Values> BodyTypes::run_body(const Graph& body, std::span<const ValueId> inputs, const Scope& outer) {
  Scope scope{&outer, outer.attributes, {}};
  for (std::size_t k = 0; k < inputs.size(); ++k) scope.values.emplace(body.inputs[k].name, inputs[k]);
  if (!walk(body.id, scope)) return std::nullopt;
  Values outputs;
  for (const ValueInfo& output : body.outputs) {
    const auto value = find(scope, output.name);
    if (!value || arena_.is_absent(*value)) return std::nullopt;
    outputs.push_back(*value);
  }
  return outputs;
}

// Returns the types that both branches agree on. Sizes that differ are unknown.
std::optional<BodyTypes::Types> BodyTypes::branches(const Node& node, const Scope& scope) {
  const std::size_t first_symbol = arena_.symbols().size();
  std::optional<Types> types;
  for (const std::string_view name : {"then_branch", "else_branch"}) {
    const Graph* body = body_of(document_, node, name);
    if (body == nullptr || !body->inputs.empty() || body->outputs.size() < node.outputs.size()) return std::nullopt;
    const auto values = run_body(*body, {}, scope);
    if (!values) return std::nullopt;
    Types of_branch;
    for (const ValueId value : *values) of_branch.push_back(known_outside(arena_.type(value), first_symbol));
    if (!types) {
      types = std::move(of_branch);
      continue;
    }
    for (std::size_t k = 0; k < std::min(types->size(), of_branch.size()); ++k) join((*types)[k], of_branch[k], first_symbol);
  }
  return types;
}

// Keeps in `type` what is true of both types. Returns true if `type` lost information. A size that only the
// body knows counts as unknown already.
bool BodyTypes::join(TensorType& type, const TensorType& other, std::size_t first_symbol) {
  const TensorType before = type;
  if (type.data_type != other.data_type) type.data_type = DataType::undefined;
  if (!type.ranked || !other.ranked || type.rank() != other.rank()) {
    type = TensorType::unranked(type.data_type);
  } else {
    for (std::size_t k = 0; k < type.rank(); ++k)
      if (!(type.shape[k] == other.shape[k]) && is_older(type.shape[k], first_symbol)) type.shape[k] = fresh();
  }
  return type.data_type != before.data_type || type.ranked != before.ranked || !(type.shape == before.shape);
}

// Returns the types of all outputs of a body that runs repeatedly, the state first. The inputs from
// `first_state` on are the results of the previous iteration from `first_result` on. The types of the state
// hold in every iteration.
std::optional<BodyTypes::Types> BodyTypes::repeat(const Graph& body, Values inputs, std::size_t first_state, std::size_t first_result,
                                                  std::size_t states, const Scope& scope) {
  const std::size_t first_symbol = arena_.symbols().size();
  Types types;
  for (std::size_t k = 0; k < states; ++k) {
    const ValueId initial = inputs[first_state + k];
    types.push_back(arena_.is_absent(initial) ? TensorType::unranked(DataType::undefined) : arena_.type(initial));
  }
  for (std::size_t turn = 0; turn < kMostTurns; ++turn) {
    for (std::size_t k = 0; k < states; ++k) inputs[first_state + k] = leaf(types[k]);
    const auto values = run_body(body, inputs, scope);
    if (!values) return std::nullopt;
    bool changed = false;
    for (std::size_t k = 0; k < states; ++k) changed = join(types[k], arena_.type((*values)[first_result + k]), first_symbol) || changed;
    if (changed) continue;
    for (std::size_t k = first_result + states; k < values->size(); ++k) types.push_back(arena_.type((*values)[k]));
    for (TensorType& type : types) type = known_outside(std::move(type), first_symbol);
    return types;
  }
  return std::nullopt;
}

// Loop(M, condition, state...) -> state..., and the stacked results of all iterations.
std::optional<BodyTypes::Types> BodyTypes::loop(const Node& node, std::span<const ValueId> operands, const Scope& scope) {
  const Graph* body = body_of(document_, node, "body");
  if (body == nullptr || body->inputs.size() < 2 || operands.size() != body->inputs.size()) return std::nullopt;
  const std::size_t states = body->inputs.size() - 2;
  if (body->outputs.size() < 1 + states) return std::nullopt;
  Values inputs(operands.begin(), operands.end());
  inputs[0] = leaf(of_one_element(DataType::int64, body->inputs[0]));
  inputs[1] = leaf(of_one_element(DataType::boolean, body->inputs[1]));
  auto types = repeat(*body, std::move(inputs), 2, 1, states, scope);
  if (!types) return std::nullopt;
  for (std::size_t k = states; k < types->size(); ++k)
    if ((*types)[k].ranked) (*types)[k].shape.insert((*types)[k].shape.begin(), fresh());
  return types;
}

// Scan(state..., sequences...) -> state..., and the stacked results of all iterations over elements of the
// sequences.
std::optional<BodyTypes::Types> BodyTypes::scan(const Node& node, std::span<const ValueId> operands, const Scope& scope) {
  const Graph* body = body_of(document_, node, "body");
  const std::int64_t sequences = integer_of(node, "num_scan_inputs", 0);
  if (body == nullptr || operands.size() != body->inputs.size() || sequences < 1 || std::cmp_greater(sequences, operands.size()))
    return std::nullopt;
  const std::size_t states = operands.size() - static_cast<std::size_t>(sequences);
  if (body->outputs.size() < states) return std::nullopt;
  Values inputs(operands.begin(), operands.end());
  std::optional<Poly> length;
  for (std::size_t k = states; k < inputs.size(); ++k) {
    TensorType type = arena_.is_absent(inputs[k]) ? TensorType::unranked(DataType::undefined) : arena_.type(inputs[k]);
    if (type.ranked) {
      const auto axis = axis_of(node, "scan_input_axes", k - states, static_cast<std::int64_t>(type.rank()));
      if (!axis) return std::nullopt;
      if (!length) length = type.shape[static_cast<std::size_t>(*axis)];
      type.shape.erase(type.shape.begin() + *axis);
    }
    inputs[k] = leaf(std::move(type));
  }
  auto types = repeat(*body, std::move(inputs), 0, 0, states, scope);
  if (!types) return std::nullopt;
  for (std::size_t k = states; k < types->size(); ++k) {
    TensorType& type = (*types)[k];
    if (!type.ranked) continue;
    const auto axis = axis_of(node, "scan_output_axes", k - states, static_cast<std::int64_t>(type.rank()) + 1);
    if (!axis) return std::nullopt;
    type.shape.insert(type.shape.begin() + *axis, length ? *length : fresh());
  }
  return types;
}

}  // namespace xflow::onnx_io
