#include "src/validation/models_in_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace xflow::api {

Result<std::unique_ptr<ModelsInRunner>> ModelsInRunner::open(const Runnable& a, const Runnable& b, const std::string& command,
                                                             const Deadline& deadline) {
  auto executor = RunnerExecutor::open({command, 1, kStartSeconds, [&deadline] { return deadline.is_over(); }});
  if (!executor) return fail(ErrorCode::unsupported, executor.error().text());
  auto models = std::unique_ptr<ModelsInRunner>(new ModelsInRunner());
  models->executor_ = *std::move(executor);
  for (const Runnable* model : {&a, &b}) {
    const bool is_whole = model->document().external_files().empty();
    const std::string path = std::filesystem::absolute(model->path()).string();
    models->programs_.push_back(models->executor_->add({is_whole ? model->document().bytes() : std::string_view(), is_whole ? "" : path}));
  }
  for (const onnx_io::ValueInfo& output : a.document().main().outputs) models->outputs_.emplace_back(output.name);
  return models;
}

Result<void> ModelsInRunner::take(const InputSet& set) {
  std::vector<NamedTensor> tensors;
  std::vector<NamedTensor> perturbed_tensors;
  for (const auto& [name, tensor] : set.tensors) {
    tensors.push_back({name, tensor});
    XFLOW_TRY(eval::Tensor other, perturbed(tensor, 1));
    perturbed_tensors.push_back({name, std::move(other)});
  }
  executor_->add_inputs(std::move(tensors));
  executor_->add_inputs(std::move(perturbed_tensors));
  ++sets_;
  return {};
}

Result<std::vector<eval::Tensor>> ModelsInRunner::run(std::size_t model, bool is_perturbed) {
  XFLOW_TRY(std::vector<NamedTensor> named, executor_->outputs(programs_[model], 2 * (sets_ - 1) + (is_perturbed ? 1 : 0)));
  std::vector<eval::Tensor> tensors;
  for (const std::string& output : outputs_) {
    const auto found = std::ranges::find(named, output, &NamedTensor::name);
    if (found == named.end()) return fail(ErrorCode::unsupported, fmt::format("the runner returns no output '{}'", output));
    tensors.push_back(std::move(found->tensor));
  }
  return tensors;
}

}  // namespace xflow::api
