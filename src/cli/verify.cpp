#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "src/cli/command.h"
#include "src/rules/rule_set.h"
#include "src/verifier/prove_rules.h"

namespace xflow::cli {
namespace {

struct Arguments {
  std::vector<std::string> paths;
  int jobs = 1;
  bool normal_forms = false;
};

Result<std::vector<rules::Rule>> read_all(const std::vector<std::string>& paths) {
  std::vector<rules::Rule> all;
  for (const std::string& path : paths) {
    XFLOW_TRY(const std::vector<std::string> files, rules::rule_files(path));
    for (const std::string& file : files) {
      XFLOW_TRY(const std::string text, rules::read_rule_file(file));
      XFLOW_TRY(std::vector<rules::Rule> more, rules::parse_rules(text, file));
      for (rules::Rule& rule : more) all.push_back(std::move(rule));
    }
  }
  return all;
}

ExitCode run(const Arguments& a) {
  const auto rules = read_all(a.paths);
  if (!rules) return report(rules.error());
  if (rules->empty()) return report(Error{ErrorCode::unreadable, "no rules in the files", a.paths.front()});
  std::size_t proved = 0;
  for (const verifier::RuleDecision& d : verifier::decide(*rules, {}, a.jobs)) {
    if (d.verdict == verifier::Verdict::proved) ++proved;
    std::printf("%s\n", fmt::format("{:<44} {:<9} {:>7.1f} ms  {}", d.rule, verifier::name(d.verdict),
                                    static_cast<double>(d.microseconds) / 1000, d.explanation())
                            .c_str());
    if (a.normal_forms) std::printf("  source: %s\n  target: %s\n", d.decision.normal_source.c_str(), d.decision.normal_target.c_str());
  }
  std::printf("%zu of %zu rules proved\n", proved, rules->size());
  return proved == rules->size() ? ExitCode::done : ExitCode::negative;
}

}  // namespace

void add_verify(CLI::App& app, Command& command) {
  auto a = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("verify", "Decide rules for all shapes: proved, refuted by a counterexample, or unknown");
  sub->add_option("RULES", a->paths, "files of rules, or folders of *.rules files")->required();
  sub->add_option("--jobs", a->jobs, "rules decided at a time")->capture_default_str()->check(CLI::Range(1, 1024));
  sub->add_flag("--normal-forms", a->normal_forms, "also print what both sides compute, in index notation");
  sub->footer(examples({"xflow verify my.rules", "xflow verify substitutions --jobs 2"}));
  sub->callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
