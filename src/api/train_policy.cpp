#include "xflow/train_policy.h"

#include <fmt/format.h>

#include "src/policy/graph_families.h"
#include "src/policy/train_policy.h"
#include "src/support/exceptions.h"

namespace xflow {

std::vector<std::string> graph_family_names() { return policy::graph_families(); }

std::string TrainPolicyResult::to_text() const {
  std::string text = fmt::format("steps       {}\n", steps);
  text += fmt::format("stop        {}\n", to_string(stop));
  text += fmt::format("seed        {}\n", seed);
  text += fmt::format("validation  {:.4f} of the first placement's value, geometric mean over {} graphs\n", ratio, graphs);
  return text;
}

Result<TrainPolicyResult> train_policy(const TrainPolicyOptions& options) {
  return api::guarded<TrainPolicyResult>([&] { return policy::train(options); });
}

}  // namespace xflow
