// Records of proofs: what stands beside a file of rules, so that a proof is replayed instead of searched again.
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
// `hash` is that of the rule's text, `semantics` that of its operators and of the checker; `guard` are the rule's guards, `assumes` what
// the typing of the source says besides, of any instance, as guards of the language; `instances` says which proof each instance of the rule
// has, in the order in which instances are made (3*2: three of them proof 2; v: no shape satisfies its facts). A proof has one certificate
// an output (see certificate_text.h; '-' for none); of the questions about conditions on the way to the normal forms those that are listed
// hold (the others are not asked again); of what the source asks for to have values and to run, `given` is assumed, by number. The version
// of Z3 is information.
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
#include "src/verifier/proof/verifier.h"

namespace xflow::verifier {

// Of one instance, or of several that have the same.
struct InstanceProof {
  std::vector<std::size_t> shown;         // in ascending order
  std::vector<std::size_t> given;         // in ascending order
  std::vector<std::string> certificates;  // one an output
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
  std::vector<InstanceProof> proofs;   // distinct ones
  std::vector<std::size_t> instances;  // of each the number of its proof, or kVacuous

  // Adds an instance with this proof, which may be known already.
  void add_instance(InstanceProof proof);
  friend bool operator==(const RuleRecord&, const RuleRecord&) = default;
};

struct RecordFile {
  std::string z3;
  std::vector<RuleRecord> rules;

  // Null where the file does not speak of that rule.
  const RuleRecord* find(const rules::RuleHash& hash) const;
  const RuleRecord* find_name(std::string_view rule) const;
};

// The text of a file of records, and back. Error::syntax with "file:line".
std::string print(const RuleRecord& record);
std::string print(const RecordFile& records);
Result<RuleRecord> parse_record(std::string_view text, const std::string& file);
Result<RecordFile> parse_records(std::string_view text, const std::string& file);

// A record without proofs: what the rule and its instances say of themselves.
RuleRecord describe(const rules::Rule& rule, std::span<rules::RuleInstance> instances);

// Instantiates, types, composes and normalises the rule's instances again and has the checker accept the record's certificates: no search.
// Error::not_proved says what does not fit: another rule, operators that have another meaning now, a certificate that is not accepted.
Result<void> replay(const rules::Rule& rule, const RuleRecord& record, const Options& options = {});

// One line for each rule of which the record is missing, stale or wrong, empty for the others; `jobs` rules at a time.
std::vector<std::string> replay(std::span<const rules::Rule> rules, const RecordFile& records, const Options& options, int jobs);

// The file of records beside a file of rules: NAME.proofs beside NAME.rules.
std::string records_path(const std::string& rule_file);
// Error::unreadable where there is no such file or it cannot be read; Error::syntax.
Result<RecordFile> read_records(const std::string& path);

}  // namespace xflow::verifier
