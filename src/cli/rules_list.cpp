#include <fmt/format.h>
#include <xflow/rules.h>
#include <xflow/text.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "src/cli/command.h"

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
  for (std::size_t k = 0; k < selected->rules.size(); ++k) {
    const RuleInfo& r = selected->rules.rule(k);
    if (!a.json) {
      print(fmt::format("  {:<44} {:<8}  {:<22}  {}\n", r.name, to_string(r.float_class), r.file, r.equation));
      continue;
    }
    json["rules"].push_back({{"rule", r.name},
                             {"equation", r.equation},
                             {"comment", r.comment},
                             {"numbers", to_string(r.float_class)},
                             {"number_effects", r.float_effects},
                             {"file", r.file},
                             {"place", r.place},
                             {"hash", r.hash}});
  }
  if (a.json) print(printable_json(json.dump(2)) + "\n");
  return ExitCode::done;
}

}  // namespace

void add_rules_list(CLI::App& sub, Command& command) {
  auto a = std::make_shared<ListArguments>();
  sub.add_option("RULES", a->rules, "files, folders or names of rules; default: the shipped rules");
  sub.add_flag("--json", a->json, "print JSON");
  sub.footer(examples({"xflow rules list", "xflow rules list my.rules --json"}));
  sub.callback([a, &command] { command.run = [a] { return list(*a); }; });
}

}  // namespace xflow::cli
