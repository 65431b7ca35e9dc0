#include "src/api/cluster_model.h"

#include "src/devices/cpu/footprint.h"
#include "xflow/optimize.h"

namespace xflow::api {

Result<void> ClusterModel::lift(const std::vector<InputShape>& shapes) {
  OptimizeOptions sized;
  sized.input.shapes = shapes;
  XFLOW_TRY(model_, SizedModel::lift(document_, sized));
  XFLOW_TRY(sizes_, choose_fitting_sizes(model_->arena(), model_->model().graph, model_->inputs(), shapes, model_->runs().inner));
  return {};
}

Result<std::unique_ptr<ClusterModel>> ClusterModel::open(const std::string& path, const std::vector<InputShape>& shapes,
                                                         const std::vector<std::string>& allow_external,
                                                         const parallel::DeviceCluster& cluster, const ClusterCostOptions& options) {
  XFLOW_TRY(onnx_io::Document document, onnx_io::Document::open(path, allow_external));
  std::unique_ptr<ClusterModel> opened(new ClusterModel(std::move(document)));
  XFLOW_CHECK(opened->lift(shapes));
  const auto bytes_of_run = [&] { return cost::cpu::bytes_of_run(opened->arena(), opened->lifted().graph, opened->sizes_.valuation()); };
  opened->costs_ = std::make_shared<ClusterCosts>();
  XFLOW_CHECK(opened->costs_->open(cluster, options, bytes_of_run));
  return opened;
}

Result<std::unique_ptr<ClusterModel>> ClusterModel::with_document(const ClusterModel& model, onnx_io::Document document,
                                                                  const std::vector<InputShape>& shapes) {
  std::unique_ptr<ClusterModel> made(new ClusterModel(std::move(document)));
  XFLOW_CHECK(made->lift(shapes));
  made->costs_ = model.costs_;
  return made;
}

std::vector<std::string> ClusterModel::assumed() const {
  std::vector<std::string> all = sizes_.assumed;
  all.insert(all.end(), sizes_.assumed_inner.begin(), sizes_.assumed_inner.end());
  return all;
}

}  // namespace xflow::api
