// A training of GO.
#pragma once

#include <xflow/train_policy.h>

namespace xflow::policy {

// Trains a policy of the method go, as xflow::train_policy(). A step is an update of one of eight graphs,
// which are replaced one by one: each has 24 updates from the plan of HEFT on, each of them from the best
// plan so far. Errors: those of xflow::train_policy().
Result<TrainPolicyResult> go_train(const TrainPolicyOptions& options);

}  // namespace xflow::policy
