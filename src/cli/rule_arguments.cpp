#include "src/cli/rule_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "src/optimizer/shipped_rules.h"
#include "src/rules/rule_set.h"

namespace xflow::cli {
namespace {

bool is_rule_path(const std::string& text) {
  std::error_code error;
  return text.ends_with(".rules") || text.find('/') != std::string::npos || std::filesystem::exists(text, error);
}

// The rules of files and folders, or the shipped ones where there are none.
Result<SelectedRules> read_rule_paths(const std::vector<std::string>& paths, bool with_records) {
  SelectedRules result;
  std::vector<rules::Rule>& all = result.rules;
  for (const std::string& path : paths) {
    XFLOW_TRY(const std::vector<std::string> files, rules::rule_files(path));
    for (const std::string& file : files) {
      XFLOW_TRY(const std::string text, rules::read_rule_file(file));
      XFLOW_TRY(std::vector<rules::Rule> more, rules::parse_rules(text, file));
      all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
      const std::string beside = verifier::records_path(file);
      std::error_code error;
      if (!with_records || !std::filesystem::exists(beside, error)) continue;
      XFLOW_TRY(const verifier::RecordFile records, verifier::read_records(beside));
      result.records.rules.insert(result.records.rules.end(), records.rules.begin(), records.rules.end());
    }
  }
  if (paths.empty()) {
    XFLOW_TRY(all, api::shipped_rules());
    if (with_records) {
      XFLOW_TRY(result.records, api::shipped_records());
    }
  }
  if (all.empty()) return fail(ErrorCode::unreadable, "no rules in the files", paths.front());
  return result;
}

}  // namespace

Result<SelectedRules> select_rules(const std::vector<std::string>& arguments, bool with_records) {
  std::vector<std::string> names;
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) (is_rule_path(argument) ? paths : names).push_back(argument);
  XFLOW_TRY(SelectedRules result, read_rule_paths(paths, with_records));
  if (names.empty()) return result;
  const std::vector<rules::Rule> all = std::move(result.rules);
  result.rules.clear();
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const rules::Rule& r) { return r.name == name; });
    if (found != all.end()) {
      result.rules.push_back(*found);
      continue;
    }
    std::string similar;
    for (const rules::Rule& r : all)
      if (r.name.find(name) != std::string::npos) similar += (similar.empty() ? "; similar: " : ", ") + r.name;
    return fail(ErrorCode::invalid_argument,
                fmt::format("no rule '{}' {}{}", name, paths.empty() ? "is shipped" : "in the files", similar));
  }
  for (const rules::Rule& r : all)
    if (std::find(names.begin(), names.end(), r.name) == names.end()) result.others.push_back(r);
  return result;
}

Result<std::vector<rules::Rule>> read_rules(const std::string& path) {
  XFLOW_TRY(SelectedRules all, read_rule_paths({path}, false));
  return std::move(all.rules);
}

std::string equation_of(const rules::Rule& rule) {
  const auto trimmed = [](const std::string& line) {
    const std::size_t begin = line.find_first_not_of(' ');
    return begin == std::string::npos ? std::string() : line.substr(begin);
  };
  // Equations stand further to the right than what is said of them.
  for (const char* indent : {"  ", ""}) {
    for (const std::string& line : rule.comment)
      if (line.starts_with(indent) && line.find(" = ") != std::string::npos) return trimmed(line);
  }
  if (!rule.comment.empty()) return trimmed(rule.comment.front());
  const auto side = [](const std::vector<rules::Statement>& statements) {
    std::string text;
    for (const rules::Statement& s : statements) {
      text += text.empty() ? "" : "; ";
      if (statements.size() > 1 || s.outputs.size() > 1) text += fmt::format("{} := ", fmt::join(s.outputs, ", "));
      text += rules::print(s.term);
    }
    return text;
  };
  return side(rule.source) + " = " + side(rule.target);
}

}  // namespace xflow::cli
