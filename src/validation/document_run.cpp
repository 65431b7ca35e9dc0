#include "src/validation/document_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "src/ir/graph.h"
#include "src/onnx/lift/inferred_shapes.h"
#include "src/onnx/lift/lift_operator.h"
#include "src/validation/recurrent.h"
#include "src/validation/tensor_slices.h"
#include "src/validation/undefined_result.h"

namespace xflow::api {
namespace {

using eval::Tensor;
using onnx_io::Document;
using onnx_io::Graph;
using onnx_io::GraphId;
using onnx_io::Node;

using Value = std::shared_ptr<const Tensor>;  // null: an omitted operand
using Values = std::vector<Value>;

constexpr std::size_t kMostDepth = 16;         // nesting of bodies and of calls
constexpr std::int64_t kFirstScanOfToday = 9;  // opset; earlier, a Scan has a batch

Value value_of(Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); }

Unexpected unsupported(std::string message) { return fail(ErrorCode::unsupported, std::move(message)); }

// The only element of a tensor of integers or booleans.
Result<std::int64_t> single(const Tensor& tensor, std::string_view what) {
  const auto elements = ir::is_floating(tensor.data_type) ? Result<std::vector<std::int64_t>>(unsupported("")) : eval::integers(tensor);
  if (!elements || elements->size() != 1) return unsupported(fmt::format("{} is {}", what, eval::type_text(tensor)));
  return (*elements)[0];
}

// Element `k` of a list of integers, 0 if the node has no such list.
Result<std::int64_t> entry_of(const Node& node, std::string_view name, std::size_t k) {
  const onnx_io::Attribute* attribute = node.find(name);
  if (attribute == nullptr) return std::int64_t{0};
  XFLOW_TRY(const std::vector<std::int64_t> list, attribute->integers());
  if (k >= list.size()) return unsupported(fmt::format("{} has {} elements", name, list.size()));
  return list[k];
}

Result<std::size_t> axis_of(const Node& node, std::string_view name, std::size_t k, std::size_t rank) {
  XFLOW_TRY(const std::int64_t axis, entry_of(node, name, k));
  const auto dims = static_cast<std::int64_t>(rank);
  if (axis < -dims || axis >= dims) return unsupported(fmt::format("{} is {} of {} dimensions", name, axis, dims));
  return static_cast<std::size_t>(axis < 0 ? axis + dims : axis);
}

Result<bool> is_backward(const Node& node, std::string_view name, std::size_t k) {
  XFLOW_TRY(const std::int64_t direction, entry_of(node, name, k));
  if (direction != 0 && direction != 1) return unsupported(fmt::format("{} is {}", name, direction));
  return direction == 1;
}

// A scalar, or a vector of one element if the body declares such an input.
Tensor of_one_element(ir::DataType type, const onnx_io::ValueInfo& input, std::int64_t element) {
  const bool is_list = input.type.kind == onnx_io::DeclaredType::Kind::tensor && input.type.ranked && input.type.dims.size() == 1;
  return Tensor::of_integers(type, is_list ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>(), {element});
}

class Runner {
 public:
  Runner(const Document& document, const DocumentRunOptions& options) : document_(document), options_(options) {}

  Result<std::vector<Tensor>> run(const NamedTensors& inputs) {
    Scope scope;
    for (const auto& [name, tensor] : inputs)
      if (const onnx_io::Definition* definition = document_.find(GraphId{0}, name); definition != nullptr && definition->input)
        scope.values.insert_or_assign(document_.main().inputs[*definition->input].name, value_of(tensor));
    XFLOW_TRY(const Values values, walk(document_.main(), scope));
    std::vector<Tensor> outputs;
    for (const Value& value : values) {
      XFLOW_TRY(Tensor output, with_elements(*value));
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

 private:
  struct Scope {
    const Scope* outer = nullptr;  // the enclosing graph of a body; null for a function
    std::unordered_map<std::string_view, Value> values = {};
  };

  Result<Value> find(const Scope& scope, std::string_view name) const {
    for (const Scope* at = &scope; at != nullptr; at = at->outer)
      if (const auto found = at->values.find(name); found != at->values.end()) return found->second;
    return unsupported(fmt::format("value '{}' has no tensor", name));
  }

  // The values of the outputs of a graph, whose inputs are in the scope.
  Result<Values> walk(const Graph& graph, Scope& scope) {
    if (depth_ == kMostDepth) return fail(ErrorCode::limit, fmt::format("bodies are nested deeper than {}", kMostDepth));
    ++depth_;
    auto outputs = walk_nodes(graph, scope);
    --depth_;
    return outputs;
  }

  Result<Values> walk_nodes(const Graph& graph, Scope& scope) {
    for (const onnx_io::Initializer& initializer : graph.initializers) {
      if (scope.values.contains(initializer.tensor.name)) continue;
      // A value of a type without arithmetic has no tensor.
      auto constant = document_.constant(initializer.tensor);
      if (constant) scope.values.emplace(initializer.tensor.name, value_of(Tensor::of(*std::move(constant))));
    }
    std::unordered_map<std::string_view, std::size_t> uses;
    const bool is_function = graph.kind == onnx_io::GraphKind::function;
    std::vector<std::string_view> names = graph.function_outputs;
    if (!is_function)
      for (const onnx_io::ValueInfo& output : graph.outputs) names.push_back(output.name);
    for (const std::string_view name : names) ++uses[name];
    for (const onnx_io::NodeId id : graph.order)
      for (const auto* read : {&document_.node(id).inputs, &document_.node(id).captures})
        for (const std::string_view name : *read) ++uses[name];
    for (const onnx_io::NodeId id : graph.order) {
      const Node& node = document_.node(id);
      auto values = visit(node, scope);
      if (!values) return fail(values.error().code, values.error().message, placed(values.error(), node));
      for (std::size_t k = 0; k < std::min(node.outputs.size(), values->size()); ++k)
        if (!node.outputs[k].empty() && uses.contains(node.outputs[k])) scope.values.insert_or_assign(node.outputs[k], (*values)[k]);
      for (const auto* read : {&node.inputs, &node.captures})
        for (const std::string_view name : *read)
          if (const auto use = uses.find(name); --use->second == 0) scope.values.erase(name);
    }
    Values outputs;
    for (const std::string_view name : names) {
      XFLOW_TRY(Value output, find(scope, name));
      if (!output) return unsupported(fmt::format("output '{}' has no tensor", name));
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

  std::string placed(const Error& error, const Node& node) const {
    return error.where.empty() ? onnx_io::describe(document_, node.id) : error.where;
  }

  Result<Values> visit(const Node& node, const Scope& scope) {
    if (options_.stop && options_.stop()) return fail(ErrorCode::limit, "the run was stopped");
    if (++nodes_ > options_.most_nodes) return fail(ErrorCode::limit, fmt::format("the run has more than {} nodes", options_.most_nodes));
    Values operands;
    for (const std::string_view name : node.inputs) {
      XFLOW_TRY(Value operand, name.empty() ? Result<Value>(Value()) : find(scope, name));
      operands.push_back(std::move(operand));
    }
    if (node.is("If")) return choose(node, operands, scope);
    if (node.is("Loop")) return loop(node, operands, scope);
    if (node.is("Scan")) return scan(node, operands, scope);
    if (!node.has_bodies() && onnx_io::calls_function(document_, node)) return call(node, operands);
    if (is_recurrent(node)) return counted(run_recurrent(node, document_.opset(node.graph, "").value_or(0), operands, options()));
    return operate(node, operands);
  }

  eval::Options options() const {
    eval::Options how;
    how.number = options_.number;
    how.stop = options_.stop;
    how.most_elements = options_.most_elements;
    return how;
  }

  Result<void> count_elements(const Tensor& result) {
    elements_ += result.count();
    if (elements_ <= options_.most_elements) return {};
    return fail(ErrorCode::limit, fmt::format("the run has more than {} elements", options_.most_elements));
  }

  Result<Values> counted(Result<Values> values) {
    if (!values) return values;
    for (const Value& value : *values)
      if (value) XFLOW_CHECK(count_elements(*value));
    return values;
  }

  // A node that is no control flow.
  Result<Values> operate(const Node& node, std::span<const Value> operands) {
    ir::Arena arena;
    eval::Bindings bindings;
    std::vector<ir::ValueId> lifted_operands;
    for (const Value& operand : operands) {
      if (!operand) {
        lifted_operands.push_back(arena.absent());
      } else if (std::holds_alternative<ir::Constant>(operand->elements)) {
        lifted_operands.push_back(arena.constant(std::get<ir::Constant>(operand->elements)));
      } else if (!ir::is_floating(operand->data_type) && operand->count() <= ir::Constant::kSmall) {
        // Sizes may depend on integers.
        XFLOW_TRY(ir::Constant constant, eval::to_constant(*operand));
        lifted_operands.push_back(arena.constant(std::move(constant)));
      } else {
        const auto serial = static_cast<std::uint32_t>(lifted_operands.size());
        const ir::ValueId input = arena.input({operand->data_type, true, ir::polys(operand->dims)}, serial);
        bindings.emplace(input, *operand);
        lifted_operands.push_back(input);
      }
    }
    auto lifted = onnx_io::lift_operator(document_, arena, node, lifted_operands);
    if (!lifted) return fail(lifted.error().code, fmt::format("cannot execute: {}", lifted.error().message));
    ir::Graph graph;
    std::vector<std::size_t> at;  // of the outputs that have a value
    for (std::size_t k = 0; k < std::min(lifted->size(), node.outputs.size()); ++k) {
      if (node.outputs[k].empty() || arena.is_absent((*lifted)[k])) continue;
      graph.outputs.push_back((*lifted)[k]);
      at.push_back(k);
    }
    XFLOW_TRY(std::vector<Tensor> results, eval::evaluate(arena, graph, bindings, options()));
    Values values(node.outputs.size());
    for (std::size_t k = 0; k < results.size(); ++k) {
      XFLOW_CHECK(count_elements(results[k]));
      const bool is_stored = std::holds_alternative<ir::Constant>(results[k].elements);
      if (!is_stored && results[k].count() == 0) return unsupported("a result has no elements");
      if (std::string reason = undefined_result(node, operands, results[k]); !reason.empty()) return unsupported(std::move(reason));
      values[at[k]] = value_of(std::move(results[k]));
    }
    return values;
  }

  Result<Values> call(const Node& node, std::span<const Value> operands) {
    const onnx_io::Function* function = onnx_io::called_function(document_, node);
    ir::Arena arena;
    // If ONNX has an operator of the same name, runtimes disagree about which of the two is called.
    if (function == nullptr || onnx_io::NodeInference(document_, arena).has_schema(node))
      return unsupported(fmt::format("cannot execute: call of {}", node.op_type));
    const Graph& body = document_.graph(function->body);
    if (operands.size() > body.function_inputs.size()) return unsupported("the call has more operands than its function");
    Scope scope;
    for (std::size_t k = 0; k < body.function_inputs.size(); ++k)
      scope.values.emplace(body.function_inputs[k], k < operands.size() ? operands[k] : Value());
    return walk(body, scope);
  }

  Result<const Graph*> body_of(const Node& node, std::string_view attribute, std::size_t inputs) const {
    const onnx_io::Attribute* found = node.find(attribute);
    if (found == nullptr || found->graphs.size() != 1) return unsupported(fmt::format("attribute {} is no graph", attribute));
    const Graph* body = &document_.graph(found->graphs[0]);
    if (body->inputs.size() != inputs)
      return unsupported(fmt::format("{} has {} inputs, and its node {}", attribute, body->inputs.size(), inputs));
    return body;
  }

  Result<Values> run_body(const Graph& body, std::span<const Value> inputs, const Scope& around) {
    Scope scope{&around, {}};
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const onnx_io::DeclaredType& declared = body.inputs[k].type;
      const ir::DataType type = inputs[k]->data_type;
      if (declared.kind == onnx_io::DeclaredType::Kind::tensor && declared.data_type != ir::DataType::undefined &&
          declared.data_type != type)
        return unsupported(fmt::format("input '{}' of the body is {}, not {}", body.inputs[k].name, declared.text(), ir::name(type)));
      scope.values.emplace(body.inputs[k].name, inputs[k]);
    }
    return walk(body, scope);
  }

  Result<Values> choose(const Node& node, std::span<const Value> operands, const Scope& scope) {
    if (operands.size() != 1 || !operands[0] || operands[0]->data_type != ir::DataType::boolean)
      return unsupported("the condition is no boolean");
    XFLOW_TRY(const std::int64_t condition, single(*operands[0], "the condition"));
    XFLOW_TRY(const Graph* body, body_of(node, condition != 0 ? "then_branch" : "else_branch", 0));
    if (body->outputs.size() < node.outputs.size()) return unsupported("a branch has too few outputs");
    return run_body(*body, {}, scope);
  }

  Result<Values> loop(const Node& node, std::span<const Value> operands, const Scope& scope) {
    if (operands.size() < 2) return unsupported("a Loop has two operands at least");
    XFLOW_TRY(const Graph* body, body_of(node, "body", operands.size()));
    const std::size_t states = operands.size() - 2;
    if (body->outputs.size() < 1 + states || node.outputs.size() > body->outputs.size() - 1)
      return unsupported("the body has too few outputs");
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (operands[0]) {
      XFLOW_TRY(most, single(*operands[0], "the number of iterations"));
    }
    std::int64_t condition = 1;
    if (operands[1]) {
      XFLOW_TRY(condition, single(*operands[1], "the condition"));
    }
    Values inputs(operands.begin(), operands.end());
    if (std::any_of(inputs.begin() + 2, inputs.end(), [](const Value& value) { return !value; }))
      return unsupported("a state has no tensor");
    std::vector<std::vector<Tensor>> results(body->outputs.size() - 1 - states);
    for (std::int64_t k = 0; k < most && condition != 0; ++k) {
      XFLOW_CHECK(count_iteration(k));
      inputs[0] = value_of(of_one_element(ir::DataType::int64, body->inputs[0], k));
      inputs[1] = value_of(of_one_element(ir::DataType::boolean, body->inputs[1], condition));
      XFLOW_TRY(const Values outputs, run_body(*body, inputs, scope));
      if (outputs[0]->data_type != ir::DataType::boolean) return unsupported("the condition is no boolean");
      XFLOW_TRY(condition, single(*outputs[0], "the condition"));
      if (!operands[1] && condition == 0) return unsupported("a Loop without condition ends by the condition of its body");
      XFLOW_CHECK(take_states(outputs, 1, inputs, 2, states));
      for (std::size_t r = 0; r < results.size(); ++r) results[r].push_back(*outputs[1 + states + r]);
    }
    Values values(inputs.begin() + 2, inputs.end());
    for (std::size_t r = 0; states + r < node.outputs.size(); ++r) {
      values.emplace_back();
      if (node.outputs[states + r].empty()) continue;
      XFLOW_TRY(Tensor joined, stacked(results[r], 0));
      values.back() = value_of(std::move(joined));
    }
    return values;
  }

  Result<void> count_iteration(std::int64_t done) const {
    if (std::cmp_less(done, options_.most_iterations)) return {};
    return fail(ErrorCode::limit, fmt::format("more than {} iterations", options_.most_iterations));
  }

  // Moves the new states to the inputs of the next iteration. Errors: unsupported for another type.
  static Result<void> take_states(const Values& outputs, std::size_t from, Values& inputs, std::size_t to, std::size_t states) {
    for (std::size_t s = 0; s < states; ++s) {
      if (outputs[from + s]->data_type != inputs[to + s]->data_type) return unsupported("a state has another type than before");
      inputs[to + s] = outputs[from + s];
    }
    return {};
  }

  Result<Values> scan(const Node& node, std::span<const Value> operands, const Scope& scope) {
    if (document_.opset(node.graph, "").value_or(0) < kFirstScanOfToday) return unsupported("a Scan of opset 8 has a batch");
    XFLOW_TRY(const Graph* body, body_of(node, "body", operands.size()));
    const onnx_io::Attribute* attribute = node.find("num_scan_inputs");
    if (attribute == nullptr) return unsupported("num_scan_inputs is not given");
    XFLOW_TRY(const std::int64_t sequences, attribute->integer());
    const bool are_tensors = std::ranges::all_of(operands, [](const Value& value) { return value != nullptr; });
    if (sequences < 1 || std::cmp_greater(sequences, operands.size()) || !are_tensors) return unsupported("the sequences are no operands");
    const std::size_t states = operands.size() - static_cast<std::size_t>(sequences);
    if (body->outputs.size() < states || node.outputs.size() > body->outputs.size()) return unsupported("the body has too few outputs");
    std::vector<Tensor> read;
    std::vector<std::size_t> axes;
    std::vector<bool> backward;
    for (std::size_t k = states; k < operands.size(); ++k) {
      XFLOW_TRY(Tensor sequence, with_elements(*operands[k]));
      XFLOW_TRY(const std::size_t axis, axis_of(node, "scan_input_axes", k - states, sequence.dims.size()));
      XFLOW_TRY(const bool is_last_first, is_backward(node, "scan_input_directions", k - states));
      if (!read.empty() && sequence.dims[axis] != read[0].dims[axes[0]]) return unsupported("sequences have different lengths");
      read.push_back(std::move(sequence));
      axes.push_back(axis);
      backward.push_back(is_last_first);
    }
    const std::int64_t length = read[0].dims[axes[0]];
    Values inputs(operands.begin(), operands.end());
    std::vector<std::vector<Tensor>> results(body->outputs.size() - states);
    for (std::int64_t k = 0; k < length; ++k) {
      XFLOW_CHECK(count_iteration(k));
      for (std::size_t s = 0; s < read.size(); ++s)
        inputs[states + s] = value_of(slice_at(read[s], axes[s], backward[s] ? length - 1 - k : k));
      XFLOW_TRY(const Values outputs, run_body(*body, inputs, scope));
      XFLOW_CHECK(take_states(outputs, 0, inputs, 0, states));
      for (std::size_t r = 0; r < results.size(); ++r) results[r].push_back(*outputs[states + r]);
    }
    Values values(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(states));
    for (std::size_t r = 0; states + r < node.outputs.size(); ++r) {
      XFLOW_TRY(Value value, stack(node, results[r], r));
      values.push_back(std::move(value));
    }
    return values;
  }

  // Result `r` of a Scan, from those of its iterations.
  static Result<Value> stack(const Node& node, std::vector<Tensor>& results, std::size_t r) {
    if (results.empty()) return unsupported("a Scan has no iteration");
    XFLOW_TRY(const std::size_t axis, axis_of(node, "scan_output_axes", r, results[0].dims.size() + 1));
    XFLOW_TRY(const bool is_last_first, is_backward(node, "scan_output_directions", r));
    if (is_last_first) std::ranges::reverse(results);
    XFLOW_TRY(Tensor joined, stacked(results, axis));
    return value_of(std::move(joined));
  }

  const Document& document_;
  const DocumentRunOptions& options_;
  std::size_t depth_ = 0;
  std::uint64_t nodes_ = 0;
  std::uint64_t elements_ = 0;  // of all results so far
};

}  // namespace

bool only_documents_run(const Document& document, const Node& node) {
  return node.has_bodies() || is_recurrent(node) || onnx_io::called_function(document, node) != nullptr;
}

Result<std::vector<eval::Tensor>> run_document(const Document& document, const NamedTensors& inputs, const DocumentRunOptions& options) {
  return Runner(document, options).run(inputs);
}

}  // namespace xflow::api
