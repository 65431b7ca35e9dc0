// A placement of whole nodes as a multi-device configuration of ONNX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "src/onnx/document/device_annotations.h"
#include "src/onnx/document/document.h"

namespace xflow::parallel {

using DeviceOfNode = std::map<onnx_io::NodeId, std::uint32_t>;

// The annotations of nodes of the main graph that run on one device each. `configuration` has a number of
// devices above those of the nodes. Every input and output of such a node has a spec with its device alone.
// Nodes have pipeline stages if pipeline_stages finds some.
onnx_io::DeviceAnnotations placement_annotations(const onnx_io::Document& document, onnx_io::DeviceConfiguration configuration,
                                                 const DeviceOfNode& devices);

// By device: its position in an order in which no device needs a result of a later one. Free choices are
// made by the first node that runs on a device. Returns nothing if devices wait for each other.
std::optional<std::map<std::uint32_t, std::int64_t>> pipeline_stages(const onnx_io::Document& document, const DeviceOfNode& devices);

}  // namespace xflow::parallel
