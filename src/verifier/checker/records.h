// Records of proofs, stored beside a rule file: a proof is replayed instead of searched again.
//
//   xflow proofs 1
//   z3 5.4.0
//
//   rule merge-matmuls-sharing-lhs
//     hash 5d41402abc4b2a76b9719d911017c592
//     semantics 9a3c2f60d1b5e8f7
//     verdict proved
//     float rounding
//     guard rank(a) = rank(b)
//     assumes dim(b, 0) = dim(a, 0)
//     instances 0*3 1 v
//     proof 0
//       (2:0 3[z1,z0])
//     proof 1 shown 3 8
//       (0 2)(1 3)
//     proof 2 given 0 1
//       (0 2)(1 3)
//
// `hash` is the hash of the rule's text, `semantics` that of its operators and of the checker. `guard` lists
// the rule's guards. `assumes` lists what the typing of the source of any instance assumes besides, as
// guards of the rule language. `instances` gives the proof of each instance, in the order in which instances
// are made (0*3: three instances with proof 0; v: no shape satisfies the facts of the instance).
//
// A proof has one certificate per output (see certificate_text.h; '-' for none). `shown` lists the questions
// about conditions, asked on the way to the normal forms, that hold; a replay does not ask the others again.
// `given` lists the demands of the source (to have values and to run) that the proof assumes. Both list
// numbers. The version of Z3 is informative only.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/rules/instance.h"
#include "src/rules/rule.h"
#include "src/support/acceptance.h"
#include "src/verifier/proof/decide.h"

namespace xflow::verifier {

// The proof of one instance, or of several instances with the same proof.
struct InstanceProof {
  std::vector<std::size_t> shown;         // ascending
  std::vector<std::size_t> given;         // ascending
  std::vector<std::string> certificates;  // one per output
  friend bool operator==(const InstanceProof&, const InstanceProof&) = default;
};

struct RuleRecord {
  static constexpr std::size_t kVacuous = ~std::size_t{0};

  std::string rule;
  rules::RuleHash hash;
  std::uint64_t semantics = 0;
  std::string float_class;
  std::vector<std::string> guards;
  std::vector<std::string> assumes;
  std::vector<InstanceProof> proofs;   // without duplicates
  std::vector<std::size_t> instances;  // per instance: the index of its proof, or kVacuous

  // Adds an instance with this proof; equal proofs are stored once.
  void add_instance(InstanceProof proof);
  friend bool operator==(const RuleRecord&, const RuleRecord&) = default;
};

struct RecordFile {
  std::string z3;
  std::vector<RuleRecord> rules;

  // Returns nullptr if the file has no record of the rule.
  const RuleRecord* find(const rules::RuleHash& hash) const;
  const RuleRecord* find_name(std::string_view rule) const;
};

// Print and parse records. Errors of parsing: Error::syntax with "file:line".
std::string print(const RuleRecord& record);
std::string print(const RecordFile& records);
Result<RuleRecord> parse_record(std::string_view text, const std::string& file);
Result<RecordFile> parse_records(std::string_view text, const std::string& file);

// A record without proofs: only what describes the rule and its instances.
RuleRecord describe(const rules::Rule& rule, std::span<rules::RuleInstance> instances);

// Instantiates, types, composes and normalises the rule's instances again, and has the checker accept the
// record's certificates, without search. Error::not_proved names the mismatch: another rule, operators with
// another meaning, a rejected certificate.
Result<void> replay(const rules::Rule& rule, const RuleRecord& record, const Options& options = {});

// Returns whether the record of each rule is accepted; refused with one line that says whether it is
// missing, stale or wrong. Replays `jobs` rules at a time.
std::vector<Acceptance> replay(std::span<const rules::Rule> rules, const RecordFile& records, const Options& options, int jobs);

// The record file of a rule file: NAME.proofs beside NAME.rules.
std::string records_path(const std::string& rule_file);
// Reads a record file. Error::unreadable if it does not exist or cannot be read; Error::syntax.
Result<RecordFile> read_records(const std::string& path);

}  // namespace xflow::verifier
