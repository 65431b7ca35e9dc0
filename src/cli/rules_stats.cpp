#include <fmt/format.h>
#include <xflow/rules.h>
#include <xflow/text.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "src/cli/command.h"
#include "src/cli/derive_options.h"

namespace xflow::cli {
namespace {

struct StatsArguments {
  std::vector<std::string> rules;
  bool derive = false;
  bool json = false;
  DeriveLimits limits;
};

// A titled table of counts.
struct StatsTable {
  std::string title;
  std::string key;  // key in the JSON output
  std::vector<std::pair<std::string, std::size_t>> rows;
};

// Counts equal names. Rows are sorted by name; numbers are sorted by value.
StatsTable table(std::string title, std::string key, const std::vector<std::string>& names) {
  const auto less = [](const std::string& a, const std::string& b) {
    const bool numbers = std::isdigit(static_cast<unsigned char>(a[0])) != 0 && std::isdigit(static_cast<unsigned char>(b[0])) != 0;
    return numbers && a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  std::map<std::string, std::size_t, decltype(less)> count(less);
  for (const std::string& n : names) ++count[n];
  return {std::move(title), std::move(key), {count.begin(), count.end()}};
}

std::vector<StatsTable> tables(const RuleSet& rules) {
  std::vector<std::string> files;
  std::vector<std::string> numbers;
  std::vector<std::string> sizes;
  std::vector<std::string> operators;
  StatsTable direction{"the target has", "direction", {{"fewer operations", 0}, {"as many operations", 0}, {"more operations", 0}}};
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const RuleInfo& r = rules.rule(k);
    files.push_back(r.file);
    numbers.emplace_back(to_string(r.float_class));
    sizes.push_back(std::to_string(r.source_operations));
    operators.insert(operators.end(), r.source_operators.begin(), r.source_operators.end());
    ++direction.rows[r.target_operations < r.source_operations ? 0 : r.target_operations == r.source_operations ? 1 : 2].second;
  }
  return {table("file", "files", files), table("floating point", "numbers", numbers),
          table("operations of the source", "source_operations", sizes), table("operator in the source", "operators", operators),
          std::move(direction)};
}

Result<StatsTable> derivations(const RuleSet& rules, const DeriveLimits& limits) {
  ProgressLine line;
  XFLOW_TRY(const DerivedCounts counts, count_derived(rules, limits, [&](std::size_t seen, std::size_t of) {
              line.show(fmt::format("deriving {} of {} rules", seen, of));
            }));
  return StatsTable{"the other rules, used both ways",
                    "derived",
                    {{"derive it", counts.derived}, {"do not derive it", counts.not_derived}, {"cannot speak of it", counts.unsupported}}};
}

ExitCode stats(const StatsArguments& a) {
  const auto selected = select_rules(a.rules);
  if (!selected) return report(selected.error());
  std::vector<StatsTable> all = tables(selected->rules);
  if (a.derive) {
    auto derived = derivations(selected->rules, a.limits);
    if (!derived) return report(derived.error());
    all.push_back(*std::move(derived));
  }
  if (a.json) {
    nlohmann::ordered_json json;
    json["rules"] = selected->rules.size();
    for (const StatsTable& t : all)
      for (const auto& [name, count] : t.rows) json[t.key][name] = count;
    print(printable_json(json.dump(2)) + "\n");
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

void add_rules_stats(CLI::App& sub, Command& command) {
  auto a = std::make_shared<StatsArguments>();
  sub.add_option("RULES", a->rules, "files, folders or names of rules; default: the shipped rules");
  sub.add_flag("--derive", a->derive, "also count the rules that the others derive (slower)");
  sub.add_flag("--json", a->json, "print JSON");
  add_derive_limits(sub, a->limits);
  sub.footer(examples({"xflow rules stats", "xflow rules stats my-rules --derive"}));
  sub.callback([a, &command] { command.run = [a] { return stats(*a); }; });
}

}  // namespace xflow::cli
