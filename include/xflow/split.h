// Splits a model into one ordinary ONNX model for each device and stage of a plan (docs/run-plan.md).
//
//   auto parts = xflow::split("model.onnx", "parts", {.cluster = "pair.json", .plan = "plan.json"});
//   if (!parts) return report_error(parts.error().text());
//   print(parts->to_text());
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/input_shape.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace xflow {

// The options of split.
struct SplitOptions {
  // A cluster that is built in (cluster_names()), or a file (docs/cluster.schema.json). Without a plan it
  // may be empty; then the devices are those of the model's only configuration.
  std::string cluster;
  std::string plan;  // file of a plan (docs/plan.schema.json); empty: the multi-device configuration of the model
  // Sizes that the parts declare for dynamic inputs. Types of tensors between parts follow from them.
  std::vector<InputShape> shapes;
  std::vector<std::string> allow_external;  // as InputOptions::allow_external
};

// A tensor that a part reads, or an output of the model, and where it comes from.
struct PartTensor {
  std::string name;                 // in the model and in its parts
  std::optional<std::size_t> part;  // the number of the part that computes it; nothing: an input of the model
  bool has_default = false;         // an input of the model that may be omitted, since it has a default value
};

// One part: an ordinary model that can run on one device without waiting in the middle.
struct PartDescription {
  std::size_t device = 0;            // position in PartManifest::devices
  std::string file;                  // relative to the folder of the manifest
  std::size_t nodes = 0;             // number of nodes of its main graph
  std::vector<PartTensor> inputs;    // in the order of the part's inputs; sources have lower numbers
  std::vector<std::string> outputs;  // in the order of the part's outputs
};

// What manifest.json says (docs/parts.schema.json). Parts are numbered from 0 in an order in which they can
// run one after the other.
struct PartManifest {
  std::string model;                   // the file that was split
  std::string cluster;                 // its name
  std::string plan;                    // the file of the plan
  std::vector<std::string> devices;    // names of the devices that have parts, in the order of the cluster
  std::vector<PartDescription> parts;  // by their numbers
  std::vector<std::string> inputs;     // of the model, in its order
  std::vector<PartTensor> outputs;     // of the model, in its order
  // Nodes of the model that no part has: their results are not needed, or known before a run.
  std::size_t left_out = 0;
  std::size_t copied = 0;  // nodes that compute constants and are in several parts, counted once each

  // A table of the parts.
  XFLOW_API std::string to_text() const;
  // The text of manifest.json.
  XFLOW_API std::string to_json() const;
};

// Splits the model in the file `model` and writes the parts and manifest.json to `folder`, which must be
// empty or not exist.
//
// A part is a set of nodes of one device that can run without waiting in the middle: the stage of a node is
// the largest number of changes of the device on a path to it, and a part has the nodes of one device and
// stage. Nodes are copied byte for byte. Initializers, and nodes that compute constants, are copied to each
// part that reads them; integers that are known before a run, such as shapes, become initializers. A node
// that the plan gives no device follows its first reader that has one. A configuration may divide tensors;
// then the parts have the operators that xflow parallelize writes (docs/parallelize.md).
//
// Errors: unreadable for a file that is no model, cluster or plan, with the first fault; invalid_argument
// for shapes that the model does not have, and for a plan without a cluster; unsupported for a tensor
// between parts whose type is unknown, for a model with training graphs or without nodes, and without a plan
// for a model that has no configuration, several without a cluster, or one with a fault; io.
XFLOW_API Result<PartManifest> split(const std::string& model, const std::string& folder, const SplitOptions& options);

}  // namespace xflow
