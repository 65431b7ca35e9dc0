// Policies and their files.
#pragma once

#include <xflow/place.h>
#include <xflow/train_policy.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/parallel/placement_problem.h"
#include "src/policy/matrix.h"

namespace xflow::policy {

// The state of a training that continues later.
struct TrainingState {
  std::uint64_t steps = 0;
  std::uint64_t seed = 1;
  double best_score = 0;          // of the policy's weights: mean logarithm of value / first value, negative
  std::vector<Matrix> weights;    // of the last step
  std::vector<Matrix> moments;    // means of derivatives (Adam)
  std::vector<Matrix> variances;  // means of their squares
};

struct Policy {
  PolicyMethod method = PolicyMethod::placeto;
  PolicyObjective objective = PolicyObjective::max_load;
  std::vector<Matrix> weights;  // as network_weights()
  TrainingState training;
  // Of graphs that it was trained for, the best placement that the training has passed.
  std::vector<parallel::GroupDevices> placements;
};

// The method of the policy in a file. Errors: io; unreadable for a file that is no policy.
Result<PolicyMethod> method_of_policy(const std::string& path);

// An .npz file: "policy" holds the version of the format, the method, the objective and the numbers of
// features; "training" holds steps and seed; each weight has an array of its name, and three more with the
// prefixes "last/", "moment/" and "variance/"; each placement is "placement/0" and so on. Equal policies
// give equal bytes. Errors: io.
Result<void> write_policy(const std::string& path, const Policy& policy);

// Errors: io; unreadable for a file that is not one, of another version, or with other features or sizes.
Result<Policy> read_policy(const std::string& path);

}  // namespace xflow::policy
