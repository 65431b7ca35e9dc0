// `xflow verify A.onnx B.onnx`.
#pragma once

#include <string>
#include <vector>

#include "src/cli/command.h"
#include "src/cli/print_options.h"
#include "xflow/verify_models.h"

namespace xflow::cli {

// Whether the arguments of `xflow verify` are two models.
bool are_two_models(const std::vector<std::string>& arguments);

ExitCode verify_two_models(const std::string& a, const std::string& b, VerifyModelsOptions options, const PrintOptions& printing);

}  // namespace xflow::cli
