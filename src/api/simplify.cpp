#include "xflow/simplify.h"

#include "src/api/exceptions.h"
#include "src/api/simplify_model.h"

namespace xflow {

Result<SimplifyResult> simplify(std::string_view model, const SimplifyOptions& options) {
  return api::guarded<SimplifyResult>([&] { return api::simplify_model(model, options); });
}

Result<SimplifyReport> simplify_file(const std::string& input, const std::string& output, const SimplifyOptions& options) {
  return api::guarded<SimplifyReport>([&] { return api::simplify_model_file(input, output, options); });
}

}  // namespace xflow
