#include "src/verifier/guards/sampled_instances.h"

#include <algorithm>

namespace xflow::verifier {

Result<std::vector<rules::RuleInstance>> sampled_instances(const rules::Rule& rule, std::size_t most, std::size_t kept,
                                                           const std::function<bool()>& ends) {
  std::vector<rules::RuleInstance> all;
  std::size_t count = 0;
  XFLOW_CHECK(rules::for_each_instance(
      rule,
      [&](rules::RuleInstance instance) {
        if (++count <= kept) all.push_back(std::move(instance));
        if (count > kept) all.clear();
        return true;
      },
      ends));
  const std::size_t stride = std::max<std::size_t>(1, count / most);
  std::vector<rules::RuleInstance> result;
  if (count <= kept) {
    for (std::size_t k = 0; k < count && result.size() < most; k += stride) result.push_back(std::move(all[k]));
    return result;
  }
  std::size_t number = 0;
  XFLOW_CHECK(rules::for_each_instance(
      rule,
      [&](rules::RuleInstance instance) {
        if (number++ % stride == 0) result.push_back(std::move(instance));
        return result.size() < most;
      },
      ends));
  return result;
}

}  // namespace xflow::verifier
