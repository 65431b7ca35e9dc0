// Splits a model by its own multi-device configuration (ONNX IR version 11).
#pragma once

#include <xflow/error.h>
#include <xflow/split.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/parallel/cluster.h"

namespace xflow::api {

// The cluster that a model's configuration is for: that of the name, or the devices of the only
// configuration without a name. Kernels of it take no time that matters here. Errors: those of
// parallel::open_cluster; unsupported for a model without a configuration or with several.
Result<parallel::DeviceCluster> configured_cluster(const onnx_io::Document& document, const std::string& name);

struct ConfiguredDevices {
  std::string origin;  // of the plan, for the manifest
  // Of each node of the main graph; none for nodes that are no tasks. Nothing if tensors are divided.
  std::optional<std::vector<std::optional<std::uint32_t>>> devices;
};

// Errors: unsupported for a model without a configuration; those of parallel::ConfiguredPlan.
Result<ConfiguredDevices> configured_devices(const onnx_io::Document& document, const parallel::DeviceCluster& cluster);

// Writes the parts of a configuration that divides tensors, as write_plan_folder. Errors: its; those of
// ClusterModel::open and ConfiguredPlan.
Result<PartManifest> split_configured(const std::string& path, const std::string& folder, const SplitOptions& options,
                                      const parallel::DeviceCluster& cluster);

}  // namespace xflow::api
