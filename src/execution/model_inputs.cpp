#include "src/execution/model_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/onnx/lift/lift.h"
#include "src/support/printable.h"

namespace xflow::execution {
namespace {

// An input of the model that a part reads.
struct ReadInput {
  std::string_view name;
  const onnx_io::DeclaredType* type = nullptr;
  bool has_default = false;
};

std::vector<ReadInput> read_inputs_of(const PartManifest& manifest, std::span<const std::unique_ptr<PartProgram>> models) {
  std::vector<ReadInput> inputs;
  for (const std::string& name : manifest.inputs) {
    const auto is_this = [&](const PartTensor& tensor) { return !tensor.part && tensor.name == name; };
    for (std::size_t k = 0; k < manifest.parts.size(); ++k) {
      const auto found = std::ranges::find_if(manifest.parts[k].inputs, is_this);
      if (found == manifest.parts[k].inputs.end()) continue;
      const auto& declared = models[k]->document().main().inputs;
      const auto own = std::ranges::find(declared, name, &onnx_io::ValueInfo::name);
      inputs.push_back({name, own == declared.end() ? nullptr : &own->type, found->has_default});
      break;
    }
  }
  return inputs;
}

Result<api::InputSet> of_files(std::span<const ReadInput> inputs, const PartManifest& manifest, const RunOptions& options) {
  const std::vector<std::string_view> names(manifest.inputs.begin(), manifest.inputs.end());
  XFLOW_TRY(std::vector<api::InputSet> sets, api::read_inputs(options.inputs, names));
  for (const ReadInput& input : inputs) {
    if (!input.has_default && !sets[0].tensors.contains(std::string(input.name)))
      return fail(ErrorCode::unreadable, fmt::format("no values for input '{}'", onnx_io::printable(input.name)), sets[0].label);
  }
  return std::move(sets[0]);
}

}  // namespace

Result<api::InputSet> model_inputs(const PartManifest& manifest, std::span<const std::unique_ptr<PartProgram>> models,
                                   const RunOptions& options) {
  const std::vector<ReadInput> inputs = read_inputs_of(manifest, models);
  for (const ReadInput& input : inputs) {
    if (input.type == nullptr)
      return fail(ErrorCode::unreadable, fmt::format("a part has no input '{}', which the manifest names", onnx_io::printable(input.name)));
  }
  if (!options.inputs.empty()) return of_files(inputs, manifest, options);
  ir::Arena arena;
  std::vector<api::NamedInput> required;
  for (const ReadInput& input : inputs) {
    if (input.has_default) continue;
    const ir::ValueId value =
        arena.input(onnx_io::declared_tensor_type(arena.symbols(), *input.type, input.name), static_cast<std::uint32_t>(required.size()));
    required.push_back({input.name, value});
  }
  XFLOW_TRY(const api::Sizes sizes, api::choose_sizes(arena, required, options.shapes));
  return api::seeded_inputs(arena, required, sizes, {options.seed, 2});
}

}  // namespace xflow::execution
