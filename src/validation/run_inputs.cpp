#include "src/validation/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace xflow::api {
namespace {

// Returns the shapes of the tensors of a set. An input of unknown rank has no shape to give.
Result<std::vector<InputShape>> shapes_of(const ir::Arena& arena, std::span<const NamedInput> inputs, const InputSet& set) {
  std::vector<InputShape> shapes;
  for (const NamedInput& input : inputs) {
    const auto given = set.tensors.find(std::string(input.name));
    if (given == set.tensors.end()) continue;
    const ir::TensorType& type = arena.type(input.value);
    if (type.data_type != ir::DataType::undefined && type.data_type != given->second.data_type)
      return fail(
          ErrorCode::unreadable,
          fmt::format("input '{}' is {} in the model, not {}", input.name, ir::name(type.data_type), eval::type_text(given->second)),
          set.label);
    if (type.ranked) shapes.push_back({std::string(input.name), given->second.dims});
  }
  return shapes;
}

}  // namespace

std::vector<std::vector<InputShape>> shape_choices(std::span<const InputShape> shapes) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<InputShape>> by_input;
  std::size_t choices = 1;
  for (const InputShape& shape : shapes) {
    std::vector<InputShape>& same = by_input[shape.input];
    if (same.empty()) order.push_back(shape.input);
    same.push_back(shape);
    choices = std::max(choices, same.size());
  }
  std::vector<std::vector<InputShape>> result(choices);
  for (std::size_t k = 0; k < choices; ++k) {
    for (const std::string& input : order) {
      const std::vector<InputShape>& same = by_input[input];
      result[k].push_back(same[std::min(k, same.size() - 1)]);
    }
  }
  return result;
}

std::string RunInputs::label(const ir::Arena& arena, std::span<const NamedInput> inputs, std::size_t choice, const Sizes& sizes) const {
  const std::string text = sizes_text(arena, inputs, sizes.values);
  return sets.empty() ? text : fmt::format("{} of {}", text, sets[choice].label);
}

Result<InputSet> RunInputs::values(const ir::Arena& arena, std::span<const NamedInput> wanted, std::size_t choice,
                                   const Sizes& sizes) const {
  if (sets.empty()) return seeded_inputs(arena, wanted, sizes, SeededValues{});
  InputSet result;
  result.label = sets[choice].label;
  std::vector<NamedInput> seeded;
  for (const NamedInput& input : wanted) {
    const auto given = sets[choice].tensors.find(std::string(input.name));
    if (given == sets[choice].tensors.end()) {
      seeded.push_back(input);
    } else {
      result.tensors.insert(*given);
    }
  }
  if (seeded.empty()) return result;
  XFLOW_TRY(InputSet drawn, seeded_inputs(arena, seeded, sizes, SeededValues{}));
  result.tensors.merge(drawn.tensors);
  return result;
}

Result<RunInputs> run_inputs(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                             std::span<const NamedInput> required, const OptimizeOptions& options, InnerSizes inner) {
  RunInputs runs;
  runs.inner = std::move(inner);
  if (options.input.files.empty()) {
    runs.shapes = shape_choices(options.input.shapes);
  } else {
    if (!options.input.shapes.empty())
      return fail(ErrorCode::invalid_argument, "shapes and files of inputs exclude each other; give one of them");
    std::vector<std::string_view> names;
    names.reserve(inputs.size());
    for (const NamedInput& input : inputs) names.push_back(input.name);
    XFLOW_TRY(runs.sets, read_inputs(options.input.files, names));
    runs.shapes.clear();
    for (const InputSet& set : runs.sets) {
      for (const NamedInput& input : required)
        if (!set.tensors.contains(std::string(input.name)))
          return fail(ErrorCode::unreadable, fmt::format("no values for input '{}'", input.name), set.label);
      XFLOW_TRY(std::vector<InputShape> shapes, shapes_of(arena, inputs, set));
      runs.shapes.push_back(std::move(shapes));
    }
  }
  // The first choice of shapes is checked when costs are computed.
  for (std::size_t k = runs.sets.empty() ? 1 : 0; k < runs.shapes.size(); ++k) {
    const auto sizes = choose_fitting_sizes(arena, graph, inputs, runs.shapes[k], runs.inner);
    if (sizes) continue;
    return runs.sets.empty() ? fail(sizes.error()) : fail(ErrorCode::unreadable, sizes.error().text(), runs.sets[k].label);
  }
  return runs;
}

}  // namespace xflow::api
