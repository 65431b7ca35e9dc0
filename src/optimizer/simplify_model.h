// Cleans up an ONNX model.
#pragma once

#include <xflow/error.h>
#include <xflow/simplify.h>

#include <string>
#include <string_view>

namespace xflow::api {

class Session;

// Implement simplify and simplify_file of <xflow/simplify.h>, which catch exceptions.
Result<SimplifyResult> simplify_model(std::string_view model, const SimplifyOptions& options, Session& session);
Result<SimplifyReport> simplify_model_file(const std::string& input, const std::string& output, const SimplifyOptions& options,
                                           Session& session);

}  // namespace xflow::api
