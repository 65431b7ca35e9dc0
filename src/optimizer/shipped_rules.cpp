#include "src/optimizer/shipped_rules.h"

#include <array>

namespace xflow::api {
namespace {

constexpr ShippedFile kFiles[] = {
#include "shipped_rule_texts.inc"
};

const rules::ClassifiedRule kProved[] = {
#include "shipped_rule_records.inc"
};

// Not constexpr: compilers bound the work of evaluating the lengths of so much text.
const ShippedProof kProofs[] = {
#include "shipped_rule_proofs.inc"
};

}  // namespace

std::span<const ShippedFile> shipped_rule_files() { return kFiles; }
std::span<const rules::ClassifiedRule> proved_shipped_rules() { return kProved; }
std::span<const ShippedProof> shipped_proofs() { return kProofs; }

Result<std::vector<rules::Rule>> shipped_rules() {
  std::vector<rules::Rule> all;
  for (const ShippedFile& file : shipped_rule_files()) {
    XFLOW_TRY(std::vector<rules::Rule> rules, rules::parse_rules(file.text, file.name, kProved));
    for (rules::Rule& rule : rules) all.push_back(std::move(rule));
  }
  return all;
}

Result<verifier::RecordFile> shipped_records() {
  verifier::RecordFile all;
  for (const ShippedProof& proof : shipped_proofs()) {
    XFLOW_TRY(verifier::RuleRecord record, verifier::parse_record(proof.text, "shipped proofs"));
    all.rules.push_back(std::move(record));
  }
  return all;
}

}  // namespace xflow::api
