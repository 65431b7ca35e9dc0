#include "src/api/opaque_sizes.h"

#include <fmt/format.h>

#include <algorithm>

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
  return known_.emplace(std::move(key), find(inputs, dims)).first->second;
}

bool OpaqueSizes::add(std::string_view name, const Dims& dims, const SizeMap& inputs, SizeMap& found) {
  const ir::TensorType& type = arena_.type(model_.values.at(name));
  if (!type.ranked) return false;
  bool open = false;
  for (std::size_t k = 0; k < type.rank(); ++k) {
    const auto symbol = type.shape[k].as_symbol();
    if (!symbol) continue;
    const auto of_input = inputs.find(*symbol);
    const auto size = type.rank() == dims.size() ? dims[k] : std::nullopt;
    if (!size) {
      open = open || (of_input == inputs.end() && !found.contains(*symbol));
      continue;
    }
    const std::int64_t known = of_input != inputs.end() ? of_input->second : found.emplace(*symbol, *size).first->second;
    const auto at = first_.try_emplace(*symbol, of_input != inputs.end() ? "an input" : onnx_io::in_quotes(name)).first;
    if (known == *size) continue;
    contradictory_.try_emplace(std::string(arena_.symbols().info(*symbol).name),
                               fmt::format("{} of {} and {} of {}", known, at->second, *size, onnx_io::in_quotes(name)));
  }
  return open;
}

SizeMap OpaqueSizes::find(const SizeMap& inputs, const std::vector<onnx_io::InputDims>& dims) {
  SizeMap found;
  if (model_.opaque.empty()) return found;
  const auto types = onnx_io::infer_types(document_, dims);
  std::vector<std::string_view> open;
  for (const onnx_io::OpaqueNode& opaque : model_.opaque) {
    for (const std::string_view name : document_.node(opaque.node).outputs) {
      if (name.empty() || !model_.values.contains(name)) continue;
      const auto inferred = types.find(std::string(name));
      if (add(name, inferred == types.end() ? Dims() : inferred->second.dims, inputs, found)) open.push_back(name);
    }
  }
  if (!open.empty() && run_) see_in_a_run(open, inputs, found);
  return found;
}

void OpaqueSizes::see_in_a_run(std::span<const std::string_view> open, const SizeMap& inputs, SizeMap& found) {
  const auto seen = run_(inputs, open);
  for (std::size_t k = 0; k < std::min(seen.size(), open.size()); ++k) add(open[k], Dims(seen[k].begin(), seen[k].end()), inputs, found);
}

}  // namespace xflow::api
