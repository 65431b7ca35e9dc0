#include "src/rules/instantiate.h"

#include <fmt/format.h>

#include "src/rules/instance_run.h"

namespace xflow::rules {

Result<void> for_each_instance(const Rule& rule, const std::function<bool(RuleInstance)>& use, const std::function<bool()>& ends) {
  Choices choices;
  std::string reason;
  std::size_t runs = 0;
  bool any = false;
  const std::string where = place_text(rule.file, rule.place);
  do {
    if (++runs > kMaxChoices) {
      return fail(
          ErrorCode::limit,
          fmt::format("rule {}: more than {} choices are open; bound ranks by a guard such as rank(x) <= 4", rule.name, kMaxChoices),
          where);
    }
    if (ends && ends()) return fail(ErrorCode::limit, "the time limit was reached", where);
    auto instance = InstanceRun(rule, choices).build(reason);
    if (!instance) {
      Error error = std::move(instance).error();
      error.where = where;
      error.message = fmt::format("rule {}: {}", rule.name, error.message);
      return fail(std::move(error));
    }
    if (!*instance) continue;
    any = true;
    if (!use(*std::move(*instance))) return {};
  } while (choices.advance());
  if (any) return {};
  return fail(ErrorCode::ill_typed, fmt::format("rule {}: no shapes type its source: {}", rule.name, reason), where);
}

Result<std::vector<RuleInstance>> instantiate(const Rule& rule, std::size_t most, const std::function<bool()>& ends) {
  std::vector<RuleInstance> instances;
  bool too_many = false;
  XFLOW_CHECK(for_each_instance(
      rule,
      [&](RuleInstance instance) {
        too_many = instances.size() == most;
        if (!too_many) instances.push_back(std::move(instance));
        return !too_many;
      },
      ends));
  if (too_many)
    return fail(ErrorCode::limit, fmt::format("rule {}: more than {} choices are open", rule.name, most),
                place_text(rule.file, rule.place));
  return instances;
}

}  // namespace xflow::rules
