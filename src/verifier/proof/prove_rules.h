// Decisions on whole rules: a rule is proved if all its instances are.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/rules/rule.h"
#include "src/verifier/checker/records.h"
#include "src/verifier/proof/decide.h"

namespace xflow::verifier {

// The decision on one rule.
struct RuleDecision {
  std::string rule;  // its name
  Verdict verdict = Verdict::unknown;
  std::string choice;              // of the instance that decided a verdict other than proved: "B: 2 dimensions"; empty if nothing was open
  Decision decision;               // of that instance; of the last one for a proved rule
  std::size_t instances = 0;       // decided
  std::uint64_t microseconds = 0;  // of processor time; informative, not part of a verdict
  std::optional<RuleRecord> record;  // of a proved rule, if requested by the options; it was replayed

  // "refuted: x = ..." or "unknown: ..." with the choice; empty for a proved rule.
  std::string explanation() const;
};

// The first instance that is not proved decides. Instances that no shape satisfies are skipped; if all are
// such, the rule is ill-typed. A rule without instances is ill-typed, too.
RuleDecision decide(const rules::Rule& rule, const Options& options = {});
// Returns decisions in the order of the rules. Decides `jobs` rules at a time, which does not change any
// verdict.
std::vector<RuleDecision> decide(std::span<const rules::Rule> rules, const Options& options, int jobs);

// The semantics hash of one rule: see semantics.h.
std::uint64_t semantics_hash(const rules::Rule& rule);

// Decides all *.rules files of a folder and writes the records of their proofs beside them, NAME.proofs for
// NAME.rules. Files that do not change are not written. Error::not_proved names the rules that are not
// proved, with the result found instead; nothing is written then.
Result<void> renew_records(const std::string& folder, const Options& options, int jobs);
// Replays the records of all *.rules files of a folder and returns them in the order of the rules.
// Error::not_proved names the rules whose record is missing, stale or wrong, and says how to renew it. With
// `left_out`, such rules are listed there instead, one line each, and have no record in the result.
Result<std::vector<RuleRecord>> replay_records(const std::string& folder, const Options& options, int jobs,
                                               std::vector<std::string>* left_out = nullptr);
// Prints what a compiled library knows of each rule with a record, in the order of the hashes, as rows of an
// initializer of ClassifiedRule: {{{0x..., 0x...}}, rules::FloatClass::rounding, "re-associates\n"},
std::string to_include_file(std::span<const RuleRecord> records, std::span<const rules::Rule> rules);
// Prints the texts of the records, in the given order: {"name of the rule", R"proofs(rule ...)proofs"},
std::string texts_include_file(std::span<const RuleRecord> records);

// Reads all rules of the *.rules files of a folder; files in the order of their names. Error::unreadable if
// there is no such folder.
Result<std::vector<rules::Rule>> read_rules(const std::string& folder);

}  // namespace xflow::verifier
