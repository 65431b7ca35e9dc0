#include "src/validation/sized_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/support/printable.h"
#include "src/validation/sizes_of_run.h"

namespace xflow::api {
namespace {

// Each round distrusts the names that contradicted each other in earlier rounds. Few models have such names.
constexpr int kMostLifts = 8;

}  // namespace

Result<void> SizedModel::prepare(const onnx_io::Document& document, const onnx_io::LiftOptions& how, const OptimizeOptions& options) {
  XFLOW_TRY(model_, onnx_io::lift(document, arena_, how));
  for (std::size_t k = 0; k < model_->inputs.size(); ++k) {
    inputs_.push_back({model_->input_names[k], model_->inputs[k]});
    const onnx_io::Definition* definition = document.find(onnx_io::GraphId{0}, model_->input_names[k]);
    if (definition == nullptr || !definition->initializer) {
      required_.push_back(inputs_.back());
    } else {
      inputs_.back().default_dims = document.main().initializers[*definition->initializer].tensor.dims;
    }
  }
  // Whole models run in the runner unless the gate is off.
  OpaqueSizes::Run run;
  if (options.validation.gate && !options.device.runner.empty()) {
    run = [this, &document, &options](const SizeMap& sizes, std::span<const std::string_view> names) {
      const auto inputs = inputs_at(sizes);
      return inputs ? sizes_of_run(document, names, *inputs, options) : std::vector<std::vector<std::int64_t>>();
    };
  }
  opaque_sizes_.emplace(document, *model_, arena_, std::move(run), how.stop);
  InnerSizes inner;
  inner.infer = [this](const SizeMap& sizes) { return opaque_sizes_->at(sizes); };
  inner.name_of = [this, &document](ir::ValueId value) {
    const auto name = model_->names.find(value);
    const auto origin = model_->origins.find(value);
    return fmt::format("{}{}", name == model_->names.end() ? "" : name->second,
                       origin == model_->origins.end() ? "" : " of " + onnx_io::describe(document, origin->second.node));
  };
  XFLOW_TRY(runs_, run_inputs(arena_, model_->graph, inputs_, required_, options, std::move(inner)));
  for (const std::vector<InputShape>& shapes : runs_.shapes)
    XFLOW_CHECK(choose_fitting_sizes(arena_, model_->graph, inputs_, shapes, runs_.inner));
  return {};
}

Result<InputSet> SizedModel::inputs_at(const SizeMap& values) const {
  Sizes sizes;
  sizes.values = values;
  // Find the set of inputs that has these sizes.
  std::size_t choice = 0;
  const auto fits = [&](const InputSet& set) {
    return std::ranges::all_of(required_, [&](const NamedInput& input) {
      const auto tensor = set.tensors.find(std::string(input.name));
      if (tensor == set.tensors.end()) return false;
      std::vector<std::int64_t> dims;
      for (const ir::Poly& dim : arena_.type(input.value).shape)
        dims.push_back(arena_.symbols().evaluate(dim, sizes.valuation()).value_or(-1));
      return dims == tensor->second.dims;
    });
  };
  while (choice + 1 < runs_.sets.size() && !fits(runs_.sets[choice])) ++choice;
  return runs_.values(arena_, required_, choice, sizes);
}

Result<std::unique_ptr<SizedModel>> SizedModel::lift(const onnx_io::Document& document, const OptimizeOptions& options,
                                                     const std::function<bool()>& stop) {
  onnx_io::LiftOptions how;
  how.infer = true;
  how.stop = stop;
  std::vector<std::string> contradictions;
  for (int round = 0;; ++round) {
    std::unique_ptr<SizedModel> model(new SizedModel());
    XFLOW_CHECK(model->prepare(document, how, options));
    bool is_new = false;
    for (const auto& [name, found] : model->opaque_sizes_->contradictory_names()) {
      if (!how.distrusted_dimensions.insert(name).second) continue;
      contradictions.push_back(fmt::format("dimension {} is {} by shape inference", onnx_io::in_quotes(name), found));
      is_new = true;
    }
    if (stop && stop()) return fail(ErrorCode::limit, "lifting was stopped");
    if (is_new && round < kMostLifts) continue;
    contradictions.insert(contradictions.begin(), model->model_->contradictions.begin(), model->model_->contradictions.end());
    model->contradictions_ = std::move(contradictions);
    return model;
  }
}

}  // namespace xflow::api
