#include "xflow/simplify.h"

#include "src/optimizer/session.h"
#include "src/optimizer/simplify_model.h"
#include "src/support/exceptions.h"

namespace xflow {

Result<SimplifyResult> simplify(std::string_view model, const SimplifyOptions& options) {
  return api::guarded<SimplifyResult>([&] {
    api::Session session;
    return api::simplify_model(model, options, session);
  });
}

Result<SimplifyReport> simplify_file(const std::string& input, const std::string& output, const SimplifyOptions& options) {
  return api::guarded<SimplifyReport>([&] {
    api::Session session;
    return api::simplify_model_file(input, output, options, session);
  });
}

}  // namespace xflow
