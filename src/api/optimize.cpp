#include "xflow/optimize.h"

#include "src/validation/sizes.h"
#include "xflow/context.h"

namespace xflow {

Result<InputShape> parse_input_shape(std::string_view text) { return api::parse_shape(text); }

Result<OptimizeResult> optimize(std::string_view model, const OptimizeOptions& options, const ProgressCallback& progress) {
  Context context;
  return optimize(context, model, options, progress);
}

Result<OptimizeReport> optimize_file(const std::string& input, const std::string& output, const OptimizeOptions& options,
                                     const ProgressCallback& progress) {
  Context context;
  return optimize_file(context, input, output, options, progress);
}

}  // namespace xflow
