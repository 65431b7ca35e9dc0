// Compares two models: runs both on the same inputs and compares their outputs.
#pragma once

#include <xflow/check.h>

#include <string>

namespace xflow::api {

// Implements check_files of <xflow/check.h>.
Result<CheckReport> check_models(const std::string& a, const std::string& b, const CheckOptions& options);

}  // namespace xflow::api
