// What a model looks like, for people.
#pragma once

#include <xflow/result.h>

#include <string>

namespace xflow::api {

// Format and opsets, inputs, outputs, operators by count, constants, and what the optimiser does not cross. Errors as Document::open.
Result<std::string> show_model(const std::string& path);

}  // namespace xflow::api
