// The sizes of the values of the main graph, of bodies and of local functions, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"

namespace xflow::onnx_io {

// What is known about the size of a dimension.
struct KnownSize {
  std::optional<std::int64_t> value;
  std::vector<std::string> names;  // that the model has for it: in a declaration, or by inference
};

// A graph of a document in an arena of its own.
struct LiftedGraph {
  std::optional<Document> alone;  // of a body or function: the document of which it is the main graph
  ir::Arena arena;
  LiftedModel model;
};

// Shapes of graphs: declared ones, those that the operators of xflow give, and those of ONNX's shape
// inference.
class GraphShapes {
 public:
  // Lifts the graphs `graphs` and those around them. Sizes in bodies that are nested deeper than kDeepest
  // are unknown.
  GraphShapes(const Document& document, const std::set<GraphId>& graphs);

  // Returns the sizes of a tensor as `graph` sees it; nullptr if its rank is unknown.
  const std::vector<KnownSize>* find(GraphId graph, std::string_view name) const;

  // A graph of the constructor, or one around it; nullptr if it was not lifted.
  LiftedGraph* lifted(GraphId graph);

  static constexpr std::size_t kDeepest = 16;  // a lifted body is a copy with all bodies in it

 private:
  using Sizes = std::map<std::string, std::vector<KnownSize>, std::less<>>;

  const Document& document_;
  std::map<GraphId, Sizes> sizes_;
  std::map<GraphId, std::unique_ptr<LiftedGraph>> lifted_;
};

}  // namespace xflow::onnx_io
