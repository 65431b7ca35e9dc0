#include "xflow/optimize.h"

#include "src/optimizer/optimize_model.h"
#include "src/support/exceptions.h"
#include "src/validation/sizes.h"

namespace xflow {

Result<InputShape> parse_input_shape(std::string_view text) { return api::parse_shape(text); }

Result<OptimizeResult> optimize(std::string_view model, const OptimizeOptions& options, const ProgressCallback& progress) {
  return api::guarded<OptimizeResult>([&] { return api::optimize_model(model, options, progress); });
}

Result<OptimizeReport> optimize_file(const std::string& input, const std::string& output, const OptimizeOptions& options,
                                     const ProgressCallback& progress) {
  return api::guarded<OptimizeReport>([&] { return api::optimize_model_file(input, output, options, progress); });
}

}  // namespace xflow
