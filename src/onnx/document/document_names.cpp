// Resolves the names of a document: definitions of values, captures of bodies, and the order of nodes.
#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>

#include "src/onnx/document/document_state.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {

namespace {

class Names {
 public:
  explicit Names(Document::State& state) : state_(state) {}

  Result<void> run();

 private:
  Unexpected unreadable(std::string message) const { return fail(ErrorCode::unreadable, std::move(message), state_.origin.name); }

  std::span<Node> nodes(const Graph& graph) { return std::span<Node>(state_.nodes).subspan(graph.first_node, graph.node_count); }
  Result<void> define(Graph& graph);
  Result<void> define_nodes(Graph& graph);
  Unexpected twice(const Graph& graph, std::string_view name, const Definition& first, const std::string& second) const;
  void capture(Graph& graph);
  Result<void> check_defined();
  Unexpected undefined(std::string_view name, const Graph& root) const;
  bool reaches(const Graph& graph, std::string_view name, const Graph& root) const;
  Result<void> order(Graph& graph);
  Result<void> sort(Graph& graph);
  Unexpected cycle(const Graph& graph, const std::vector<std::vector<std::uint32_t>>& producers, const std::vector<bool>& done) const;
  template <typename Visit>
  void for_each_producer(const Graph& graph, const Node& node, Visit visit) const;

  Document::State& state_;
  // By graph: names that the graph and its bodies use and the graph does not define.
  std::vector<std::vector<std::string_view>> free_;
};

Result<void> Names::run() {
  for (Graph& graph : state_.graphs) XFLOW_CHECK(define(graph));
  free_.resize(state_.graphs.size());
  // Bodies come before the graphs around them.
  for (std::size_t i = state_.graphs.size(); i-- > 0;) capture(state_.graphs[i]);
  XFLOW_CHECK(check_defined());
  for (Graph& graph : state_.graphs) XFLOW_CHECK(order(graph));
  return {};
}

Unexpected Names::twice(const Graph& graph, std::string_view name, const Definition& first, const std::string& second) const {
  const std::string by = first.node ? describe(state_, *first.node) : first.input ? std::string("an input") : std::string("an initializer");
  return unreadable("value " + in_quotes(name) + " of " + describe(state_, graph.id) + " is defined twice: by " + by + " and by " + second);
}

Result<void> Names::define(Graph& graph) {
  const bool is_function = graph.kind == GraphKind::function;
  const std::size_t inputs = is_function ? graph.function_inputs.size() : graph.inputs.size();
  graph.definitions.reserve(inputs + graph.initializers.size() + graph.node_count);
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::string_view name = is_function ? graph.function_inputs[i] : graph.inputs[i].name;
    if (name.empty()) continue;
    const auto [at, is_new] = graph.definitions.try_emplace(name);
    if (!is_new) return twice(graph, name, at->second, "another input");
    at->second.input = static_cast<std::uint32_t>(i);
  }
  for (std::size_t i = 0; i < graph.initializers.size(); ++i) {
    const std::string_view name = graph.initializers[i].tensor.name;
    if (name.empty()) continue;
    Definition& definition = graph.definitions[name];
    if (definition.initializer) return twice(graph, name, definition, "another initializer");
    definition.initializer = static_cast<std::uint32_t>(i);
  }
  for (std::size_t i = 0; i < graph.sparse_initializers.size(); ++i) {
    const std::string_view name = graph.sparse_initializers[i].values.name;
    if (name.empty()) continue;
    Definition& definition = graph.definitions[name];
    if (definition.initializer || definition.sparse_initializer) return twice(graph, name, definition, "a sparse initializer");
    definition.sparse_initializer = static_cast<std::uint32_t>(i);
  }
  return define_nodes(graph);
}

Result<void> Names::define_nodes(Graph& graph) {
  for (const Node& node : nodes(graph)) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      const auto [at, is_new] = graph.definitions.try_emplace(node.outputs[i]);
      if (!is_new) return twice(graph, node.outputs[i], at->second, describe(state_, node.id));
      at->second.node = node.id;
      at->second.output = static_cast<std::uint32_t>(i);
    }
  }
  return {};
}

void Names::capture(Graph& graph) {
  std::vector<std::string_view>& free = free_[index(graph.id)];
  std::unordered_set<std::string_view> seen;
  const auto use = [&](std::string_view name) {
    if (!name.empty() && !graph.definitions.contains(name) && seen.insert(name).second) free.push_back(name);
  };
  for (Node& node : nodes(graph)) {
    for (const std::string_view input : node.inputs) use(input);
    if (!node.has_bodies()) continue;
    std::unordered_set<std::string_view> captured;
    for (const Attribute& attribute : node.attributes) {
      for (const GraphId body : attribute.graphs) {
        for (const std::string_view name : free_[index(body)]) {
          if (captured.insert(name).second) node.captures.push_back(name);
        }
        free_[index(body)] = {};
      }
    }
    for (const std::string_view name : node.captures) use(name);
  }
  for (const ValueInfo& output : graph.outputs) use(output.name);
  for (const std::string_view output : graph.function_outputs) use(output);
}

Result<void> Names::check_defined() {
  for (const ValueInfo& output : state_.graphs.front().outputs) {
    if (output.name.empty()) return unreadable(describe(state_, GraphId{0}) + " has an output without a name");
  }
  for (const Graph& graph : state_.graphs) {
    if (graph.kind != GraphKind::body && !free_[index(graph.id)].empty()) return undefined(free_[index(graph.id)].front(), graph);
  }
  return {};
}

// Returns true if the lookup of `name` from `graph` outwards ends in `root` without finding a definition.
bool Names::reaches(const Graph& graph, std::string_view name, const Graph& root) const {
  const Graph* scope = &graph;
  while (true) {
    if (scope->definitions.contains(name)) return false;
    if (!scope->owner) return scope->id == root.id;
    scope = &state_.graphs[index(state_.nodes[index(*scope->owner)].graph)];
  }
}

Unexpected Names::undefined(std::string_view name, const Graph& root) const {
  for (const Node& node : state_.nodes) {
    const bool uses = std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end();
    const Graph& graph = state_.graphs[index(node.graph)];
    if (uses && reaches(graph, name, root)) {
      return unreadable(describe(state_, node.id) + " uses value " + in_quotes(name) + ", which nothing defines");
    }
  }
  const Graph* place = &root;
  for (const Graph& graph : state_.graphs) {
    const auto is_named = [&](const ValueInfo& output) { return output.name == name; };
    if (std::any_of(graph.outputs.begin(), graph.outputs.end(), is_named) && reaches(graph, name, root)) {
      place = &graph;
      break;
    }
  }
  return unreadable(describe(state_, place->id) + " has the output " + in_quotes(name) + ", which nothing defines");
}

// Visits the nodes of the same graph that must run before `node`, as positions in the graph. A node may be
// visited several times.
template <typename Visit>
void Names::for_each_producer(const Graph& graph, const Node& node, Visit visit) const {
  const auto lookup = [&](std::string_view name) {
    const auto at = graph.definitions.find(name);
    if (at != graph.definitions.end() && at->second.node) visit(static_cast<std::uint32_t>(index(*at->second.node)) - graph.first_node);
  };
  for (const std::string_view name : node.inputs) {
    if (!name.empty()) lookup(name);
  }
  for (const std::string_view name : node.captures) lookup(name);
}

Result<void> Names::order(Graph& graph) {
  graph.sorted = true;
  for (std::uint32_t i = 0; i < graph.node_count && graph.sorted; ++i) {
    for_each_producer(graph, state_.nodes[graph.first_node + i], [&](std::uint32_t producer) { graph.sorted &= producer < i; });
  }
  if (!graph.sorted) return sort(graph);
  graph.order.reserve(graph.node_count);
  for (std::uint32_t i = 0; i < graph.node_count; ++i) graph.order.push_back(NodeId{graph.first_node + i});
  return {};
}

// Kahn's algorithm. Among the nodes that are ready, the first in the file is next.
Result<void> Names::sort(Graph& graph) {
  std::vector<std::vector<std::uint32_t>> producers(graph.node_count);
  std::vector<std::vector<std::uint32_t>> users(graph.node_count);
  std::vector<std::size_t> waiting(graph.node_count);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < graph.node_count; ++i) {
    for_each_producer(graph, state_.nodes[graph.first_node + i], [&](std::uint32_t producer) {
      producers[i].push_back(producer);
      users[producer].push_back(i);
    });
    waiting[i] = producers[i].size();
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<bool> done(graph.node_count);
  graph.order.clear();
  while (!ready.empty()) {
    const std::uint32_t next = ready.top();
    ready.pop();
    done[next] = true;
    graph.order.push_back(NodeId{graph.first_node + next});
    for (const std::uint32_t user : users[next]) {
      if (--waiting[user] == 0) ready.push(user);
    }
  }
  if (graph.order.size() != graph.node_count) return cycle(graph, producers, done);
  return {};
}

// Every node that is not done has a producer that is not done, so a walk along such producers ends in the
// cycle.
Unexpected Names::cycle(const Graph& graph, const std::vector<std::vector<std::uint32_t>>& producers, const std::vector<bool>& done) const {
  std::vector<std::uint32_t> walk;
  std::vector<bool> visited(graph.node_count);
  auto at = static_cast<std::uint32_t>(std::find(done.begin(), done.end(), false) - done.begin());
  while (!visited[at]) {
    visited[at] = true;
    walk.push_back(at);
    at = *std::find_if(producers[at].begin(), producers[at].end(), [&](std::uint32_t producer) { return !done[producer]; });
  }
  const std::vector<std::uint32_t> nodes(std::find(walk.begin(), walk.end(), at), walk.end());
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < nodes.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", which needs ") + describe(state_, NodeId{graph.first_node + nodes[i]});
  }
  text += nodes.size() > kShown ? ", and so on over " + std::to_string(nodes.size()) + " nodes"
          : nodes.size() == 1   ? " needs itself"
                                : ", which needs the first";
  if (nodes.size() > 1) text = text.replace(text.find(", which needs "), std::string(", which needs ").size(), " needs ");
  return unreadable(describe(state_, graph.id) + " has a cycle: " + text);
}

}  // namespace

Result<void> resolve_names(Document::State& state) { return Names(state).run(); }

}  // namespace xflow::onnx_io
