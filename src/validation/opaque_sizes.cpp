#include "src/validation/opaque_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/support/printable.h"

namespace xflow::api {
namespace {

std::vector<std::optional<std::int64_t>> numbers_of(std::span<const std::optional<ir::Poly>> dims) {
  std::vector<std::optional<std::int64_t>> numbers;
  for (const auto& size : dims) numbers.push_back(size ? size->constant() : std::nullopt);
  return numbers;
}

}  // namespace

const SizeMap& OpaqueSizes::at(const SizeMap& inputs) {
  std::vector<std::pair<ir::SymbolId, std::int64_t>> key(inputs.begin(), inputs.end());
  std::ranges::sort(key);
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(std::move(key), find(inputs)).first->second;
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

SizeMap OpaqueSizes::find(const SizeMap& inputs) {
  SizeMap found;
  const ir::Symbols::Valuation sizes = [&](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    if (const auto known = inputs.find(symbol); known != inputs.end()) return known->second;
    const auto known = found.find(symbol);
    return known == found.end() ? std::nullopt : std::optional(known->second);
  };
  std::vector<std::string_view> open;
  for (const onnx_io::OpaqueNode& opaque : model_.opaque) {
    if (stop_ && stop_()) return found;
    const onnx_io::Node& node = document_.node(opaque.node);
    std::vector<ir::ValueId> operands;
    operands.reserve(node.inputs.size() + node.captures.size());
    for (const std::string_view input : node.inputs) operands.push_back(input.empty() ? arena_.absent() : model_.values.at(input));
    for (const std::string_view captured : node.captures) operands.push_back(model_.values.at(captured));
    const auto types = inference_.infer(node, operands, sizes);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const std::string_view name = node.outputs[k];
      if (name.empty() || !model_.values.contains(name)) continue;
      if (add(name, types[k] ? numbers_of(types[k]->dims) : Dims(), inputs, found)) open.push_back(name);
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
