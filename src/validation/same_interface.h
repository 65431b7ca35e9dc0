// Compares the inputs and outputs of two models.
#pragma once

#include "src/support/acceptance.h"
#include "src/validation/runnable.h"

namespace xflow::api {

// Whether the models have the same interface; refused with one line that names the first difference.
Acceptance same_interface(const Runnable& a, const Runnable& b);

}  // namespace xflow::api
