// Checks the multi-device configurations of an ONNX model (docs/multi-device.md).
//
//   auto check = xflow::check_plan("plan.onnx");
//   if (!check) return report_error(check.error().text());
//   print(check->to_text());
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xflow {

// The fields of onnx.proto (IR version 11) that can have a fault.
enum class PlanField : std::uint8_t {
  ir_version,        // ModelProto
  name,              // DeviceConfigurationProto
  num_devices,       // DeviceConfigurationProto
  device_names,      // DeviceConfigurationProto.device
  configuration_id,  // NodeDeviceConfigurationProto
  sharding_spec,     // NodeDeviceConfigurationProto
  pipeline_stage,    // NodeDeviceConfigurationProto
  tensor_name,       // ShardingSpecProto
  device,            // ShardingSpecProto
  device_groups,     // ShardingSpecProto.index_to_device_group_map
  sharded_dim,       // ShardingSpecProto
  axis,              // ShardedDimProto
  simple_sharding,   // ShardedDimProto
  dimension,         // SimpleShardedDimProto: dim_value or dim_param
  num_shards,        // SimpleShardedDimProto
};
// Returns the name of a field as in onnx.proto, with its message: "ShardedDimProto.axis".
constexpr const char* to_string(PlanField field) {
  switch (field) {
    case PlanField::ir_version:
      return "ModelProto.ir_version";
    case PlanField::name:
      return "DeviceConfigurationProto.name";
    case PlanField::num_devices:
      return "DeviceConfigurationProto.num_devices";
    case PlanField::device_names:
      return "DeviceConfigurationProto.device";
    case PlanField::configuration_id:
      return "NodeDeviceConfigurationProto.configuration_id";
    case PlanField::sharding_spec:
      return "NodeDeviceConfigurationProto.sharding_spec";
    case PlanField::pipeline_stage:
      return "NodeDeviceConfigurationProto.pipeline_stage";
    case PlanField::tensor_name:
      return "ShardingSpecProto.tensor_name";
    case PlanField::device:
      return "ShardingSpecProto.device";
    case PlanField::device_groups:
      return "ShardingSpecProto.index_to_device_group_map";
    case PlanField::sharded_dim:
      return "ShardingSpecProto.sharded_dim";
    case PlanField::axis:
      return "ShardedDimProto.axis";
    case PlanField::simple_sharding:
      return "ShardedDimProto.simple_sharding";
    case PlanField::dimension:
      return "SimpleShardedDimProto.dim";
    case PlanField::num_shards:
      return "SimpleShardedDimProto.num_shards";
  }
  return "";
}

// A fault of a configuration, with its place. Names are those of the model.
struct PlanFault {
  PlanField field = PlanField::ir_version;  // the field that has the fault
  std::string configuration;                // its name; empty for a fault of the model
  std::string node;                         // "node 'conv1' (Conv)"; empty for a fault of a whole configuration
  std::string tensor;                       // of the sharding spec; empty for a fault of none
  std::string text;                         // what is wrong, in one line

  // The place and what is wrong, in one line.
  XFLOW_API std::string to_text() const;

  friend bool operator==(const PlanFault&, const PlanFault&) = default;  // compares all members
};

// A configuration of a model, and what nodes have for it.
struct PlanConfiguration {
  std::string name;                       // of the configuration
  std::int64_t devices = 0;               // number of devices; 0 if the model does not say it
  std::vector<std::string> device_names;  // as in the model
  std::size_t nodes = 0;                  // nodes of all graphs that have an entry for it
  std::size_t specs = 0;                  // sharding specs of these nodes
  std::size_t stages = 0;                 // different pipeline stages of these nodes
};

// The result of check_plan.
struct PlanCheck {
  std::vector<PlanConfiguration> configurations;  // in the order of the model
  // Nodes with divided inputs that were not compared with each other, or not along all axes, since
  // check_plan has no rule for the operator or the axis.
  std::vector<std::string> not_compared;
  std::vector<PlanFault> faults;  // of the model, then of its nodes in the order of the file

  bool consistent() const { return faults.empty(); }  // whether there is no fault

  // Several lines: the configurations, then the faults or the verdict.
  XFLOW_API std::string to_text() const;
  // JSON (docs/check-plan-result.schema.json).
  XFLOW_API std::string to_json() const;
};

// The options of check_plan.
struct CheckPlanOptions {
  std::vector<std::string> allow_external;  // as InputOptions::allow_external
};

// Checks the multi-device configurations of the model in the file `model`; "-" is standard input. A model
// without any is consistent. docs/multi-device.md lists what is a fault and what is not judged. Source: ONNX
// IR version 11 (onnx.proto and the proposals on multi-device models of onnx 1.22).
//
// Errors: unreadable for a file that is no model, or whose configurations are damaged.
XFLOW_API Result<PlanCheck> check_plan(const std::string& model, const CheckPlanOptions& options = {});

}  // namespace xflow
