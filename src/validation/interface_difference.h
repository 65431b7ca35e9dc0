// Whether two models have the same inputs and outputs.
#pragma once

#include <optional>
#include <string>

#include "src/validation/runnable.h"

namespace xflow::api {

// One line that names the first difference; nothing if there is none.
std::optional<std::string> interface_difference(const Runnable& a, const Runnable& b);

}  // namespace xflow::api
