// Compares the inputs and outputs of two models.
#pragma once

#include <optional>
#include <string>

#include "src/validation/runnable.h"

namespace xflow::api {

// Returns one line that names the first difference, or nothing if the interfaces are the same.
std::optional<std::string> interface_difference(const Runnable& a, const Runnable& b);

}  // namespace xflow::api
