// A plan that splits operators as a multi-device configuration of ONNX (IR version 11).
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "src/onnx/document/device_annotations.h"
#include "src/onnx/document/document.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

using NamedValues = std::unordered_map<std::string_view, ir::ValueId>;

// The annotations of nodes that run by a plan. `nodes` are those of the document, by operator, and `values`
// those of the names of its main graph. Each tensor of a node has a spec: its devices, and the axes of which
// they have shards. Devices with the same shard are a group. An operand of which a part needs a halo has the
// shard without it: ONNX has no halos.
//
// Errors: unsupported for parts without has_equal_parts, with the node.
Result<onnx_io::DeviceAnnotations> plan_annotations(const onnx_io::Document& document, std::span<const onnx_io::NodeId> nodes,
                                                    const NamedValues& values, const SplitModel& model, const SplitPlan& plan,
                                                    onnx_io::DeviceConfiguration configuration);

}  // namespace xflow::parallel
