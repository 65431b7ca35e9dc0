#include "src/parallel/plan_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "src/onnx/lift/graph_shapes.h"
#include "src/parallel/input_shards.h"
#include "src/parallel/node_loops.h"
#include "src/parallel/plan_faults.h"
#include "src/parallel/shard_layout.h"
#include "src/parallel/stage_order.h"
#include "src/support/printable.h"

namespace xflow::parallel {
namespace {

using onnx_io::AnnotatedNode;
using onnx_io::DeviceAnnotations;
using onnx_io::DeviceConfiguration;
using onnx_io::Document;
using onnx_io::GraphId;
using onnx_io::in_quotes;
using onnx_io::NodeAnnotation;
using onnx_io::ShardingSpec;

std::set<GraphId> graphs_of(const Document& document, const DeviceAnnotations& annotations) {
  std::set<GraphId> graphs;
  for (const AnnotatedNode& annotated : annotations.nodes) graphs.insert(document.node(annotated.node).graph);
  return graphs;
}

class PlanChecker {
 public:
  PlanChecker(const Document& document, const DeviceAnnotations& annotations)
      : document_(document), annotations_(annotations), shapes_(document, graphs_of(document, annotations)), loops_(shapes_) {}

  PlanCheck run() {
    PlanCheck check;
    check_model();
    for (const AnnotatedNode& annotated : annotations_.nodes) check_node(annotated);
    for (const AnnotatedNode& annotated : annotations_.nodes) {
      const bool is_compared =
          std::ranges::all_of(annotated.annotations, [&](const NodeAnnotation& annotation) { return compare(annotated.node, annotation); });
      if (!is_compared) check.not_compared.push_back(describe(document_, annotated.node));
    }
    if (!stages_.empty()) {
      const StageOrder order(document_);
      for (const auto& [configuration, stages] : stages_) order.check(stages, configuration, faults_);
    }
    count(check);
    check.faults = std::move(faults_).take();
    return check;
  }

 private:
  // The division of a tensor that a node has a spec for.
  struct TensorKey {
    std::string_view configuration;
    onnx_io::NodeId node{};
    std::string_view tensor;
    friend auto operator<=>(const TensorKey&, const TensorKey&) = default;
  };

  FaultPlace place_of(onnx_io::NodeId node, const NodeAnnotation& annotation) const {
    return {index(node) + 1, annotation.configuration, describe(document_, node)};
  }

  void check_model() {
    const std::int64_t version = document_.model().ir_version;
    if (!annotations_.empty() && version < onnx_io::kFirstWithDevices) {
      faults_.add({}, PlanField::ir_version,
                  fmt::format("the model has IR version {}, and multi-device configurations need {}", version, onnx_io::kFirstWithDevices));
    }
    for (const DeviceConfiguration& configuration : annotations_.configurations) {
      const FaultPlace place{0, configuration.name};
      if (configuration.name.empty()) faults_.add(place, PlanField::name, "a configuration has no name");
      if (!configurations_.emplace(configuration.name, &configuration).second)
        faults_.add(place, PlanField::name, "several configurations have this name");
      const auto names = static_cast<std::int64_t>(configuration.devices.size());
      if (!configuration.num_devices) {
        faults_.add(place, PlanField::num_devices, "num_devices is missing");
      } else if (*configuration.num_devices < 1) {
        faults_.add(place, PlanField::num_devices,
                    fmt::format("num_devices is {}, and at least 1 is expected", *configuration.num_devices));
      } else if (names != 0 && names != *configuration.num_devices) {
        faults_.add(place, PlanField::device_names,
                    fmt::format("names of {} devices, and num_devices is {}", names, *configuration.num_devices));
      }
    }
  }

  void check_node(const AnnotatedNode& annotated) {
    std::set<std::string_view> seen;
    for (const NodeAnnotation& annotation : annotated.annotations) {
      const FaultPlace place = place_of(annotated.node, annotation);
      const auto configuration = configurations_.find(annotation.configuration);
      if (annotation.configuration.empty()) {
        faults_.add(place, PlanField::configuration_id, "configuration_id is missing");
      } else if (configuration == configurations_.end()) {
        faults_.add(place, PlanField::configuration_id, "the model has no configuration of this name");
      }
      if (!seen.insert(annotation.configuration).second) {
        faults_.add(place, PlanField::configuration_id, "the node has several entries for this configuration");
        continue;
      }
      if (annotation.pipeline_stage) {
        if (*annotation.pipeline_stage < 0)
          faults_.add(place, PlanField::pipeline_stage, fmt::format("stage {} is negative", *annotation.pipeline_stage));
        stages_[annotation.configuration].emplace(annotated.node, *annotation.pipeline_stage);
      }
      const auto devices = configuration == configurations_.end() ? std::nullopt : configuration->second->num_devices;
      check_specs(document_.node(annotated.node), annotation, devices && *devices > 0 ? devices : std::nullopt, place);
    }
  }

  void check_specs(const onnx_io::Node& node, const NodeAnnotation& annotation, std::optional<std::int64_t> devices,
                   const FaultPlace& of_node) {
    std::set<std::string_view> tensors(node.inputs.begin(), node.inputs.end());
    tensors.insert(node.outputs.begin(), node.outputs.end());
    std::set<std::string_view> seen;
    for (const ShardingSpec& spec : annotation.specs) {
      FaultPlace place = of_node;
      place.tensor = spec.tensor;
      if (spec.tensor.empty()) {
        faults_.add(place, PlanField::tensor_name, "tensor_name is missing");
        continue;
      }
      if (!tensors.contains(spec.tensor)) {
        faults_.add(place, PlanField::tensor_name, "the node has no such input or output");
        continue;
      }
      if (!seen.insert(spec.tensor).second) {
        faults_.add(place, PlanField::sharding_spec, "the node has several sharding specs for this tensor");
        continue;
      }
      auto layout = check_spec(spec, shapes_.find(node.graph, spec.tensor), devices, place, faults_);
      layouts_.emplace(TensorKey{annotation.configuration, node.id, spec.tensor}, std::move(layout));
    }
  }

  // The spec of a tensor in a node; nullptr if it has none.
  const std::optional<ShardLayout>* spec_at(std::string_view configuration, onnx_io::NodeId node, std::string_view tensor) const {
    const auto found = layouts_.find(TensorKey{configuration, node, tensor});
    return found == layouts_.end() ? nullptr : &found->second;
  }

  // An input as the node wants it, or else as its producer leaves it. Nothing if neither has a valid spec.
  std::optional<DividedInput> input_at(const onnx_io::Node& node, std::size_t position, std::string_view configuration) const {
    const std::string_view tensor = node.inputs[position];
    if (const auto* own = spec_at(configuration, node.id, tensor))
      return *own ? std::optional(DividedInput{position, tensor, &**own, true}) : std::nullopt;
    const auto scope = document_.scope_of(node.graph, tensor);
    const onnx_io::Definition* definition = scope ? document_.find(*scope, tensor) : nullptr;
    if (definition == nullptr || !definition->node) return std::nullopt;
    const auto* left = spec_at(configuration, *definition->node, tensor);
    return left != nullptr && *left ? std::optional(DividedInput{position, tensor, &**left, false}) : std::nullopt;
  }

  // Whether a result is divided along an axis that reads one input after the other, as that of a
  // concatenation. Then parts of it need no element of some inputs.
  bool is_divided_apart(const onnx_io::Node& node, const InputLoops& loops, std::string_view configuration) const {
    return std::ranges::any_of(node.outputs, [&](std::string_view name) {
      const auto* own = name.empty() ? nullptr : spec_at(configuration, node.id, name);
      if (own == nullptr || !*own) return false;
      return std::ranges::any_of((*own)->cuts, [&](const AxisCut& cut) {
        return std::ranges::any_of(loops, [&](const auto& axes) { return axes && cut.axis < axes->size() && (*axes)[cut.axis].is_apart; });
      });
    });
  }

  // Compares the inputs of a node. Returns false if there is no rule for the operator or a divided axis.
  bool compare(onnx_io::NodeId id, const NodeAnnotation& annotation) {
    const onnx_io::Node& node = document_.node(id);
    std::vector<DividedInput> inputs;
    std::vector<std::optional<std::size_t>> ranks;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto* sizes = node.inputs[k].empty() ? nullptr : shapes_.find(node.graph, node.inputs[k]);
      ranks.push_back(sizes != nullptr ? std::optional(sizes->size()) : std::nullopt);
      if (node.inputs[k].empty()) continue;
      if (const auto input = input_at(node, k, annotation.configuration)) inputs.push_back(*input);
    }
    const bool is_divided = std::ranges::any_of(inputs, [](const DividedInput& input) { return !input.layout->cuts.empty(); });
    if (!is_divided && (inputs.size() < 2 || std::ranges::none_of(inputs, &DividedInput::is_own))) return true;
    auto loops = loops_.of(node);
    if (!loops) loops = loops_by_ranks(document_, node, ranks);
    if (!loops) return !is_divided;
    const bool has_one_result = std::ranges::count_if(node.outputs, [](std::string_view name) { return !name.empty(); }) == 1;
    const bool meets = has_one_result && !is_divided_apart(node, *loops, annotation.configuration);
    return compare_inputs(inputs, *loops, meets, place_of(id, annotation), faults_);
  }

  void count(PlanCheck& check) const {
    std::map<std::string_view, std::size_t> first;  // by name
    for (const DeviceConfiguration& configuration : annotations_.configurations) {
      first.emplace(configuration.name, check.configurations.size());
      check.configurations.push_back({configuration.name, configuration.num_devices.value_or(0), configuration.devices});
    }
    for (const AnnotatedNode& annotated : annotations_.nodes) {
      for (const NodeAnnotation& annotation : annotated.annotations) {
        const auto known = first.find(annotation.configuration);
        if (known == first.end()) continue;
        ++check.configurations[known->second].nodes;
        check.configurations[known->second].specs += annotation.specs.size();
      }
    }
    for (const auto& [name, of_nodes] : stages_) {
      const auto known = first.find(name);
      if (known == first.end()) continue;
      std::set<std::int64_t> stages;
      for (const auto& [node, stage] : of_nodes) stages.insert(stage);
      check.configurations[known->second].stages = stages.size();
    }
  }

  const Document& document_;
  const DeviceAnnotations& annotations_;
  onnx_io::GraphShapes shapes_;
  NodeLoops loops_;
  std::map<std::string_view, const DeviceConfiguration*> configurations_;
  std::map<std::string, std::map<onnx_io::NodeId, std::int64_t>> stages_;  // by configuration
  std::map<TensorKey, std::optional<ShardLayout>> layouts_;                // of specs; none for a faulty one
  PlanFaults faults_;
};

}  // namespace

PlanCheck check_annotations(const Document& document, const DeviceAnnotations& annotations) {
  return PlanChecker(document, annotations).run();
}

Result<Document> annotated_document(const Document& document, const DeviceAnnotations& annotations) {
  XFLOW_TRY(std::string bytes, with_device_annotations(document, annotations));
  XFLOW_TRY(Document result, Document::parse(std::move(bytes), document.origin()));
  XFLOW_TRY(const DeviceAnnotations all, read_device_annotations(result));
  const PlanCheck check = check_annotations(result, all);
  const auto is_new = [&](const PlanFault& fault) {
    return std::ranges::find(annotations.configurations, fault.configuration, &DeviceConfiguration::name) !=
           annotations.configurations.end();
  };
  const auto fault = std::ranges::find_if(check.faults, is_new);
  if (fault != check.faults.end()) return fail(ErrorCode::invalid_argument, fault->to_text());
  return result;
}

}  // namespace xflow::parallel

namespace xflow {

std::string PlanFault::to_text() const {
  std::string place = node;
  const auto add = [&](const char* what, const std::string& name) {
    if (!name.empty()) place += fmt::format("{}{} {}", place.empty() ? "" : ", ", what, onnx_io::in_quotes(name));
  };
  add("configuration", configuration);
  add("tensor", tensor);
  return fmt::format("{}{}{} ({})", place, place.empty() ? "" : ": ", text, to_string(field));
}

}  // namespace xflow
