#include "src/rules/verified_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "src/rules/family_match.h"
#include "src/rules/open_family.h"

namespace xflow::rules {

Result<std::string> read_rule_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(ErrorCode::unreadable, fmt::format("cannot open: {}", std::strerror(errno)), path);
  // Reads in blocks, because the input may be endless (a device).
  std::string text;
  std::array<char, 1U << 16U> block{};
  while (in.read(block.data(), block.size()), in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMostBytesOfRules)
      return fail(ErrorCode::unreadable, fmt::format("a file of rules has at most {} MiB", kMostBytesOfRules >> 20U), path);
  }
  if (in.bad()) return fail(ErrorCode::unreadable, "cannot read", path);
  return text;
}

Result<std::vector<std::string>> rule_files(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".rules") files.push_back(entry->path().string());
  }
  if (error) return fail(ErrorCode::unreadable, fmt::format("cannot list: {}", error.message()), path);
  if (files.empty()) return fail(ErrorCode::unreadable, "no file *.rules in this folder", path);
  std::sort(files.begin(), files.end());
  return files;
}

Result<void> VerifiedRules::add(std::string_view text, std::string_view file) {
  XFLOW_TRY(std::vector<Rule> rules, parse_rules(text, file));
  return add(std::move(rules), file, false);
}

Result<void> VerifiedRules::add_known(std::string_view text, std::string_view file, std::span<const ClassifiedRule> classified) {
  XFLOW_TRY(std::vector<Rule> rules, parse_rules(text, file, classified));
  return add(std::move(rules), file, true);
}

Result<void> VerifiedRules::add(std::vector<Rule> rules, std::string_view file, bool only_known) {
  std::vector<std::shared_ptr<const Pattern>> added;
  for (Rule& rule : rules) {
    const bool known = std::binary_search(proved_.begin(), proved_.end(), rule.hash);
    if (only_known && !known) continue;
    if (!known && !(prover_ && prover_(rule))) {
      return fail(ErrorCode::not_proved, fmt::format("rule {} is not proved, so it cannot be applied", rule.name),
                  place_text(file, rule.place));
    }
    const auto roots = rule.family == nullptr ? Pattern::Roots::found : Pattern::Roots::given;
    XFLOW_TRY(std::shared_ptr<const Pattern> pattern, Pattern::compile(std::move(rule), roots));
    added.push_back(std::move(pattern));
  }
  patterns_.insert(patterns_.end(), added.begin(), added.end());
  index();
  return {};
}

Result<void> VerifiedRules::add_path(const std::string& path) {
  XFLOW_TRY(const std::vector<std::string> files, rule_files(path));
  for (const std::string& file : files) {
    XFLOW_TRY(const std::string text, read_rule_file(file));
    XFLOW_CHECK(add(text, file));
  }
  return {};
}

Result<void> VerifiedRules::skip(std::string_view name) {
  const auto kept = std::remove_if(patterns_.begin(), patterns_.end(), [&](const auto& pattern) { return pattern->rule().name == name; });
  if (kept == patterns_.end()) return fail(ErrorCode::invalid_argument, fmt::format("there is no rule '{}' to skip", name));
  patterns_.erase(kept, patterns_.end());
  index();
  return {};
}

void VerifiedRules::keep(const std::function<bool(const Rule&)>& wanted) {
  std::erase_if(patterns_, [&](const auto& pattern) { return !wanted(pattern->rule()); });
  index();
}

void VerifiedRules::index() {
  by_root_.clear();
  families_by_root_.clear();
  std::map<const OpenFamily*, int> members;
  for (std::size_t k = 0; k < patterns_.size(); ++k) {
    const auto root = static_cast<std::uint16_t>(patterns_[k]->root());
    const auto& family = patterns_[k]->rule().family;
    // Three siblings or more are found as a set.
    const bool in_sets = family != nullptr && !family->counter() && patterns_[k]->rule().name == family->name_of(family->last_in_file());
    if (patterns_[k]->is_connected() && !in_sets) by_root_[root].push_back(static_cast<RuleId>(k));
    if (family == nullptr || ++members[family.get()] < family->last_in_file() - family->from() + 1) continue;
    families_by_root_[root].push_back(family);
  }
}

const Rule* VerifiedRules::find(std::string_view name) const {
  for (const auto& pattern : patterns_)
    if (pattern->rule().name == name) return &pattern->rule();
  for (const auto& [root, families] : families_by_root_) {
    for (const auto& family : families) {
      const auto number = family->number_of(name);
      const auto member = number ? family->member(*number) : nullptr;
      if (member != nullptr) return &member->rule();
    }
  }
  return nullptr;
}

std::span<const RuleId> VerifiedRules::rooted_at(ir::OperatorId op) const {
  const auto found = by_root_.find(static_cast<std::uint16_t>(op));
  return found == by_root_.end() ? std::span<const RuleId>() : std::span<const RuleId>(found->second);
}

void VerifiedRules::match(ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
                          const std::function<bool(RuleId, Match&)>& found) const {
  const ir::Node& node = arena.node(root);
  if (node.kind != ir::NodeKind::operation || node.is_constant) return;
  bool more = true;
  for (const RuleId id : rooted_at(node.op)) {
    rules::match(pattern(id), arena, uses, root, options, [&](Match& match) { return more = found(id, match); });
    if (!more) return;
  }
}

void VerifiedRules::match_families(ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
                                   const std::function<bool(Match&)>& found) const {
  const ir::Node& node = arena.node(root);
  if (node.kind != ir::NodeKind::operation || node.is_constant || options.constants || uses.classes() != nullptr) return;
  const auto families = families_by_root_.find(static_cast<std::uint16_t>(node.op));
  if (families == families_by_root_.end()) return;
  bool more = true;
  for (const auto& family : families->second) {
    match_family(*family, arena, uses, root, options, [&](Match& match) { return more = found(match); });
    if (!more) return;
  }
}

}  // namespace xflow::rules
