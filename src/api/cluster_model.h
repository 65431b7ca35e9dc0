// A model on the devices of a cluster: its document, its graph and sizes, and the costs of kernels.
#pragma once

#include <xflow/error.h>
#include <xflow/input_shape.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/api/cluster_costs.h"
#include "src/onnx/document/document.h"
#include "src/parallel/cluster.h"
#include "src/validation/sized_model.h"
#include "src/validation/sizes.h"

namespace xflow::api {

class ClusterModel {
 public:
  // Errors: those of Document::open, SizedModel::lift, choose_fitting_sizes and ClusterCosts::open.
  static Result<std::unique_ptr<ClusterModel>> open(const std::string& path, const std::vector<InputShape>& shapes,
                                                    const std::vector<std::string>& allow_external, const parallel::DeviceCluster& cluster,
                                                    const ClusterCostOptions& options);

  // The same devices with another document, which is sized as this one.
  static Result<std::unique_ptr<ClusterModel>> with_document(const ClusterModel& model, onnx_io::Document document,
                                                             const std::vector<InputShape>& shapes);

  const onnx_io::Document& document() const { return document_; }
  const onnx_io::LiftedModel& lifted() const { return model_->model(); }
  ir::Arena& arena() { return model_->arena(); }
  const ir::Arena& arena() const { return model_->arena(); }
  ir::Symbols::Valuation sizes() const { return sizes_.valuation(); }
  // Sizes that are known before a run, which no node that is not known computes.
  ir::Symbols::Valuation known_sizes() const { return sizes_.known(); }
  std::span<cost::KernelCosts* const> costs() const { return costs_->by_device(); }
  DeviceCosts& first_costs() const { return costs_->first(); }
  const std::vector<NamedInput>& inputs() const { return model_->inputs(); }
  const RunInputs& runs() const { return model_->runs(); }
  // Sizes that nobody gave: of inputs, then of results of nodes that are not known.
  std::vector<std::string> assumed() const;

 private:
  explicit ClusterModel(onnx_io::Document document) : document_(std::move(document)) {}
  Result<void> lift(const std::vector<InputShape>& shapes);

  onnx_io::Document document_;
  std::unique_ptr<SizedModel> model_;
  Sizes sizes_;
  std::shared_ptr<ClusterCosts> costs_;
};

}  // namespace xflow::api
