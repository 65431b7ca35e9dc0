#include "bench/cost/lifted.h"

namespace xflow {

Result<std::unique_ptr<Lifted>> lift(const std::string& path) {
  auto lifted = std::make_unique<Lifted>();
  XFLOW_TRY(lifted->document, onnx_io::Document::open(path));
  XFLOW_TRY(lifted->model, onnx_io::lift(*lifted->document, lifted->arena));
  for (std::size_t k = 0; k < lifted->model.inputs.size(); ++k)
    lifted->inputs.push_back({lifted->model.input_names[k], lifted->model.inputs[k]});
  XFLOW_TRY(lifted->sizes, api::choose_fitting_sizes(lifted->arena, lifted->model.graph, lifted->inputs, {}));
  XFLOW_TRY(lifted->set, api::seeded_inputs(lifted->arena, lifted->inputs, *lifted->sizes, {}));
  return lifted;
}

}  // namespace xflow
