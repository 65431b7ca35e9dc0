// Multi-device configurations of a model: where nodes run and how their tensors are divided over devices.
//
// The fields are those of onnx.proto for IR version 11: ModelProto.configuration and
// NodeProto.device_configurations. Nothing is checked here but the wire format; absent fields have no value.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/onnx/document/document.h"

namespace xflow::onnx_io {

constexpr std::int64_t kFirstWithDevices = 11;  // IR version

// A DeviceConfigurationProto: a set of devices, which have the numbers 0 .. num_devices - 1.
struct DeviceConfiguration {
  std::string name;
  std::optional<std::int64_t> num_devices;
  std::vector<std::string> devices = {};  // names; none or num_devices
  friend bool operator==(const DeviceConfiguration&, const DeviceConfiguration&) = default;
};

// A SimpleShardedDimProto: a dimension is divided into shards.
struct SimpleSharding {
  std::optional<std::int64_t> dim_value;
  std::optional<std::string> dim_param = {};  // at most one of the two is set
  std::optional<std::int64_t> num_shards = {};
  friend bool operator==(const SimpleSharding&, const SimpleSharding&) = default;
};

// A ShardedDimProto: an axis of a tensor that is divided into shards.
struct ShardedAxis {
  std::optional<std::int64_t> axis;  // in [-rank, rank)
  // Several only if the axis is the fusion of several dimensions; the first is the outermost.
  std::vector<SimpleSharding> dims;
  friend bool operator==(const ShardedAxis&, const ShardedAxis&) = default;
};

// An entry of index_to_device_group_map: devices that hold copies of the same shard.
struct DeviceGroup {
  std::int64_t key = 0;
  std::vector<std::int64_t> devices;
  friend bool operator==(const DeviceGroup&, const DeviceGroup&) = default;
};

// A ShardingSpecProto. Shards are numbered row-major over `axes` in the order of the file; element i of
// `devices` holds shard i.
struct ShardingSpec {
  std::string tensor;                 // name of an input or output of the node
  std::vector<std::int64_t> devices;  // numbers of devices, or keys of `groups`
  std::vector<DeviceGroup> groups = {};
  std::vector<ShardedAxis> axes = {};  // none: the tensor is whole
  friend bool operator==(const ShardingSpec&, const ShardingSpec&) = default;
};

// A NodeDeviceConfigurationProto: what a node does in one configuration.
struct NodeAnnotation {
  std::string configuration;  // name of a DeviceConfiguration
  std::vector<ShardingSpec> specs = {};
  std::optional<std::int64_t> pipeline_stage = {};
  friend bool operator==(const NodeAnnotation&, const NodeAnnotation&) = default;
};

struct AnnotatedNode {
  NodeId node{};
  std::vector<NodeAnnotation> annotations;
  friend bool operator==(const AnnotatedNode&, const AnnotatedNode&) = default;
};

struct DeviceAnnotations {
  std::vector<DeviceConfiguration> configurations;
  std::vector<AnnotatedNode> nodes;  // of all graphs, by id; only nodes with annotations

  bool empty() const { return configurations.empty() && nodes.empty(); }
  friend bool operator==(const DeviceAnnotations&, const DeviceAnnotations&) = default;
};

// Reads the annotations of a document: of its main graph, of all bodies and of local functions. Errors:
// unreadable for bytes that are no message, with their place.
Result<DeviceAnnotations> read_device_annotations(const Document& document);

// Returns the bytes of the document with these annotations added. Configurations of the document with the
// name of a new one are replaced, and so are the annotations that nodes have for it. The IR version becomes
// 11 if it is lower. Everything else is copied byte for byte. The annotations are not checked.
//
// Errors: unsupported for an IR version below 4, where an initializer that is an input is a constant and
// would become the default of an input.
Result<std::string> with_device_annotations(const Document& document, const DeviceAnnotations& annotations);

}  // namespace xflow::onnx_io
