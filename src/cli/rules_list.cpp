#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "src/cli/command.h"
#include "src/cli/rule_arguments.h"

namespace xflow::cli {
namespace {

struct ListArguments {
  std::vector<std::string> rules;
  bool json = false;
};

ExitCode list(const ListArguments& a) {
  const auto selected = select_rules(a.rules);
  if (!selected) return report(selected.error());
  nlohmann::ordered_json json;
  json["rules"] = nlohmann::ordered_json::array();
  for (const rules::Rule& r : selected->rules) {
    if (!a.json) {
      print(fmt::format("  {:<44} {:<8}  {:<22}  {}\n", r.name, rules::name(r.float_class), r.file, equation_of(r)));
      continue;
    }
    json["rules"].push_back({{"rule", r.name},
                             {"equation", equation_of(r)},
                             {"comment", r.comment},
                             {"numbers", rules::name(r.float_class)},
                             {"number_effects", r.number_effects},
                             {"file", r.file},
                             {"place", rules::place_text(r.file, r.place)},
                             {"hash", r.hash.to_string()}});
  }
  if (a.json) print(json.dump(2) + "\n");
  return ExitCode::done;
}

}  // namespace

void add_rules_list(CLI::App& rules, Command& command) {
  auto a = std::make_shared<ListArguments>();
  CLI::App* sub = rules.add_subcommand("list", "One line a rule: name, what it does to floating point, file, equation");
  sub->add_option("RULES", a->rules, "files, folders of *.rules files, or names of rules; none: the shipped rules");
  sub->add_flag("--json", a->json, "the same as JSON");
  sub->footer(examples({"xflow rules list", "xflow rules list my.rules --json"}));
  sub->callback([a, &command] { command.run = [a] { return list(*a); }; });
}

}  // namespace xflow::cli
