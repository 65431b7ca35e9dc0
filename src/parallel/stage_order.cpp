#include "src/parallel/stage_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace xflow::parallel {
namespace {

// The node with the latest stage that a node waits for.
struct LatestStage {
  std::int64_t stage = 0;
  onnx_io::NodeId node{};
};

}  // namespace

StageOrder::StageOrder(const onnx_io::Document& document) : document_(document) {
  // A body has a larger id than the graph around it.
  for (const onnx_io::Graph& graph : document.graphs()) {
    for (const onnx_io::NodeId id : graph.order) {
      const onnx_io::Node& node = document.node(id);
      std::vector<onnx_io::NodeId> producers;
      const auto add = [&](std::string_view value) {
        const auto scope = value.empty() ? std::nullopt : document.scope_of(graph.id, value);
        if (!scope) return;
        if (const auto producer = document.find(*scope, value)->node) producers.push_back(*producer);
      };
      std::ranges::for_each(node.inputs, add);
      std::ranges::for_each(node.captures, add);
      order_.push_back(id);
      producers_.push_back(std::move(producers));
    }
  }
}

void StageOrder::check(const std::map<onnx_io::NodeId, std::int64_t>& stages, const std::string& configuration, PlanFaults& faults) const {
  std::vector<std::optional<LatestStage>> latest(order_.size());
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const onnx_io::NodeId id = order_[k];
    auto& own = latest[index(id)];
    for (const onnx_io::NodeId producer : producers_[k]) {
      const auto& other = latest[index(producer)];
      if (other && (!own || own->stage < other->stage)) own = other;
    }
    const auto stage = stages.find(id);
    if (stage == stages.end()) continue;
    if (own && stage->second < own->stage) {
      faults.add({index(id) + 1, configuration, describe(document_, id)}, PlanField::pipeline_stage,
                 fmt::format("stage {} is before stage {} of {}, whose result it needs", stage->second, own->stage,
                             describe(document_, own->node)));
    }
    own = LatestStage{stage->second, id};
  }
}

}  // namespace xflow::parallel
