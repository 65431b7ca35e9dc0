#include "xflow/verify_models.h"

#include "src/equivalence/prove_models.h"
#include "src/support/exceptions.h"

namespace xflow {

Result<ModelProof> verify_files(const std::string& a, const std::string& b, const VerifyModelsOptions& options) {
  return api::guarded<ModelProof>([&] {
    api::Session session;
    return equivalence::prove_models(a, b, options, session);
  });
}

}  // namespace xflow
