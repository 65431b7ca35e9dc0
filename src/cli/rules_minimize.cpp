#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "src/cli/command.h"
#include "src/cli/derive_options.h"
#include "src/cli/rule_arguments.h"
#include "src/generator/rules/derived_rules.h"
#include "src/support/file.h"

namespace xflow::cli {
namespace {

struct MinimizeArguments {
  std::string folder;
  std::string out;
  generator::DeriveLimits limits;
};

ExitCode minimize(const MinimizeArguments& a) {
  const auto read = read_rules(a.folder);
  if (!read) return report(read.error());
  const std::vector<rules::Rule>& rules = *read;
  generator::RuleSetDeriver deriver(rules);
  generator::MinimalRules minimal;
  {
    ProgressLine line;
    minimal = generator::minimize(deriver, rules, a.limits,
                                  [&](std::size_t seen, std::size_t of) { line.show(fmt::format("deriving: step {} of {}", seen, of)); });
  }
  if (!a.out.empty()) {
    std::string text;
    for (const std::size_t k : minimal.kept) text += (text.empty() ? "" : "\n") + rules::print(rules[k]);
    const std::string_view chunk = text;
    if (const auto written = onnx_io::write_file(a.out, {&chunk, 1}); !written) return report(written.error());
  }
  for (const auto& removed : minimal.removed) {
    std::vector<std::string> by;
    by.reserve(removed.by.size());
    for (const std::size_t k : removed.by) by.push_back(rules[k].name);
    print(fmt::format("  {}: {}\n", rules[removed.rule].name,
                      by.empty() ? "both sides are one graph" : fmt::format("derived by {}", fmt::join(by, ", "))));
  }
  for (const std::size_t k : minimal.no_goals) print(fmt::format("  kept: {}\n", deriver.not_a_goal(k)->text()));
  print(fmt::format("{} of {} rules derive the others\n", minimal.kept.size(), rules.size()));
  return ExitCode::done;
}

}  // namespace

void add_rules_minimize(CLI::App& rules, Command& command) {
  auto a = std::make_shared<MinimizeArguments>();
  CLI::App* sub = rules.add_subcommand("minimize", "Say which rules of a folder the others, used both ways, derive");
  sub->add_option("DIR", a->folder, "folder of *.rules files, or one file")->required();
  sub->add_option("--out", a->out, "write the rules that are kept to this file");
  add_derive_limits(*sub, a->limits);
  sub->footer(examples({"xflow rules minimize my-rules", "xflow rules minimize my-rules --out fewer.rules"}));
  sub->callback([a, &command] { command.run = [a] { return minimize(*a); }; });
}

}  // namespace xflow::cli
