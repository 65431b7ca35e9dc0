// A plan: which node of a model runs on which device.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/workload.h"

namespace xflow::parallel {

// Reads a plan (docs/plan.schema.json) for a model whose main graph has nodes of these names, in the order
// of the file; names may be empty. The result has a device of the cluster for each of them, or none if the
// plan names neither the node nor a default. Errors: unreadable, with the first fault, its line and its
// entry.
Result<std::vector<std::optional<std::uint32_t>>> read_plan(std::string_view text, const std::string& where,
                                                            std::span<const std::string_view> names, const DeviceCluster& cluster);

// Tasks in their order over the devices by turns.
std::vector<std::uint32_t> round_robin_plan(const Workload& workload, std::uint32_t devices);
// A chain of parts, one for each device: consecutive tasks of about equal shares of the time, which is that
// of each task on the device where it is shortest.
std::vector<std::uint32_t> chain_plan(const Workload& workload, std::uint32_t devices);

}  // namespace xflow::parallel
