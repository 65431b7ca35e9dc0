// The plan of a model's own multi-device configuration (ONNX IR version 11).
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/onnx/document/device_annotations.h"
#include "src/onnx/document/document.h"
#include "src/parallel/cluster.h"
#include "src/parallel/plan_annotations.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

class ConfiguredPlan {
 public:
  // The configuration with the name of the cluster, or else the only one. Its devices are those of the
  // cluster with the same names, or else with the same numbers. Nothing: the model has no configuration.
  //
  // Errors: unreadable for damaged configurations; unsupported for several of which none has the name, for
  // devices that the cluster lacks, and for a fault that check_annotations finds, with the first one.
  static Result<std::optional<ConfiguredPlan>> read(const onnx_io::Document& document, const DeviceCluster& cluster);

  const std::string& name() const { return name_; }

  // The devices of nodes that run whole on one device each. Nothing if the tensors of one are divided, or on
  // several devices. Errors: unsupported for a node without a device.
  Result<std::optional<std::vector<std::uint32_t>>> whole_devices(const onnx_io::Document& document,
                                                                  std::span<const onnx_io::NodeId> nodes) const;

  // The plan of a model whose operators are these nodes of the document. Errors: unsupported for a node
  // whose divisions are no plan that xflow can simulate, with the node.
  Result<SplitPlan> split_plan(const onnx_io::Document& document, std::span<const onnx_io::NodeId> nodes, const NamedValues& values,
                               SplitModel& model) const;

 private:
  using Specs = std::vector<onnx_io::ShardingSpec>;

  // Those of a node, with devices of the cluster; nullptr if it has none.
  const Specs* specs_of(onnx_io::NodeId node) const;
  Result<OperatorPlan> plan_of(const onnx_io::Document& document, onnx_io::NodeId node, const NamedValues& values, SplitModel& model,
                               std::uint32_t number) const;

  std::string name_;
  std::uint32_t devices_ = 0;  // of the cluster
  std::map<onnx_io::NodeId, Specs> specs_;
};

}  // namespace xflow::parallel
