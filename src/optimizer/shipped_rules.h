// The rules that are built into the library, with the records of their proofs.
#pragma once

#include <xflow/error.h>

#include <span>
#include <string_view>
#include <vector>

#include "src/verifier/proof/prove_rules.h"

namespace xflow::api {

struct ShippedFile {
  std::string_view name;  // "matmul.rules"
  std::string_view text;
};
std::span<const ShippedFile> shipped_rule_files();

// Each shipped rule whose proof the build has replayed, in the order of the rules' hashes.
std::span<const rules::ClassifiedRule> proved_shipped_rules();

struct ShippedProof {
  std::string_view rule;  // the rule's name
  std::string_view text;  // the record of its proof
};
// One proof for each shipped rule, in the order of the rules.
std::span<const ShippedProof> shipped_proofs();

// All shipped rules, and the records of their proofs. Error::syntax: the library was built from inconsistent
// files.
Result<std::vector<rules::Rule>> shipped_rules();
Result<verifier::RecordFile> shipped_records();

}  // namespace xflow::api
