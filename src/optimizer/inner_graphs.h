// Lists the graphs of a document and what is known of the values around each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/body_document.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"

namespace xflow::api {

// Returns the main graph, then the bodies of If, Loop and Scan at any depth, each after the graph around it,
// then called local functions with the bodies in them, each function after all graphs that call it.
// Some functions are left out with their bodies, because their meaning is not known: a recursive function, a
// function whose name has two definitions, and a function that is called without one of its inputs.
std::vector<onnx_io::GraphId> inner_graphs(const onnx_io::Document& document);

// The place of a graph for messages: "then_branch of If 'choice'", "function custom.scale".
std::string describe_graph(const onnx_io::Document& document, onnx_io::GraphId graph);

// Known types and constants of the values that the graphs of a document read. A body captures values of the
// graph around it. The inputs of a function have the types on which all of its calls agree. Call add() in
// the order of inner_graphs().
class InnerValues {
 public:
  explicit InnerValues(const onnx_io::Document& document) : document_(document) {}

  // Known values that a body captures, or known inputs of a function.
  onnx_io::KnownValues around(onnx_io::GraphId graph) const;
  // Records what lifting `graph` found out about its values.
  void add(onnx_io::GraphId graph, const onnx_io::LiftedModel& model, const ir::Arena& arena);

 private:
  bool all_calls_are_known(onnx_io::GraphId function) const;

  const onnx_io::Document& document_;
  std::map<onnx_io::GraphId, onnx_io::KnownValues> known_;
  std::map<onnx_io::GraphId, onnx_io::KnownValues> inputs_;  // of functions
};

}  // namespace xflow::api
