// The rules that may be applied: each one has a proof.
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

// Says whether a rule is proved; asked only for rules whose hash is not among the proved ones.
using Prover = std::function<bool(const Rule&)>;

// A proved rule, compiled for matching.
enum class RuleId : std::uint32_t {};

class VerifiedRules {
 public:
  // `proved` are the hashes of rules that are known to be proved, in ascending order. A rule with another hash is asked of `prover`;
  // without one, or if it says no, it is not let in: Error::not_proved names the rule and its place.
  VerifiedRules(std::span<const RuleHash> proved, Prover prover = {}) : proved_(proved.begin(), proved.end()), prover_(std::move(prover)) {}

  // Adds the rules of a text. Error::syntax or ill_typed with "file:line:column"; Error::not_proved. Nothing is added on an error.
  Result<void> add(std::string_view text, std::string_view file);
  // Adds those that are known to be proved and leaves out the others.
  Result<void> add_known(std::string_view text, std::string_view file);
  // Adds the rules of a file, or of all files *.rules of a folder in the order of their names. Error::unreadable where it cannot be.
  Result<void> add_path(const std::string& path);
  // Leaves out rules by name. Error::invalid_argument if there is none of that name.
  Result<void> skip(std::string_view name);

  // Leaves out the rules for which `wanted` says no.
  void keep(const std::function<bool(const Rule&)>& wanted);

  std::size_t size() const { return patterns_.size(); }
  const Pattern& pattern(RuleId id) const { return *patterns_[static_cast<std::size_t>(id)]; }
  const Rule& rule(RuleId id) const { return pattern(id).rule(); }
  // The rules whose first root is this operator, in the order in which they were added.
  std::span<const RuleId> rooted_at(ir::OperatorId op) const;

  // Calls `found` for every occurrence of every rule that is rooted at `root`, until it returns false.
  void match(ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
             const std::function<bool(RuleId, Match&)>& found) const;

 private:
  Result<void> add(std::string_view text, std::string_view file, bool only_known);
  void index();

  std::vector<RuleHash> proved_;
  Prover prover_;
  std::vector<std::shared_ptr<const Pattern>> patterns_;
  std::unordered_map<std::uint16_t, std::vector<RuleId>> by_root_;
};

inline constexpr std::size_t kMostBytesOfRules = std::size_t{16} << 20U;  // of a file: parsed in some two seconds
// The text of a rule file. Error::unreadable with the reason of the operating system, and for a larger file.
Result<std::string> read_rule_file(const std::string& path);
// `path` itself, or the files *.rules in the folder `path` in the order of their names. Error::unreadable where there is none.
Result<std::vector<std::string>> rule_files(const std::string& path);

}  // namespace xflow::rules
