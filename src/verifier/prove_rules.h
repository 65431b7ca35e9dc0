// Rules as a whole: a rule is proved if all its instances are.
#pragma once

#include <xflow/result.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/rules/rule.h"
#include "src/verifier/verifier.h"

namespace xflow::verifier {

// What was decided of one rule.
struct RuleDecision {
  std::string rule;  // its name
  Verdict verdict = Verdict::unknown;
  std::string choice;              // of the instance that decided a verdict other than proved: "B: 2 dimensions"; empty if nothing was open
  Decision decision;               // of that instance; of the last one for a proved rule
  std::size_t instances = 0;       // decided
  std::uint64_t microseconds = 0;  // of processor time; information, no part of a verdict

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

// A hash over the index notation of the operators that the rule uses, and over the version of the checker.
std::uint64_t semantics_hash(const rules::Rule& rule);

// Reads and decides all *.rules files of a folder. Error::not_proved names the rules that are not proved, with what was found instead.
// The records are in the order of their hashes.
Result<std::vector<ProofRecord>> prove_folder(const std::string& folder, const Options& options, int jobs);
// The records as rows of a C++ initializer: {{{0x..., 0x...}}, 0x...},
std::string to_include_file(std::span<const ProofRecord> records);

// All rules of the *.rules files of a folder, files in the order of their names. Error::unreadable if there is no such folder.
Result<std::vector<rules::Rule>> read_rules(const std::string& folder);

}  // namespace xflow::verifier
