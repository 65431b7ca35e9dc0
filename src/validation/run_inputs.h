// Inputs and sizes for runs of whole models and of rewritten regions.
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

// Splits the shapes of the options into choices of sizes. An input that is named several times has its first
// shape in the first choice, its second shape in the second, and its last shape in all further choices.
// Returns at least one choice.
std::vector<std::vector<InputShape>> shape_choices(std::span<const InputShape> shapes);

// Choices of sizes, and the inputs at each choice.
struct RunInputs {
  std::vector<std::vector<InputShape>> shapes = {{}};  // at least one choice
  std::vector<InputSet> sets;                          // from files, one per choice; empty: seeded values
  InnerSizes inner;                                    // of results of opaque nodes, at every choice

  // Returns the label of a choice in a report: "x: [1, 512]", with files "x: [1, 512] of inputs.npz".
  std::string label(const ir::Arena& arena, std::span<const NamedInput> inputs, std::size_t choice, const Sizes& sizes) const;
  // Returns the tensors of these inputs at a choice of sizes: those of the files, and seeded values for the
  // others.
  Result<InputSet> values(const ir::Arena& arena, std::span<const NamedInput> wanted, std::size_t choice, const Sizes& sizes) const;
};

// Returns the inputs that the options name: the shapes, or the sets of inputs in the files with their
// shapes. `required` are the inputs without defaults. The graph is checked to accept every set, and every
// choice of shapes but the first. Errors: invalid_argument for shapes together with files; those of
// read_inputs; unreadable for a set that lacks an input or has a tensor of another type; those of
// choose_fitting_sizes.
Result<RunInputs> run_inputs(ir::Arena& arena, const ir::Graph& graph, std::span<const NamedInput> inputs,
                             std::span<const NamedInput> required, const OptimizeOptions& options, InnerSizes inner = {});

}  // namespace xflow::api
