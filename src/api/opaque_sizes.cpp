#include "src/api/opaque_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/onnx/printable.h"

namespace xflow::api {

const SizeMap& OpaqueSizes::at(const SizeMap& inputs) {
  const auto value_of = [&](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    const auto known = inputs.find(symbol);
    return known == inputs.end() ? std::nullopt : std::optional(known->second);
  };
  std::vector<onnx_io::InputDims> dims;
  std::vector<std::vector<std::int64_t>> key;
  for (std::size_t k = 0; k < model_.inputs.size(); ++k) {
    const ir::TensorType& type = arena_.type(model_.inputs[k]);
    onnx_io::InputDims input{model_.input_names[k], {}};
    for (const ir::Poly& dim : type.shape)
      if (const auto size = arena_.symbols().evaluate(dim, value_of)) input.dims.push_back(*size);
    if (!type.ranked || input.dims.size() != type.rank()) continue;
    key.push_back(input.dims);
    dims.push_back(std::move(input));
  }
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  return known_.emplace(std::move(key), infer(inputs, dims)).first->second;
}

SizeMap OpaqueSizes::infer(const SizeMap& inputs, const std::vector<onnx_io::InputDims>& dims) {
  SizeMap found;
  if (model_.opaque.empty()) return found;
  const auto types = onnx_io::infer_types(document_, dims);
  std::map<ir::SymbolId, std::string> first;  // the value that a size was found at
  for (const onnx_io::OpaqueNode& opaque : model_.opaque) {
    for (const std::string_view name : document_.node(opaque.node).outputs) {
      const auto inferred = types.find(std::string(name));
      const auto value = model_.values.find(name);
      if (name.empty() || inferred == types.end() || value == model_.values.end()) continue;
      const ir::TensorType& type = arena_.type(value->second);
      if (!type.ranked || type.rank() != inferred->second.dims.size()) continue;
      for (std::size_t k = 0; k < type.rank(); ++k) {
        const auto size = inferred->second.dims[k];
        const auto symbol = type.shape[k].as_symbol();
        if (!size || !symbol) continue;
        const auto of_input = inputs.find(*symbol);
        const std::int64_t known = of_input != inputs.end() ? of_input->second : found.emplace(*symbol, *size).first->second;
        const auto at = first.try_emplace(*symbol, of_input != inputs.end() ? "an input" : onnx_io::in_quotes(name)).first;
        if (known == *size) continue;
        contradictory_.try_emplace(std::string(arena_.symbols().info(*symbol).name),
                                   fmt::format("{} of {} and {} of {}", known, at->second, *size, onnx_io::in_quotes(name)));
      }
    }
  }
  return found;
}

}  // namespace xflow::api
