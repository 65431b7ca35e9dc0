#include "src/api/cluster_model.h"

#include "src/devices/cpu/footprint.h"
#include "xflow/optimize.h"

namespace xflow::api {

Result<std::unique_ptr<ClusterModel>> ClusterModel::open(const std::string& path, const std::vector<InputShape>& shapes,
                                                         const std::vector<std::string>& allow_external,
                                                         const parallel::DeviceCluster& cluster, const ClusterCostOptions& options) {
  XFLOW_TRY(onnx_io::Document document, onnx_io::Document::open(path, allow_external));
  std::unique_ptr<ClusterModel> opened(new ClusterModel(std::move(document)));
  OptimizeOptions sized;
  sized.input.shapes = shapes;
  XFLOW_TRY(opened->model_, SizedModel::lift(opened->document_, sized));
  SizedModel& model = *opened->model_;
  XFLOW_TRY(opened->sizes_, choose_fitting_sizes(model.arena(), model.model().graph, model.inputs(), shapes, model.runs().inner));
  const auto bytes_of_run = [&] { return cost::cpu::bytes_of_run(model.arena(), model.model().graph, opened->sizes_.valuation()); };
  XFLOW_CHECK(opened->costs_.open(cluster, options, bytes_of_run));
  return opened;
}

std::vector<std::string> ClusterModel::assumed() const {
  std::vector<std::string> all = sizes_.assumed;
  all.insert(all.end(), sizes_.assumed_inner.begin(), sizes_.assumed_inner.end());
  return all;
}

}  // namespace xflow::api
