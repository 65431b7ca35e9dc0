#include "src/onnx/lift/graph_shapes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "src/ir/graph.h"
#include "src/onnx/document/body_document.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {
namespace {

bool is_name(const Dimension& dim) { return dim.kind == Dimension::Kind::parameter && !is_placeholder(dim.parameter); }

// The names of dimensions that a graph declares, and their symbols.
class DeclaredNames {
 public:
  DeclaredNames(const Graph& graph, ir::Symbols& symbols) {
    for (const auto* list : {&graph.inputs, &graph.value_infos, &graph.outputs}) {
      for (const ValueInfo& info : *list) {
        for (const Dimension& dim : info.type.dims) {
          if (is_name(dim)) names_.emplace(symbols.named(ir::SymbolKind::dimension, dim.parameter), dim.parameter);
        }
        declared_.emplace(info.name, &info.type);
      }
    }
  }

  KnownSize size(const ir::Poly& inferred, std::string_view value, std::size_t axis) const {
    KnownSize size{inferred.constant(), {}};
    if (const auto symbol = inferred.as_symbol(); symbol && names_.contains(*symbol)) size.names.emplace_back(names_.at(*symbol));
    const auto declared = declared_.find(value);
    if (declared == declared_.end() || axis >= declared->second->dims.size()) return size;
    const Dimension& dim = declared->second->dims[axis];
    if (is_name(dim) && std::ranges::find(size.names, dim.parameter) == size.names.end()) size.names.emplace_back(dim.parameter);
    return size;
  }

 private:
  std::unordered_map<ir::SymbolId, std::string_view> names_;
  std::unordered_map<std::string_view, const DeclaredType*> declared_;
};

// The graphs and all that enclose them.
std::set<GraphId> with_graphs_around(const Document& document, const std::set<GraphId>& graphs) {
  std::set<GraphId> all = graphs;
  for (GraphId id : graphs) {
    while (document.graph(id).owner && all.insert(id = document.node(*document.graph(id).owner).graph).second) {
    }
  }
  return all;
}

}  // namespace

GraphShapes::GraphShapes(const Document& document, const std::set<GraphId>& graphs) : document_(document) {
  std::map<GraphId, KnownValues> known;
  std::map<GraphId, std::size_t> depth;
  // A body has a larger id than the graph around it.
  for (const GraphId id : with_graphs_around(document, graphs)) {
    const Graph& graph = document.graph(id);
    depth[id] = graph.owner ? depth[document.node(*graph.owner).graph] + 1 : 0;
    if (depth[id] > kDeepest) continue;
    const KnownValues& outer = graph.owner ? known[document.node(*graph.owner).graph] : known[id];
    auto lifted = std::make_unique<LiftedGraph>();
    if (graph.kind != GraphKind::main) {
      auto body = body_document(document, id, outer);
      if (!body) continue;
      lifted->alone = *std::move(body);
    }
    const Document& lifted_document = lifted->alone ? *lifted->alone : document;
    ir::Arena& arena = lifted->arena;
    auto model = lift(lifted_document, arena, {.infer = true});
    if (!model) continue;
    const DeclaredNames names(lifted_document.main(), arena.symbols());
    Sizes& sizes = sizes_[id];
    for (const auto& [name, value] : model->values) {
      const ir::TensorType& type = arena.type(value);
      if (!type.ranked || type.data_type == ir::DataType::undefined) continue;
      std::vector<KnownSize>& dims = sizes[std::string(name)];
      for (std::size_t axis = 0; axis < type.rank(); ++axis) dims.push_back(names.size(type.shape[axis], name, axis));
    }
    known[id] = known_values(*model, arena);
    lifted->model = *std::move(model);
    lifted_[id] = std::move(lifted);
  }
}

const std::vector<KnownSize>* GraphShapes::find(GraphId graph, std::string_view name) const {
  const auto scope = document_.scope_of(graph, name);
  if (!scope) return nullptr;
  const auto sizes = sizes_.find(*scope);
  if (sizes == sizes_.end()) return nullptr;
  const auto found = sizes->second.find(name);
  return found == sizes->second.end() ? nullptr : &found->second;
}

LiftedGraph* GraphShapes::lifted(GraphId graph) {
  const auto found = lifted_.find(graph);
  return found == lifted_.end() ? nullptr : found->second.get();
}

}  // namespace xflow::onnx_io
