// Optimises an ONNX model.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <string>
#include <string_view>

namespace xflow::api {

class Session;

// Implement optimize and optimize_file of <xflow/optimize.h>, which catch exceptions.
Result<OptimizeResult> optimize_model(std::string_view model, const OptimizeOptions& options, const ProgressCallback& progress,
                                      Session& session);
Result<OptimizeReport> optimize_model_file(const std::string& input, const std::string& output, const OptimizeOptions& options,
                                           const ProgressCallback& progress, Session& session);

}  // namespace xflow::api
