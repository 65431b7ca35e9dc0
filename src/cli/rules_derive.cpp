#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>
#include <set>

#include "src/cli/command.h"
#include "src/cli/derive_options.h"
#include "src/cli/rule_arguments.h"
#include "src/generator/rules/derived_rules.h"
#include "src/optimizer/shipped_rules.h"

namespace xflow::cli {
namespace {

struct DeriveArguments {
  std::vector<std::string> rule;
  std::vector<std::string> by;
  generator::DeriveLimits limits;
  bool from_source = false;
};

// The rule that is asked for, first, and the rules that may be used.
Result<std::vector<rules::Rule>> goal_and_means(const DeriveArguments& a) {
  XFLOW_TRY(SelectedRules selected, select_rules(a.rule));
  if (selected.rules.size() != 1)
    return fail(ErrorCode::invalid_argument, fmt::format("one rule is derived at a time, found {}; give its name", selected.rules.size()));
  std::vector<rules::Rule> result = std::move(selected.rules);
  std::vector<rules::Rule> means = std::move(selected.others);
  if (!a.by.empty()) {
    XFLOW_TRY(SelectedRules by, select_rules(a.by));
    means = std::move(by.rules);
  } else if (means.empty()) {
    XFLOW_TRY(means, api::shipped_rules());
  }
  std::erase_if(means, [&](const rules::Rule& r) { return r.hash == result[0].hash || r.name == result[0].name; });
  if (means.empty())
    return fail(ErrorCode::invalid_argument, fmt::format("no rules to derive '{}' by; give others with --by", result[0].name));
  result.insert(result.end(), std::make_move_iterator(means.begin()), std::make_move_iterator(means.end()));
  return result;
}

// A term over x1, x2, ... with the names of the rule's variables.
std::string with_names(const std::string& term, const std::vector<std::string>& names) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string text;
  for (std::size_t k = 0; k < term.size();) {
    std::size_t end = k;
    while (end < term.size() && is_word(term[end])) ++end;
    const std::string word = term.substr(k, end == k ? 1 : end - k);
    const bool is_input =
        word.size() > 1 && word[0] == 'x' && std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '9'; });
    text += is_input ? names[std::stoul(word.substr(1)) - 1] : word;
    k += word.size();
  }
  return text;
}

std::string place_of(const generator::RuleGoal& goal, const generator::Vocabulary& vocabulary) {
  const std::string inputs = goal.inputs_text(vocabulary);
  return goal.choice.empty() ? inputs : fmt::format("{}; {}", goal.choice, inputs);
}

ExitCode derive(const DeriveArguments& a) {
  const auto rules = goal_and_means(a);
  if (!rules) return report(rules.error());
  generator::RuleSetDeriver deriver(*rules);
  if (const Error* error = deriver.not_a_goal(0)) return report(*error);
  const std::vector<generator::RuleGoal>& goals = deriver.goals(0);
  const generator::RuleDerivation found =
      deriver.derive(0, a.limits, a.from_source ? generator::Goal::rewrite : generator::Goal::equal, true);
  const std::string& name = rules->front().name;
  const std::string many = goals.size() == 1 ? "" : fmt::format(" in each of {} cases", goals.size());
  if (!found.derived) {
    const generator::RuleGoal& open = goals[found.answers.size() - 1];
    const std::string why = found.answers.back().complete ? std::string("nothing more can be applied")
                                                          : fmt::format("{} round{} and {} terms were not enough", a.limits.rounds,
                                                                        a.limits.rounds == 1 ? "" : "s", a.limits.terms);
    print(fmt::format("{}: not derived: {}\n  {}\n", name, why, place_of(open, deriver.vocabulary())));
    return ExitCode::negative;
  }
  std::vector<std::string> used;
  used.reserve(found.rules.size());
  for (const std::size_t r : found.rules) used.push_back((*rules)[r].name);
  if (used.empty()) {
    print(fmt::format("{}: derived{}: both sides are one graph\n", name, many));
    return ExitCode::done;
  }
  print(fmt::format("{}: derived{} by {}\n", name, many, fmt::join(used, ", ")));
  // Cases in which the same rules are applied one after the other are shown once.
  std::set<std::vector<std::size_t>> shown;
  for (std::size_t k = 0; k < goals.size(); ++k) {
    std::vector<std::size_t> applied;
    for (const generator::Deriver::Step& s : found.answers[k].steps) applied.push_back(s.rule);
    if (!shown.insert(applied).second) continue;
    print(fmt::format("  {}\n", place_of(goals[k], deriver.vocabulary())));
    for (const generator::Deriver::Step& s : found.answers[k].steps)
      print(fmt::format("    {}: {} = {}\n", (*rules)[s.rule].name, with_names(s.from, goals[k].names), with_names(s.to, goals[k].names)));
  }
  return ExitCode::done;
}

}  // namespace

void add_rules_derive(CLI::App& rules, Command& command) {
  auto a = std::make_shared<DeriveArguments>();
  CLI::App* sub = rules.add_subcommand("derive", "Say whether other rules, used both ways, derive a rule, and show the steps");
  sub->add_option("RULE", a->rule, "name of a shipped rule, a file with one rule, or files and a name")->required();
  sub->add_option("--by", a->by, "files, folders or names of rules that may be used; none: the others of the files, or the shipped rules");
  add_derive_limits(*sub, a->limits);
  sub->add_flag("--from-source", a->from_source, "begin with the source alone, as a search does: the target has to be found");
  sub->footer(examples({"xflow rules derive associate-matmul-left", "xflow rules derive my-rule my.rules --by others.rules",
                        "xflow rules derive my.rules --rounds 8 --terms 10000"}));
  sub->callback([a, &command] { command.run = [a] { return derive(*a); }; });
}

}  // namespace xflow::cli
