// Runs a whole document node by node, with the bodies of If, Loop and Scan, with local functions and with
// LSTM, GRU and RNN.
//
// Each node is lifted for the tensors that it reads, whose sizes and small integers are numbers, and
// computed by the interpreter. Results may therefore have sizes that depend on data.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document.h"

namespace xflow::api {

// Bounds and the arithmetic of a run. The bounds depend on no clock, so that equal runs end equally.
struct DocumentRunOptions {
  eval::Number number = eval::Number::float64;           // float64 or float32
  std::uint64_t most_iterations = 10'000;                // of one Loop or Scan
  std::uint64_t most_nodes = 200'000;                    // computed nodes, one for each iteration
  std::uint64_t most_elements = std::uint64_t{1} << 30;  // of all results together
  std::function<bool()> stop = {};                       // as eval::Options::stop; null: never
};

// Tensors by the names of inputs. An input without a tensor keeps its default.
using NamedTensors = std::unordered_map<std::string, eval::Tensor>;

// Whether a node computes nothing in a graph of the IR, and something in a run of its document: a node with
// bodies, a call, or a recurrent one (run_recurrent).
bool only_documents_run(const onnx_io::Document& document, const onnx_io::Node& node);

// Returns the outputs of the main graph.
//
// If, Loop (opset 1 and later) and Scan (opset 9 and later) compute what ONNX defines. A run ends with an
// error where ONNX defines nothing or leaves a choice: at what undefined_result finds, a Loop without
// condition whose body has a false one, stacked results of no iteration or of different shapes, and other
// results without elements.
//
// Errors name the node. unsupported for a node that xflow has no operator for; limit for a bound and by
// `stop`; ill_typed, internal for operands that a node refuses. None of them says that the model is wrong.
Result<std::vector<eval::Tensor>> run_document(const onnx_io::Document& document, const NamedTensors& inputs,
                                               const DocumentRunOptions& options = {});

}  // namespace xflow::api
