// The set of rules that can be applied: each one is proved.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/rules/match.h"
#include "src/rules/rule.h"

namespace xflow::rules {

// Decides whether a rule is proved. Called only for rules whose hash is not in the list of proved hashes.
using Prover = std::function<bool(const Rule&)>;

// Index of a rule in a VerifiedRules set.
enum class RuleId : std::uint32_t {};

// Proved rules, compiled for matching and indexed by root operator.
class VerifiedRules {
 public:
  // `proved` holds the hashes of proved rules in ascending order. `prover` decides rules with other hashes.
  // A rule that is not proved is rejected with Error::not_proved, which names the rule and its place.
  VerifiedRules(std::span<const RuleHash> proved, Prover prover = {}) : proved_(proved.begin(), proved.end()), prover_(std::move(prover)) {}

  // Adds the rules of a text. Error::syntax or ill_typed with "file:line:column", or Error::not_proved. On
  // an error no rule is added.
  Result<void> add(std::string_view text, std::string_view file);
  // Adds the rules of a text whose hashes are known to be proved and skips the others. `classified` as for
  // parse_rules.
  Result<void> add_known(std::string_view text, std::string_view file, std::span<const ClassifiedRule> classified = {});
  // Adds the rules of a file, or of all files *.rules of a folder in the order of their names.
  // Error::unreadable if the path cannot be read.
  Result<void> add_path(const std::string& path);
  // Removes the rules with this name. Error::invalid_argument if there is none.
  Result<void> skip(std::string_view name);

  // Removes the rules for which `wanted` returns false.
  void keep(const std::function<bool(const Rule&)>& wanted);

  std::size_t size() const { return patterns_.size(); }
  const Pattern& pattern(RuleId id) const { return *patterns_[static_cast<std::size_t>(id)]; }
  const Rule& rule(RuleId id) const { return pattern(id).rule(); }
  // The rules whose first root is this operator, in the order in which they were added.
  std::span<const RuleId> rooted_at(ir::OperatorId op) const;

  // The rule with this name, or the member of a family without a last number; null if there is none.
  const Rule* find(std::string_view name) const;

  // Calls `found` for every occurrence of every rule that is rooted at `root`, until `found` returns false.
  void match(ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
             const std::function<bool(RuleId, Match&)>& found) const;
  // The same for members of families without a last number that are no rules of a file. A family takes
  // part if all its members that are rules do. Not in e-graphs.
  void match_families(ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
                      const std::function<bool(Match&)>& found) const;

 private:
  Result<void> add(std::vector<Rule> rules, std::string_view file, bool only_known);
  void index();

  std::vector<RuleHash> proved_;
  Prover prover_;
  std::vector<std::shared_ptr<const Pattern>> patterns_;
  std::unordered_map<std::uint16_t, std::vector<RuleId>> by_root_;
  std::unordered_map<std::uint16_t, std::vector<std::shared_ptr<const OpenFamily>>> families_by_root_;
};

inline constexpr std::size_t kMostBytesOfRules = std::size_t{16} << 20U;  // limit for one file, which is parsed in about two seconds
// Reads a rule file. Error::unreadable with the reason of the operating system, or for a file larger than
// kMostBytesOfRules.
Result<std::string> read_rule_file(const std::string& path);
// Returns `path` itself, or the files *.rules in the folder `path` in the order of their names.
// Error::unreadable if there is none.
Result<std::vector<std::string>> rule_files(const std::string& path);

}  // namespace xflow::rules
