#include <fmt/format.h>

#include <memory>

#include "src/cli/command.h"
#include "xflow/rules.h"

namespace xflow::cli {
namespace {

struct RulesArguments {
  std::vector<std::string> paths;
  int jobs = 1;
};

ExitCode run(const RulesArguments& a) {
  const auto checked = check_records(a.paths, a.jobs);
  if (!checked) return report(checked.error());
  for (const std::string& failure : checked->failures) print(failure + "\n");
  print(fmt::format("{} of {} proofs accepted\n", checked->accepted, checked->rules));
  return checked->accepted == checked->rules ? ExitCode::done : ExitCode::negative;
}

}  // namespace

void add_rules_check(CLI::App& sub, Command& command) {
  auto a = std::make_shared<RulesArguments>();
  sub.add_option("RULES", a->paths, "files or folders of rules; default: the shipped rules");
  sub.add_option("--jobs", a->jobs, "number of proofs replayed at a time")->capture_default_str()->check(CLI::Range(1, 1024));
  sub.footer(examples({"xflow rules check", "xflow rules check my.rules --jobs 2"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
