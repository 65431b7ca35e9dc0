// A training from options to file.
#pragma once

#include <xflow/train_policy.h>

namespace xflow::policy {

// Errors: those of xflow::train_policy().
Result<TrainPolicyResult> train(const TrainPolicyOptions& options);

}  // namespace xflow::policy
