// Which nodes of a graph belong to which node of the document.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"

namespace xflow::parallel {

// A task is a node of the main graph of the document with the nodes of the graph that compute its results.
// What a task reads is made by the task itself or by an earlier one.
struct ModelTasks {
  std::vector<ir::NodeId> order;                          // of the graph, operands before users
  std::unordered_map<ir::NodeId, std::uint32_t> task_of;  // the nodes that run
  std::vector<onnx_io::NodeId> nodes;                     // of the document, by task
  std::vector<onnx_io::NodeId> without_kernel;            // nodes of the main graph that are no task: their results are
                                                          // constants, values of other nodes, or not needed
};

// Whether a node of the graph computes something when the model runs.
bool runs(const ir::Node& node);

ModelTasks tasks_of(const onnx_io::Document& document, const onnx_io::LiftedModel& model, const ir::Arena& arena);

}  // namespace xflow::parallel
