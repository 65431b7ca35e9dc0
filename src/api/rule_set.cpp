#include "src/api/rule_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "src/generator/rules/derived_rules.h"
#include "src/optimizer/rule_text.h"
#include "src/optimizer/shipped_rules.h"
#include "src/rules/open_family.h"
#include "src/rules/verified_rules.h"
#include "src/support/exceptions.h"
#include "src/support/file.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow {
namespace {

void operators_of(const rules::Term& term, std::set<std::string>& names) {
  if (term.kind == rules::Term::Kind::application) names.insert(term.name);
  for (const rules::Term& operand : term.operands) operators_of(operand, names);
}

RuleInfo info_of(const rules::Rule& rule) {
  RuleInfo info;
  info.name = rule.name;
  info.equation = api::equation_of(rule);
  info.comment = rule.comment;
  info.float_class = rule.float_class;
  info.float_effects = rule.number_effects;
  for (const rules::Guard& guard : rule.guards) info.guards.push_back(rules::print(guard));
  info.file = rule.file;
  info.place = rules::place_text(rule.file, rule.place);
  info.hash = rule.hash.to_string();
  info.source_operations = generator::operations(rule.source);
  info.target_operations = generator::operations(rule.target);
  std::set<std::string> names;
  for (const rules::Statement& statement : rule.source) operators_of(statement.term, names);
  info.source_operators.assign(names.begin(), names.end());
  if (rule.family != nullptr) {
    info.family = rule.family->name();
    info.family_from = rule.family->from();
  }
  return info;
}

Result<RuleSet> read_shipped(RuleSet::Records wanted) {
  XFLOW_TRY(std::vector<rules::Rule> rules, api::shipped_rules());
  verifier::RecordFile records;
  if (wanted == RuleSet::Records::read) {
    XFLOW_TRY(records, api::shipped_records());
  }
  return api::make_rule_set(std::move(rules), std::move(records));
}

// Reads rule files and their records. `all_records`: a rule file without records is an error.
Result<RuleSet> read_paths(const std::vector<std::string>& paths, RuleSet::Records wanted, bool all_records = false) {
  std::vector<rules::Rule> rules;
  verifier::RecordFile records;
  for (const std::string& path : paths) {
    XFLOW_TRY(const std::vector<std::string> files, rules::rule_files(path));
    for (const std::string& file : files) {
      XFLOW_TRY(const std::string text, rules::read_rule_file(file));
      XFLOW_TRY(std::vector<rules::Rule> more, rules::parse_rules(text, file));
      rules.insert(rules.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
      const std::string beside = verifier::records_path(file);
      std::error_code error;
      if (wanted == RuleSet::Records::ignored || (!all_records && !std::filesystem::exists(beside, error))) continue;
      XFLOW_TRY(verifier::RecordFile read, verifier::read_records(beside));
      records.rules.insert(records.rules.end(), std::make_move_iterator(read.rules.begin()), std::make_move_iterator(read.rules.end()));
    }
  }
  if (rules.empty()) return fail(ErrorCode::unreadable, "no rules in the files", paths.empty() ? "" : paths.front());
  return api::make_rule_set(std::move(rules), std::move(records));
}

bool is_rule_path(const std::string& text) {
  std::error_code error;
  return text.ends_with(".rules") || text.find('/') != std::string::npos || std::filesystem::exists(text, error);
}

Error no_such_rule(const std::string& name, const std::vector<rules::Rule>& all, bool has_files) {
  std::string similar;
  for (const rules::Rule& rule : all)
    if (rule.name.find(name) != std::string::npos) similar += (similar.empty() ? "; similar: " : ", ") + rule.name;
  return {ErrorCode::invalid_argument, fmt::format("no rule '{}' {}{}", name, has_files ? "in the files" : "is shipped", similar), {}};
}

Result<RuleSelection> select(const std::vector<std::string>& arguments, RuleSet::Records wanted) {
  std::vector<std::string> names;
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) (is_rule_path(argument) ? paths : names).push_back(argument);
  XFLOW_TRY(RuleSet all, paths.empty() ? read_shipped(wanted) : read_paths(paths, wanted));
  if (names.empty()) return RuleSelection{std::move(all), RuleSet()};
  const std::vector<rules::Rule>& rules = all.state().rules;
  std::vector<rules::Rule> chosen;
  std::vector<rules::Rule> others;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(rules, name, &rules::Rule::name);
    if (found == rules.end()) return fail(no_such_rule(name, rules, !paths.empty()));
    chosen.push_back(*found);
  }
  for (const rules::Rule& rule : rules)
    if (std::ranges::find(names, rule.name) == names.end()) others.push_back(rule);
  return RuleSelection{api::make_rule_set(std::move(chosen), all.state().records), api::make_rule_set(std::move(others))};
}

}  // namespace

namespace api {

RuleSet make_rule_set(std::vector<rules::Rule> rules, verifier::RecordFile records) {
  auto state = std::make_shared<RuleSet::State>();
  state->infos.reserve(rules.size());
  for (const rules::Rule& rule : rules) state->infos.push_back(info_of(rule));
  state->rules = std::move(rules);
  state->records = std::move(records);
  return RuleSet(std::move(state));
}

Result<rules::Rule> only_rule(const RuleSet& rules) {
  if (rules.size() == 1) return rules.state().rules.front();
  return fail(ErrorCode::invalid_argument, fmt::format("expected one rule, found {}", rules.size()));
}

}  // namespace api

const char* to_string(FloatClass float_class) { return rules::name(float_class); }

RuleSet::RuleSet() : state_(std::make_shared<State>()) {}
RuleSet::RuleSet(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<RuleSet> RuleSet::shipped(Records records) {
  return api::guarded<RuleSet>([&] { return read_shipped(records); });
}

Result<RuleSet> RuleSet::read(const std::vector<std::string>& paths, Records records) {
  return api::guarded<RuleSet>([&] { return read_paths(paths, records); });
}

Result<RuleSet> RuleSet::parse(std::string_view text, std::string_view file) {
  return api::guarded<RuleSet>([&]() -> Result<RuleSet> {
    XFLOW_TRY(std::vector<rules::Rule> rules, rules::parse_rules(text, file));
    return api::make_rule_set(std::move(rules));
  });
}

std::size_t RuleSet::size() const { return state_->rules.size(); }
const RuleInfo& RuleSet::rule(std::size_t number) const { return state_->infos[number]; }

std::string RuleSet::text() const {
  std::map<const rules::OpenFamily*, int> members;
  for (const rules::Rule& rule : state_->rules)
    if (rule.family != nullptr) ++members[rule.family.get()];
  std::string text;
  const auto add = [&text](const std::string& rule) { text += (text.empty() ? "" : "\n") + rule; };
  for (const rules::Rule& rule : state_->rules) {
    const rules::OpenFamily* family = rule.family.get();
    const bool whole = family != nullptr && members[family] == family->last_in_file() - family->from() + 1;
    if (!whole) {
      add(rules::print(rule));
    } else if (rule.name == family->name_of(family->from())) {
      add(family->text());
    }
  }
  return text;
}

std::string RuleSet::describe(std::size_t number) const { return api::describe_rule(state_->rules[number]); }

Result<void> RuleSet::write(const std::string& path) const {
  return api::guarded<void>([&] {
    const std::string text = this->text();
    const std::string_view chunk = text;
    return onnx_io::write_file(path, {&chunk, 1});
  });
}

Result<RuleSelection> select_rules(const std::vector<std::string>& arguments, RuleSet::Records records) {
  return api::guarded<RuleSelection>([&] { return select(arguments, records); });
}

Result<RecordCheck> check_records(const std::vector<std::string>& paths, int jobs) {
  return api::guarded<RecordCheck>([&]() -> Result<RecordCheck> {
    constexpr RuleSet::Records kRead = RuleSet::Records::read;
    XFLOW_TRY(const RuleSet rules, paths.empty() ? read_shipped(kRead) : read_paths(paths, kRead, true));
    RecordCheck check;
    check.rules = rules.size();
    for (Acceptance& replayed : verifier::replay(rules.state().rules, rules.state().records, {}, jobs)) {
      if (replayed) {
        ++check.accepted;
      } else {
        check.failures.push_back(std::move(replayed.reason));
      }
    }
    return check;
  });
}

Result<void> renew_records(const std::string& folder, int jobs) {
  return api::guarded<void>([&] { return verifier::renew_records(folder, {}, jobs); });
}

}  // namespace xflow
