// The workload of a model: a task for each of its nodes.
//
// A plan gives each node of the document a device, so tasks are these nodes and not the kernels of a kernel
// cover: what a cover fuses depends on the device, and fused nodes could not be placed apart. A node takes
// the sum of its own kernels. A runtime that fuses nodes of one device is faster.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/cost/kernel_costs.h"
#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/parallel/workload.h"

namespace xflow::parallel {

// A node whose time, or a part of it, is an estimate: an elementwise kernel that moves as many bytes.
struct EstimatedTask {
  std::uint32_t task = 0;
  std::string reason;
  friend bool operator==(const EstimatedTask&, const EstimatedTask&) = default;
};

struct ModelWorkload {
  Workload workload;
  std::vector<onnx_io::NodeId> nodes;           // of the document, by task
  std::vector<std::string> tensors;             // names, by tensor of the workload
  std::vector<EstimatedTask> estimated;         // by task; each reason of a task once
  std::vector<onnx_io::NodeId> without_kernel;  // nodes of the main graph that are no task: their results are
                                                // constants, values of other nodes, or not needed
};

// The workload of the main graph at these sizes. `costs` has the kernel costs of each device; several
// devices may share one. Constants are resident where they are read, and once for each node that reads them.
// A value that another task reads is a tensor, and so is an output of the model.
//
// Errors: those of check_workload; unsupported if a device has no time for any kernel of as many bytes.
Result<ModelWorkload> workload_of(const onnx_io::Document& document, const onnx_io::LiftedModel& model, const ir::Arena& arena,
                                  const ir::Symbols::Valuation& sizes, std::span<cost::KernelCosts* const> costs);

}  // namespace xflow::parallel
