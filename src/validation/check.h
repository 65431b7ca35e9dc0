// Whether two models compute the same: both are run, on the same inputs.
#pragma once

#include <xflow/check.h>

#include <string>

namespace xflow::api {

// check_files of <xflow/check.h>.
Result<CheckReport> check_models(const std::string& a, const std::string& b, const CheckOptions& options);

}  // namespace xflow::api
