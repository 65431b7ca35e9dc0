// The graphs in a document, each with what is known around it.
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

// The main graph; the bodies of If, Loop and Scan, at any depth, each after the graph around it; local functions that are called and the
// bodies in them, each function after all graphs that call it. A function that calls itself, that two definitions have the name of, or
// that is called without one of its inputs is left out with the bodies in it: what it computes where an input is missing is not known.
std::vector<onnx_io::GraphId> inner_graphs(const onnx_io::Document& document);

// "then_branch of If 'choice'", "function custom.scale".
std::string describe_graph(const onnx_io::Document& document, onnx_io::GraphId graph);

// What is known of the values that the graphs of a document read: a body captures values of the graph around it, and the inputs of a
// function have the types in which all of its calls agree. Graphs are told in the order of inner_graphs.
class InnerValues {
 public:
  explicit InnerValues(const onnx_io::Document& document) : document_(document) {}

  // Of the values that a graph captures, or of the inputs of a function.
  onnx_io::KnownValues around(onnx_io::GraphId graph) const;
  // Tells what became known of the values of `graph` when it was lifted.
  void add(onnx_io::GraphId graph, const onnx_io::LiftedModel& model, const ir::Arena& arena);

 private:
  bool all_calls_are_known(onnx_io::GraphId function) const;

  const onnx_io::Document& document_;
  std::map<onnx_io::GraphId, onnx_io::KnownValues> known_;
  std::map<onnx_io::GraphId, onnx_io::KnownValues> inputs_;  // of functions
};

}  // namespace xflow::api
