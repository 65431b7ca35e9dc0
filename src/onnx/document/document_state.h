// The state of Document. Private to document_*.cpp.
#pragma once

#include <memory>
#include <vector>

#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

struct Document::State {
  std::shared_ptr<const FileBytes> file;
  DocumentOrigin origin;
  Model model;
  std::vector<Graph> graphs;
  std::vector<Node> nodes;
  std::vector<ExternalFile> files;
};

// Fills in the model, its graphs and nodes, and opens the files of external data. Errors: as Document::open.
Result<void> index_model(Document::State& state);

// Fills in definitions, captures and orders. Errors: as Document::open.
Result<void> resolve_names(Document::State& state);

std::string describe(const Document::State& state, NodeId node);
// Returns "graph 'main'", "graph then_branch of node 'if1' (If)" or "function custom.Gelu".
std::string describe(const Document::State& state, GraphId graph);

}  // namespace xflow::onnx_io
