#include "src/execution/check_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "src/eval/compare.h"
#include "src/support/printable.h"
#include "src/validation/check_sample.h"
#include "src/validation/deadline.h"
#include "src/validation/runnable.h"

namespace xflow::execution {
namespace {

// The chosen elements of an output.
eval::Tensor chosen_of(const RunOutput& output, const eval::Sample& sample) {
  const ir::DataType type = ir::data_type_from_name(output.data_type).value_or(ir::DataType::undefined);
  const auto* bytes = reinterpret_cast<const std::byte*>(output.bytes.data());
  std::vector<std::byte> own(bytes, bytes + output.bytes.size());
  if (eval::is_whole(sample)) return eval::Tensor::of({type, output.dims, ir::owned_bytes(std::move(own))});
  const auto size = static_cast<std::size_t>(ir::bits(type)) / 8;
  eval::SampledTensor chosen{{type, {}, {}}, sample};
  for (const eval::Positions& positions : sample) chosen.tensor.dims.push_back(positions.count());
  std::vector<std::byte> elements(eval::count_of(sample) * size);
  for (std::uint64_t element = 0; element < eval::count_of(sample); ++element) {
    std::uint64_t at = 0;
    const std::vector<std::int64_t> index = chosen.index_of(element);
    for (std::size_t k = 0; k < index.size(); ++k)
      at = at * static_cast<std::uint64_t>(output.dims[k]) + static_cast<std::uint64_t>(index[k]);
    std::memcpy(elements.data() + element * size, own.data() + at * size, size);
  }
  return eval::Tensor::of({type, chosen.tensor.dims, ir::owned_bytes(std::move(elements))});
}

CheckReport::Output compared(const eval::Tensor& reference, const eval::Tensor& own, const RunOutput& output, const eval::Sample& sample,
                             const std::string& inputs) {
  CheckReport::Output result;
  result.name = output.name;
  result.type = output.type;
  result.inputs = inputs;
  result.values = eval::size_of(sample);
  result.checked_values = eval::count_of(sample);
  const bool is_alike = [&] {
    if (output.dims.size() != sample.size()) return false;
    for (std::size_t k = 0; k < sample.size(); ++k) {
      if (output.dims[k] != sample[k].size) return false;
    }
    return ir::name(reference.data_type) == output.data_type;
  }();
  if (!is_alike) {
    result.reason = fmt::format("{} instead of {}", output.type, eval::type_text(reference));
    return result;
  }
  const eval::Comparison comparison = eval::compare(reference, own, chosen_of(output, sample));
  result.agrees = comparison.agrees;
  result.reason = comparison.reason;
  result.error = comparison.error;
  result.allowed = comparison.allowed;
  return result;
}

}  // namespace

Result<CheckReport> check_outputs(const std::string& path, const api::InputSet& inputs, std::span<const RunOutput> outputs,
                                  const RunOptions& options) {
  CheckOptions check;
  check.allow_external = options.allow_external;
  const api::Deadline deadline(check.time_limit.count(), check.cancel);
  XFLOW_TRY(const auto model, api::Runnable::open(path, check, deadline));
  XFLOW_CHECK(model->can_execute());
  if (const auto fits = model->accepts(inputs); !fits) return fail(fits.error().code, fits.error().message, path);
  std::vector<eval::Sample> samples = api::choose_samples(*model, *model, inputs);
  const auto nothing = [] {};
  XFLOW_TRY(const std::vector<eval::Tensor> reference, model->run(inputs, eval::Number::float64, samples, nothing));
  XFLOW_TRY(const std::vector<eval::Tensor> own, model->run(inputs, eval::Number::float32, samples, nothing));
  CheckReport report;
  report.runs.push_back(inputs.label);
  report.equal = true;
  const auto& declared = model->document().main().outputs;
  for (std::size_t k = 0; k < declared.size(); ++k) {
    const auto output = std::ranges::find(outputs, declared[k].name, &RunOutput::name);
    if (output == outputs.end() || outputs.size() != declared.size()) {
      report.equal = false;
      report.difference = fmt::format("the outputs of the parts are not those of {}", path);
      return report;
    }
    const eval::Sample sample = samples.empty() ? eval::whole(reference[k].dims) : samples[k];
    report.outputs.push_back(compared(reference[k], own[k], *output, sample, inputs.label));
    const CheckReport::Output& result = report.outputs.back();
    if (result.agrees || !report.equal) continue;
    report.equal = false;
    report.difference = fmt::format("output '{}' is {}", onnx_io::printable(result.name), result.reason);
  }
  return report;
}

}  // namespace xflow::execution
