#include "xflow/rules.h"

#include <fmt/format.h>

#include <memory>

#include "src/cli/command.h"

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

struct Renewal {
  std::string folder;
  int jobs = 1;
};

ExitCode renew(const Renewal& a) {
  if (const auto renewed = renew_records(a.folder, a.jobs); !renewed) return report(renewed.error());
  print("every rule is proved; the records are written\n");
  return ExitCode::done;
}

}  // namespace

void add_rules(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("rules", "List rules, say which are derived by others, check or renew the records of their proofs");
  sub->require_subcommand(1);
  auto a = std::make_shared<RulesArguments>();
  CLI::App* check = sub->add_subcommand(
      "check", "Replay the records of proofs without search: those of the shipped rules, or NAME.proofs beside NAME.rules");
  check->add_option("RULES", a->paths, "files of rules, or folders of *.rules files; none: the shipped rules");
  check->add_option("--jobs", a->jobs, "proofs replayed at a time")->capture_default_str()->check(CLI::Range(1, 1024));
  check->footer(examples({"xflow rules check", "xflow rules check my.rules --jobs 2"}));
  check->callback([a, &command] { command.run = [a] { return run(*a); }; });
  auto b = std::make_shared<Renewal>();
  CLI::App* renewal =
      sub->add_subcommand("renew", "Decide the rules of a folder and, if all are proved, write NAME.proofs beside NAME.rules");
  renewal->add_option("FOLDER", b->folder, "folder of *.rules files")->required();
  renewal->add_option("--jobs", b->jobs, "rules decided at a time")->capture_default_str()->check(CLI::Range(1, 1024));
  renewal->footer(examples({"xflow rules renew my-rules --jobs 2"}));
  renewal->callback([b, &command] { command.run = [b] { return renew(*b); }; });
  add_rules_list(*sub, command);
  add_rules_stats(*sub, command);
  add_rules_derive(*sub, command);
  add_rules_minimize(*sub, command);
}

}  // namespace xflow::cli
