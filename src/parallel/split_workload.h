// The workload of a plan that splits operators: a node for each part, and the tensors between them.
//
// A part reads from its own device what is there. The rest comes from the devices that hold it, from the
// same host where one does. What a device needs of one part for several readers is sent once. Parts of a
// reduction are added by an all-reduce, over a ring or two trees (all_reduce.h).
//
// A range of a tensor that is not contiguous in memory is copied where it is read or before it is sent, and
// ranges from several parts are joined by a copy. The first reader of a device pays for it. CPUs add the
// tensors of a reduction by kernels; other devices while they receive.
//
// A training step has, after the forward pass, a node for the gradients of each part, in reverse order. It
// sends the gradients of what the part read back along the same ways. Copies of a part that parts of an
// operator read, and parts of a reduction, add their gradients by an all-reduce. Parts with the same range
// of weights add the gradients of these by an all-reduce, those of 25 MB at once, and update them. Parts
// that are not linear keep what they have read until their gradients, which take the copies of the forward
// pass as well.
//
// Micro-batches of a part are nodes of their own on its device, in the order of batch_order.h. Their
// gradients of weights are added there before they are sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/workload.h"

namespace xflow::parallel {

enum class StepKind : std::uint8_t { inference, training };

enum class SplitNodeKind : std::uint8_t { forward, reduce, backward, reduce_gradient, update };

struct SplitNode {
  SplitNodeKind kind = SplitNodeKind::forward;
  std::uint32_t op = 0;
  std::uint32_t part = 0;
};

struct SplitStep {
  Workload workload;
  std::vector<std::uint32_t> devices;  // by node
  std::vector<SplitNode> nodes;        // by node
  std::vector<std::uint32_t> values;   // by tensor: a value of the model; for sums and gradients of weights a result of the operator
};

// Every operator has a possible plan (is_possible).
SplitStep step_of(SplitModel& model, const SplitPlan& plan, const DeviceCluster& cluster, StepKind kind);

}  // namespace xflow::parallel
