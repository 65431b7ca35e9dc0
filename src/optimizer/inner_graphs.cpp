#include "src/optimizer/inner_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/onnx/lift/lift_operator.h"

namespace xflow::api {
namespace {

using onnx_io::Document;
using onnx_io::Function;
using onnx_io::GraphId;
using onnx_io::GraphKind;
using onnx_io::KnownValue;
using onnx_io::KnownValues;
using onnx_io::Node;

std::string_view domain_of(std::string_view domain) { return onnx_io::is_default_domain(domain) ? std::string_view() : domain; }

bool has_name(const Function& function, std::string_view domain, std::string_view name, std::string_view overload) {
  return function.name == name && domain_of(function.domain) == domain_of(domain) && function.overload == overload;
}

// The function or main graph that contains a graph at any depth.
GraphId outermost(const Document& document, GraphId graph) {
  while (document.graph(graph).owner) graph = document.node(*document.graph(graph).owner).graph;
  return graph;
}

// The calls of a function from graphs at any depth of another function or of the main graph.
struct Calls {
  std::set<GraphId> callers;  // outermost graphs
  bool complete = true;       // every call passes every input
};

std::map<GraphId, Calls> calls_of(const Document& document) {
  std::map<GraphId, Calls> calls;
  for (const onnx_io::Graph& graph : document.graphs()) {
    for (const Node& node : document.nodes(graph.id)) {
      const Function* function = called_function(document, node);
      if (function == nullptr) continue;
      Calls& known = calls[function->body];
      known.callers.insert(outermost(document, graph.id));
      const std::size_t inputs = document.graph(function->body).function_inputs.size();
      known.complete = known.complete && node.inputs.size() == inputs && std::ranges::none_of(node.inputs, &std::string_view::empty);
    }
  }
  return calls;
}

// The type that two calls agree on.
KnownValue common(const KnownValue& a, const KnownValue& b) {
  KnownValue result;
  if (a.data_type != b.data_type) return result;
  result.data_type = a.data_type;
  result.ranked = a.ranked && b.ranked && a.dims.size() == b.dims.size();
  for (std::size_t k = 0; result.ranked && k < a.dims.size(); ++k) {
    const bool equal = a.dims[k].kind == onnx_io::Dimension::Kind::value && b.dims[k].kind == onnx_io::Dimension::Kind::value &&
                       a.dims[k].value == b.dims[k].value;
    result.dims.push_back(equal ? a.dims[k] : onnx_io::Dimension{});
  }
  return result;
}

}  // namespace

std::vector<GraphId> inner_graphs(const Document& document) {
  const std::map<GraphId, Calls> calls = calls_of(document);
  const auto& functions = document.model().functions;
  std::set<GraphId> listed{GraphId{0}};  // outermost graphs
  std::vector<GraphId> outer{GraphId{0}};
  const auto can_be_listed = [&](const Function& function) {
    const auto called = calls.find(function.body);
    if (listed.contains(function.body) || called == calls.end() || !called->second.complete) return false;
    const auto same_name = [&](const Function& f) { return has_name(f, function.domain, function.name, function.overload); };
    if (std::ranges::count_if(functions, same_name) > 1) return false;
    return std::ranges::all_of(called->second.callers, [&](GraphId caller) { return listed.contains(caller); });
  };
  for (bool more = true; more;) {
    more = false;
    for (const Function& function : functions) {
      if (!can_be_listed(function)) continue;
      listed.insert(function.body);
      outer.push_back(function.body);
      more = true;
    }
  }
  std::vector<GraphId> graphs;
  for (const GraphId first : outer) {
    for (const onnx_io::Graph& graph : document.graphs())
      if (graph.id == first || (graph.kind == GraphKind::body && graph.owner && outermost(document, graph.id) == first))
        graphs.push_back(graph.id);
  }
  return graphs;
}

std::string describe_graph(const Document& document, GraphId id) {
  const onnx_io::Graph& graph = document.graph(id);
  if (graph.owner) return fmt::format("{} of {}", graph.attribute, onnx_io::describe(document, *graph.owner));
  const auto& functions = document.model().functions;
  const auto function = std::ranges::find(functions, id, &Function::body);
  if (function == functions.end()) return "main graph";
  const std::string name = fmt::format("function {}.{}", function->domain.empty() ? "ai.onnx" : function->domain, function->name);
  return function->overload.empty() ? name : fmt::format("{}:{}", name, function->overload);
}

bool InnerValues::all_calls_are_known(GraphId function) const {
  return std::ranges::all_of(document_.graphs(), [&](const onnx_io::Graph& graph) {
    if (known_.contains(graph.id)) return true;
    return std::ranges::none_of(document_.nodes(graph.id), [&](const Node& node) {
      const Function* called = called_function(document_, node);
      return called != nullptr && called->body == function;
    });
  });
}

KnownValues InnerValues::around(GraphId id) const {
  const onnx_io::Graph& graph = document_.graph(id);
  // A graph that was not lifted may call the function with other types.
  if (!graph.owner && !all_calls_are_known(id)) return {};
  const auto& known = graph.owner ? known_ : inputs_;
  const auto found = known.find(graph.owner ? document_.node(*graph.owner).graph : id);
  return found == known.end() ? KnownValues() : found->second;
}

void InnerValues::add(GraphId id, const onnx_io::LiftedModel& model, const ir::Arena& arena) {
  if (document_.graphs().size() < 2) return;
  KnownValues values = document_.graph(id).owner ? around(id) : KnownValues();
  // An inner name hides an outer one.
  for (auto& [name, value] : onnx_io::known_values(model, arena)) values.insert_or_assign(name, std::move(value));
  for (const Node& node : document_.nodes(id)) {
    const Function* function = called_function(document_, node);
    if (function == nullptr) continue;
    const std::vector<std::string_view>& names = document_.graph(function->body).function_inputs;
    KnownValues& inputs = inputs_[function->body];
    for (std::size_t k = 0; k < names.size() && k < node.inputs.size(); ++k) {
      const auto given = values.find(std::string(node.inputs[k]));
      KnownValue type;
      if (given != values.end()) type = given->second;
      type.constant.reset();
      const auto [known, is_first] = inputs.try_emplace(std::string(names[k]), type);
      if (!is_first) known->second = common(known->second, type);
    }
  }
  known_[id] = std::move(values);
}

}  // namespace xflow::api
