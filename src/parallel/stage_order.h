// Pipeline stages along the edges of a graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/parallel/plan_faults.h"

namespace xflow::parallel {

class StageOrder {
 public:
  explicit StageOrder(const onnx_io::Document& document);  // it must outlive this object

  // Finds nodes in an earlier stage than a node whose result they need, perhaps over nodes without a stage.
  // `stages`: of nodes, in one configuration. A body is compared with what it captures, a local function
  // with nothing outside of it. As stages may not decrease along edges, they form no cycle.
  void check(const std::map<onnx_io::NodeId, std::int64_t>& stages, const std::string& configuration, PlanFaults& faults) const;

 private:
  const onnx_io::Document& document_;
  std::vector<onnx_io::NodeId> order_;                   // all nodes; each after those that it needs
  std::vector<std::vector<onnx_io::NodeId>> producers_;  // by node of `order_`
};

}  // namespace xflow::parallel
