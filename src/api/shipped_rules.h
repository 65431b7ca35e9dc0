// The rules that the library is built with, and the records of their proofs.
#pragma once

#include <span>
#include <string_view>

#include "src/verifier/prove_rules.h"

namespace xflow::api {

struct ShippedFile {
  std::string_view name;  // "matmul.rules"
  std::string_view text;
};
std::span<const ShippedFile> shipped_rule_files();

// One for each shipped rule, made by the build after it proved the rule; in the order of the rules' hashes.
std::span<const verifier::ProofRecord> shipped_rule_records();

}  // namespace xflow::api
