// Options that optimize and simplify share, as users of onnxsim and OnnxSlim know them.
#pragma once

#include <xflow/input_shape.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "src/cli/command.h"

namespace xflow::cli {

struct ModelOptions {
  std::vector<std::string> fixed;  // texts of --overwrite-input-shape
  int checks = 0;                  // sets of random inputs on which both models are compared; 0: none
  bool prove = false;              // prove that the written model computes the same
  bool inspect = false;            // describe the model instead of writing another
};

// The positional arguments IN and OUT.
void add_in_and_out(CLI::App& sub, std::string& input, std::string& output);
// --overwrite-input-shape and --inspect, under the heading Input.
void add_model_options(CLI::App& sub, ModelOptions& options);
// --check-n and --prove, under the heading Output.
void add_checks(CLI::App& sub, ModelOptions& options);

// Errors: invalid_argument for a missing OUT, and for --check-n and --prove with standard input or output.
Result<void> check_model_options(const ModelOptions& options, const std::string& input, const std::string& output);
// The sizes of --overwrite-input-shape. Errors: invalid_argument.
Result<std::vector<InputShape>> fixed_shapes(const ModelOptions& options);

// Prints what the model is.
ExitCode inspect(const std::string& input, const std::vector<std::string>& allow_external);

// Compares both files on random inputs, where --check-n asks for it, and proves that they are equal, where
// --prove asks for it. Prints the comparison and the proof, to standard error if `to_error`. `shapes`: sizes
// of inputs; fixed ones come before them. The result is negative unless both succeed.
ExitCode check_written(const ModelOptions& options, const std::string& input, const std::string& output,
                       const std::vector<InputShape>& shapes, const std::vector<std::string>& allow_external, bool to_error);

}  // namespace xflow::cli
