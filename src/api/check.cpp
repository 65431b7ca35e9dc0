#include "xflow/check.h"

#include "src/support/exceptions.h"
#include "src/validation/check.h"

namespace xflow {

Result<CheckReport> check_files(const std::string& a, const std::string& b, const CheckOptions& options) {
  return api::guarded<CheckReport>([&] { return api::check_models(a, b, options); });
}

}  // namespace xflow
