#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "src/cli/command.h"
#include "src/cli/derive_options.h"
#include "src/cli/rule_arguments.h"
#include "src/generator/rules/derived_rules.h"

namespace xflow::cli {
namespace {

struct StatsArguments {
  std::vector<std::string> rules;
  bool derive = false;
  bool json = false;
  generator::DeriveLimits limits;
};

// Counts under one title, in their order.
struct StatsTable {
  std::string title;
  std::string key;  // in JSON
  std::vector<std::pair<std::string, std::size_t>> rows;
};

// In the order of the names, numbers by size.
StatsTable table(std::string title, std::string key, const std::vector<std::string>& names) {
  const auto less = [](const std::string& a, const std::string& b) {
    const bool numbers = std::isdigit(static_cast<unsigned char>(a[0])) != 0 && std::isdigit(static_cast<unsigned char>(b[0])) != 0;
    return numbers && a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  std::map<std::string, std::size_t, decltype(less)> count(less);
  for (const std::string& n : names) ++count[n];
  return {std::move(title), std::move(key), {count.begin(), count.end()}};
}

void operators_of(const rules::Term& term, std::set<std::string>& names) {
  if (term.kind == rules::Term::Kind::application) names.insert(term.name);
  for (const rules::Term& t : term.operands) operators_of(t, names);
}

std::vector<StatsTable> tables(const std::vector<rules::Rule>& rules) {
  std::vector<std::string> files;
  std::vector<std::string> numbers;
  std::vector<std::string> sizes;
  std::vector<std::string> operators;
  StatsTable direction{"the target has", "direction", {{"fewer operations", 0}, {"as many operations", 0}, {"more operations", 0}}};
  for (const rules::Rule& r : rules) {
    files.push_back(r.file);
    numbers.emplace_back(rules::name(r.float_class));
    const std::size_t source = generator::operations(r.source);
    const std::size_t target = generator::operations(r.target);
    sizes.push_back(std::to_string(source));
    std::set<std::string> names;
    for (const rules::Statement& s : r.source) operators_of(s.term, names);
    operators.insert(operators.end(), names.begin(), names.end());
    ++direction.rows[target < source ? 0 : target == source ? 1 : 2].second;
  }
  return {table("file", "files", files), table("floating point", "numbers", numbers),
          table("operations of the source", "source_operations", sizes), table("operator in the source", "operators", operators),
          std::move(direction)};
}

StatsTable derivations(const std::vector<rules::Rule>& rules, const generator::DeriveLimits& limits) {
  StatsTable result{"the other rules, used both ways", "derived", {{"derive it", 0}, {"do not derive it", 0}, {"cannot speak of it", 0}}};
  ProgressLine line;
  generator::RuleSetDeriver deriver(rules);
  for (std::size_t k = 0; k < rules.size(); ++k) {
    line.show(fmt::format("deriving {} of {} rules", k + 1, rules.size()));
    const std::size_t row = deriver.not_a_goal(k) != nullptr ? 2 : deriver.derive(k, limits).derived ? 0 : 1;
    ++result.rows[row].second;
  }
  return result;
}

ExitCode stats(const StatsArguments& a) {
  const auto selected = select_rules(a.rules);
  if (!selected) return report(selected.error());
  std::vector<StatsTable> all = tables(selected->rules);
  if (a.derive) all.push_back(derivations(selected->rules, a.limits));
  if (a.json) {
    nlohmann::ordered_json json;
    json["rules"] = selected->rules.size();
    for (const StatsTable& t : all)
      for (const auto& [name, count] : t.rows) json[t.key][name] = count;
    print(json.dump(2) + "\n");
    return ExitCode::done;
  }
  print(fmt::format("{} rules\n", selected->rules.size()));
  for (const StatsTable& t : all) {
    print(t.title + "\n");
    for (const auto& [name, count] : t.rows) print(fmt::format("{:6}  {}\n", count, name));
  }
  return ExitCode::done;
}

}  // namespace

void add_rules_stats(CLI::App& rules, Command& command) {
  auto a = std::make_shared<StatsArguments>();
  CLI::App* sub = rules.add_subcommand("stats", "Count rules: by file, floating point, operators, direction");
  sub->add_option("RULES", a->rules, "files, folders of *.rules files, or names of rules; none: the shipped rules");
  sub->add_flag("--derive", a->derive, "also how many are derived by the others, which takes longer");
  sub->add_flag("--json", a->json, "the same as JSON");
  add_derive_limits(*sub, a->limits);
  sub->footer(examples({"xflow rules stats", "xflow rules stats my-rules --derive"}));
  sub->callback([a, &command] { command.run = [a] { return stats(*a); }; });
}

}  // namespace xflow::cli
