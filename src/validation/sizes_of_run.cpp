#include "src/validation/sizes_of_run.h"

#include <algorithm>

#include "src/devices/device_costs.h"
#include "src/devices/runner/runner.h"
#include "src/onnx/lift/more_outputs.h"
#include "src/search/run_limits.h"

namespace xflow::api {

std::vector<std::vector<std::int64_t>> sizes_of_run(const onnx_io::Document& document, std::span<const std::string_view> names,
                                                    const InputSet& inputs, const OptimizeOptions& options) {
  if (!document.external_files().empty()) return {};
  const std::vector<onnx_io::ValueInfo>& outputs = document.main().outputs;
  std::vector<std::string_view> added;
  for (const std::string_view name : names)
    if (std::ranges::find(outputs, name, &onnx_io::ValueInfo::name) == outputs.end()) added.push_back(name);
  const RunLimits limits(options);
  auto runner = cost::runner::Runner::start({options.device.runner, options.device.threads, start_patience(options, limits.seconds_left()),
                                             [&limits] { return limits.ends_search().has_value(); }});
  if (!runner) return {};
  (*runner)->set_patience(std::max(std::min(options.validation.max_measure_time.count(), limits.seconds_left()), kLeastPatience));
  const std::string model = onnx_io::with_outputs(document, added);
  std::vector<cost::NamedTensor> tensors;
  tensors.reserve(inputs.tensors.size());
  for (const auto& [name, tensor] : inputs.tensors) tensors.push_back({name, tensor});
  if (!(*runner)->load(0, {model, {}}) || !(*runner)->set_inputs(0, tensors)) return {};
  const auto results = (*runner)->outputs(0, 0);
  if (!results) return {};
  std::vector<std::vector<std::int64_t>> sizes;
  for (const std::string_view name : names) {
    const auto result = std::ranges::find(*results, name, &cost::NamedTensor::name);
    if (result == results->end()) return {};
    sizes.push_back(result->tensor.dims);
  }
  return sizes;
}

}  // namespace xflow::api
