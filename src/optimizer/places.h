// Names the places, for reports, where values of a lifted model are computed.
#pragma once

#include <xflow/optimize.h>

#include <map>
#include <optional>
#include <string>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/search/search.h"

namespace xflow::api {

// Maps a value of the original graph to its node: "node 'conv1' (Conv)". One node of the document may be
// lifted to several operations, such as the product in a BatchNormalization. A value inside such a node has
// the place of the node that uses it.
class Places {
 public:
  Places(const onnx_io::Document& document, const onnx_io::LiftedModel& model, const ir::Arena& arena)
      : document_(document), model_(model) {
    const std::vector<ir::NodeId> order = ir::topological_order(arena, model.graph);
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const ir::Node& node = arena.node(*id);
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
        const auto place = node_of({*id, k});
        if (!place) continue;
        for (const ir::ValueId operand : node.operands) users_.try_emplace(operand, *place);
      }
    }
  }

  // The place of a value; empty for a value that the search created.
  std::string of(ir::ValueId value) const {
    const auto place = node_of(value);
    return place ? onnx_io::describe(document_, *place) : std::string();
  }

 private:
  std::optional<onnx_io::NodeId> node_of(ir::ValueId value) const {
    if (const auto origin = model_.origins.find(value); origin != model_.origins.end()) return origin->second.node;
    const auto user = users_.find(value);
    return user == users_.end() ? std::nullopt : std::optional(user->second);
  }

  const onnx_io::Document& document_;
  const onnx_io::LiftedModel& model_;
  std::map<ir::ValueId, onnx_io::NodeId> users_;
};

// Writes the steps that lead to a graph into the report.
void list_steps(const Places& places, const search::Finalist& found, OptimizeReport& report);

}  // namespace xflow::api
