#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xflow/rules.h>

#include <memory>
#include <set>

#include "src/cli/command.h"
#include "src/cli/derive_options.h"

namespace xflow::cli {
namespace {

struct DeriveArguments {
  std::vector<std::string> rule;
  std::vector<std::string> by;
  DeriveLimits limits;
  bool from_source = false;
};

// The rules to derive from: those of --by, else the others of the files, or the shipped rules.
Result<RuleSet> means_of(const DeriveArguments& a, const RuleSelection& selected) {
  if (!a.by.empty()) {
    XFLOW_TRY(RuleSelection by, select_rules(a.by));
    return std::move(by.rules);
  }
  return selected.others.size() > 0 ? selected.others : RuleSet::shipped();
}

std::string why_not_derived(const Derivation& found, const DeriveLimits& limits) {
  if (found.complete) return "no more rules apply";
  return fmt::format("{} round{} and {} terms were not enough", limits.rounds, limits.rounds == 1 ? "" : "s", limits.terms);
}

// Prints the steps of a derivation. Cases that apply the same sequence of rules are printed once.
void print_steps(const Derivation& found) {
  std::set<std::vector<std::string>> shown;
  for (const Derivation::Case& one : found.cases) {
    std::vector<std::string> applied;
    applied.reserve(one.steps.size());
    for (const Derivation::Step& step : one.steps) applied.push_back(step.rule);
    if (!shown.insert(std::move(applied)).second) continue;
    print(fmt::format("  {}\n", one.place));
    for (const Derivation::Step& step : one.steps) print(fmt::format("    {}: {} = {}\n", step.rule, step.from, step.to));
  }
}

ExitCode derive_one(const DeriveArguments& a) {
  const auto selected = select_rules(a.rule);
  if (!selected) return report(selected.error());
  const auto means = means_of(a, *selected);
  if (!means) return report(means.error());
  const auto found = derive(selected->rules, *means, a.limits, a.from_source);
  if (!found) return report(found.error());
  const std::string& name = selected->rules.rule(0).name;
  if (!found->derived) {
    print(fmt::format("{}: not derived: {}\n  {}\n", name, why_not_derived(*found, a.limits), found->cases.back().place));
    return ExitCode::negative;
  }
  const std::string many = found->cases.size() == 1 ? "" : fmt::format(" in each of {} cases", found->cases.size());
  if (found->rules.empty()) {
    print(fmt::format("{}: derived{}: both sides are one graph\n", name, many));
    return ExitCode::done;
  }
  print(fmt::format("{}: derived{} by {}\n", name, many, fmt::join(found->rules, ", ")));
  print_steps(*found);
  return ExitCode::done;
}

}  // namespace

void add_rules_derive(CLI::App& sub, Command& command) {
  auto a = std::make_shared<DeriveArguments>();
  sub.add_option("RULE", a->rule, "name of a shipped rule, a file with one rule, or files and a name")->required();
  sub.add_option("--by", a->by, "rules to derive from: files, folders or names");
  add_derive_limits(sub, a->limits);
  sub.add_flag("--from-source", a->from_source, "start from the source alone and look for the target");
  sub.footer("Without --by a rule is derived from the other rules of its files, or from the shipped rules.\n\n" +
             examples({"xflow rules derive associate-matmul-left", "xflow rules derive my-rule my.rules --by others.rules",
                       "xflow rules derive my.rules --rounds 8 --terms 10000"}));
  sub.callback([a, &command] { command.run = [a] { return derive_one(*a); }; });
}

}  // namespace xflow::cli
