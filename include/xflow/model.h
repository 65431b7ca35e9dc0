// What a model file holds.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace xflow {

struct ModelInfo {
  struct OperatorSet {
    std::string domain;  // "ai.onnx" is the default one
    std::int64_t version = 0;
  };
  struct Port {
    std::string name;
    std::string type;  // "float32[N,3,224,224]"
  };
  std::int64_t ir_version = 0;
  std::vector<OperatorSet> operator_sets;
  std::string producer;    // name and version; empty if the model names none
  std::string graph;       // its name
  std::size_t nodes = 0;   // of the main graph
  std::size_t graphs = 0;  // with the bodies of nodes and local functions
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::size_t initializers = 0;
  std::uint64_t constant_bytes = 0;         // of these
  std::vector<std::string> external_files;  // as the model names them
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::pair<std::string, std::size_t>> operators;  // how many nodes of each, the most frequent first
  std::vector<std::pair<std::string, std::size_t>> opaque;     // nodes that are not crossed: "no operator for com.microsoft.Foo"

  XFLOW_API std::string to_text() const;  // for people
};

// Reads a model, "-" from standard input, and says what it holds. `allow_external`: as OptimizeOptions::allow_external. Errors: unreadable
// (no ONNX model), io.
XFLOW_API Result<ModelInfo> inspect_model(const std::string& path, const std::vector<std::string>& allow_external = {});

}  // namespace xflow
