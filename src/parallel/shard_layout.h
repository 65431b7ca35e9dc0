// One sharding spec of ONNX: its faults, and which device has which shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "src/onnx/document/device_annotations.h"
#include "src/onnx/lift/graph_shapes.h"
#include "src/parallel/plan_faults.h"

namespace xflow::parallel {

// An axis that is divided into at least two shards.
struct AxisCut {
  std::size_t axis = 0;
  std::int64_t shards = 0;                    // the product of those of `dims`
  std::vector<onnx_io::SimpleSharding> dims;  // several for an axis that is a fusion of dimensions
};

// How a tensor is divided over devices.
struct ShardLayout {
  std::vector<AxisCut> cuts;                                 // in the order of the spec
  std::map<std::int64_t, std::vector<std::int64_t>> shards;  // by device: the number of its shard along each cut
};

// Checks a sharding spec by itself. `sizes` are those of its tensor, or nullptr. `num_devices`: of the
// configuration, if it is known. Returns the layout if there is no fault and the rank is known.
std::optional<ShardLayout> check_spec(const onnx_io::ShardingSpec& spec, const std::vector<onnx_io::KnownSize>* sizes,
                                      std::optional<std::int64_t> num_devices, const FaultPlace& place, PlanFaults& faults);

}  // namespace xflow::parallel
