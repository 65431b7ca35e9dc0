// What whole models and rewritten parts of them are run on.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/validation/check_inputs.h"
#include "src/validation/sizes.h"

namespace xflow::api {

// The shapes of the options as choices of sizes: an input that is named several times has its first shape in the first choice, its second
// in the second, and its last in all further ones. At least one choice.
std::vector<std::vector<InputShape>> shape_choices(std::span<const InputShape> shapes);

// Choices of sizes, and what the inputs are there.
struct RunInputs {
  std::vector<std::vector<InputShape>> shapes = {{}};  // at least one choice
  std::vector<InputSet> sets;                          // from files, one for each choice; none: seeded values
  InnerSizes inner;                                    // of results of opaque nodes, at every choice

  // For a report: "x: [1, 512]", with files "x: [1, 512] of inputs.npz".
  std::string label(const ir::Arena& arena, std::span<const NamedInput> inputs, std::size_t choice, const Sizes& sizes) const;
  // The tensors of these inputs at a choice of sizes: from the files, and seeded what is not there.
  Result<InputSet> values(const ir::Arena& arena, std::span<const NamedInput> wanted, std::size_t choice, const Sizes& sizes) const;
};

// Those that the options name: the shapes, or the sets of inputs in the files with their shapes. `required` are the inputs without
// defaults. Every choice but the first of shapes was found to be one that the graph takes. Errors: invalid_argument for shapes and files
// together, those of read_inputs, unreadable for a set that lacks an input or has a tensor of another type, those of choose_fitting_sizes.
Result<RunInputs> run_inputs(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                             std::span<const NamedInput> required, const OptimizeOptions& options, InnerSizes inner = {});

}  // namespace xflow::api
