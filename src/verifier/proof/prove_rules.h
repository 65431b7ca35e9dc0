// Rules as a whole: a rule is proved if all its instances are.
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
#include "src/verifier/proof/verifier.h"

namespace xflow::verifier {

// What was decided of one rule.
struct RuleDecision {
  std::string rule;  // its name
  Verdict verdict = Verdict::unknown;
  std::string choice;              // of the instance that decided a verdict other than proved: "B: 2 dimensions"; empty if nothing was open
  Decision decision;               // of that instance; of the last one for a proved rule
  std::size_t instances = 0;       // decided
  std::uint64_t microseconds = 0;  // of processor time; information, no part of a verdict
  std::optional<RuleRecord> record;  // of a proved rule, where the options ask for one: it was replayed

  // "refuted: x = ..." or "unknown: ..." with the choice; empty for a proved rule.
  std::string explanation() const;
};

// The first instance that is not proved decides; instances that no shape satisfies are passed over, unless all are such: a rule is
// ill-typed then. A rule that has no instances at all is ill-typed too.
RuleDecision decide(const rules::Rule& rule, const Options& options = {});
// In the order of the rules; `jobs` rules at a time, which does not change any verdict.
std::vector<RuleDecision> decide(std::span<const rules::Rule> rules, const Options& options, int jobs);

// What a compiled library knows of a shipped rule: it was proved with operators of this meaning.
struct ProofRecord {
  rules::RuleHash rule;
  std::uint64_t semantics = 0;
  friend auto operator<=>(const ProofRecord&, const ProofRecord&) = default;
};

// The same for one rule: see semantics.h.
std::uint64_t semantics_hash(const rules::Rule& rule);

// Decides all *.rules files of a folder and writes the records of their proofs beside them, NAME.proofs for NAME.rules, files that stay the
// same untouched. Error::not_proved names the rules that are not proved, with what was found instead; nothing is written then.
Result<void> renew_records(const std::string& folder, const Options& options, int jobs);
// Replays the records of all *.rules files of a folder. Error::not_proved names the rules of which the record is missing, stale or wrong,
// and says how to renew it. In the order of the rules. With `left_out` such rules are told there instead, a line each, and have no record
// in the answer.
Result<std::vector<RuleRecord>> replay_records(const std::string& folder, const Options& options, int jobs,
                                               std::vector<std::string>* left_out = nullptr);
// The records as rows of a C++ initializer, in the order of their hashes: {{{0x..., 0x...}}, 0x...},
std::string to_include_file(std::span<const RuleRecord> records);
// Their texts: {"name of the rule", R"proofs(rule ...)proofs"}, in the order given.
std::string texts_include_file(std::span<const RuleRecord> records);

// All rules of the *.rules files of a folder, files in the order of their names. Error::unreadable if there is no such folder.
Result<std::vector<rules::Rule>> read_rules(const std::string& folder);

}  // namespace xflow::verifier
