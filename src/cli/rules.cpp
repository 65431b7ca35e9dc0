#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "src/cli/command.h"
#include "src/optimizer/shipped_rules.h"
#include "src/rules/rule_set.h"
#include "src/verifier/checker/records.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::cli {
namespace {

struct RulesArguments {
  std::vector<std::string> paths;
  int jobs = 1;
};

struct Checked {
  std::vector<rules::Rule> rules;
  verifier::RecordFile records;
};

Result<Checked> shipped() {
  XFLOW_TRY(std::vector<rules::Rule> rules, api::shipped_rules());
  XFLOW_TRY(verifier::RecordFile records, api::shipped_records());
  return Checked{std::move(rules), std::move(records)};
}

// The rules of the files, and the records that stand beside them.
Result<Checked> beside(const std::vector<std::string>& paths) {
  Checked all;
  for (const std::string& path : paths) {
    XFLOW_TRY(const std::vector<std::string> files, rules::rule_files(path));
    for (const std::string& file : files) {
      XFLOW_TRY(const std::string text, rules::read_rule_file(file));
      XFLOW_TRY(std::vector<rules::Rule> rules, rules::parse_rules(text, file));
      XFLOW_TRY(verifier::RecordFile records, verifier::read_records(verifier::records_path(file)));
      all.rules.insert(all.rules.end(), std::make_move_iterator(rules.begin()), std::make_move_iterator(rules.end()));
      all.records.rules.insert(all.records.rules.end(), records.rules.begin(), records.rules.end());
    }
  }
  return all;
}

ExitCode run(const RulesArguments& a) {
  const Result<Checked> checked = a.paths.empty() ? shipped() : beside(a.paths);
  if (!checked) return report(checked.error());
  if (checked->rules.empty()) return report(Error{ErrorCode::unreadable, "no rules in the files", a.paths.front()});
  std::size_t accepted = 0;
  for (const std::string& failure : verifier::replay(checked->rules, checked->records, {}, a.jobs)) {
    if (failure.empty()) {
      ++accepted;
    } else {
      print(failure + "\n");
    }
  }
  print(fmt::format("{} of {} proofs accepted\n", accepted, checked->rules.size()));
  return accepted == checked->rules.size() ? ExitCode::done : ExitCode::negative;
}

struct Renewal {
  std::string folder;
  int jobs = 1;
};

ExitCode renew(const Renewal& a) {
  if (const auto renewed = verifier::renew_records(a.folder, {}, a.jobs); !renewed) return report(renewed.error());
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
