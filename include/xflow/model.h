// Describes a model file.
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace xflow {

// What a model contains.
struct ModelInfo {
  // A domain of operators, and the version that the model uses.
  struct OperatorSet {
    std::string domain;        // "ai.onnx" is the default domain
    std::int64_t version = 0;  // of the operator set
  };
  // An input or an output.
  struct Port {
    std::string name;  // as in the model
    std::string type;  // "float32[N,3,224,224]"
  };
  std::int64_t ir_version = 0;                                // of the file format
  std::vector<OperatorSet> operator_sets;                     // in the order of the file
  std::string producer;                                       // name and version; empty if the model names none
  std::string graph;                                          // name of the main graph
  std::size_t nodes = 0;                                      // nodes of the main graph
  std::size_t graphs = 0;                                     // number of graphs: the main graph, bodies of nodes, local functions
  std::vector<Port> inputs;                                   // in the order of the file
  std::vector<Port> outputs;                                  // in the order of the file
  std::size_t initializers = 0;                               // number of initializers of the main graph
  std::uint64_t constant_bytes = 0;                           // bytes of the initializers
  std::vector<std::string> external_files;                    // as the model names them
  std::vector<std::pair<std::string, std::string>> metadata;  // keys and values, in the order of the file
  // Operators with their numbers of nodes, the most frequent first.
  std::vector<std::pair<std::string, std::size_t>> operators;
  // Reasons for opaque nodes ("no operator for com.microsoft.Foo") with their numbers of nodes. Rewrites do
  // not cross them.
  std::vector<std::pair<std::string, std::size_t>> opaque;

  // A description for people.
  XFLOW_API std::string to_text() const;
};

// Reads the model in the file `path` ("-": standard input) and describes it. `allow_external`: as
// InputOptions::allow_external. Errors: unreadable (not an ONNX model), io.
XFLOW_API Result<ModelInfo> inspect_model(const std::string& path, const std::vector<std::string>& allow_external = {});

}  // namespace xflow
