#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xflow/rules.h>

#include <memory>

#include "src/cli/command.h"
#include "src/cli/derive_options.h"

namespace xflow::cli {
namespace {

struct MinimizeArguments {
  std::string folder;
  std::string out;
  DeriveLimits limits;
};

Result<MinimalRules> minimize_showing_progress(const RuleSet& rules, const DeriveLimits& limits) {
  ProgressLine line;
  return minimize(rules, limits, [&](std::size_t seen, std::size_t of) { line.show(fmt::format("deriving: step {} of {}", seen, of)); });
}

ExitCode run(const MinimizeArguments& a) {
  const auto rules = RuleSet::read({a.folder});
  if (!rules) return report(rules.error());
  const auto minimal = minimize_showing_progress(*rules, a.limits);
  if (!minimal) return report(minimal.error());
  if (!a.out.empty()) {
    if (const auto written = minimal->kept.write(a.out); !written) return report(written.error());
  }
  for (const MinimalRules::Removed& removed : minimal->removed) {
    const std::string by = fmt::format("derived by {}", fmt::join(removed.by, ", "));
    print(fmt::format("  {}: {}\n", removed.rule, removed.by.empty() ? "both sides are one graph" : by));
  }
  for (const std::string& reason : minimal->unsupported) print(fmt::format("  kept: {}\n", reason));
  print(fmt::format("{} of {} rules derive the others\n", minimal->kept.size(), rules->size()));
  return ExitCode::done;
}

}  // namespace

void add_rules_minimize(CLI::App& sub, Command& command) {
  auto a = std::make_shared<MinimizeArguments>();
  sub.add_option("DIR", a->folder, "folder of *.rules files, or one file")->required();
  sub.add_option("--out", a->out, "write the kept rules to this file");
  add_derive_limits(sub, a->limits);
  sub.footer(examples({"xflow rules minimize my-rules", "xflow rules minimize my-rules --out fewer.rules"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
