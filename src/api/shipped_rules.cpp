#include "src/api/shipped_rules.h"

#include <array>

namespace xflow::api {
namespace {

constexpr ShippedFile kFiles[] = {
#include "shipped_rule_texts.inc"
};

const verifier::ProofRecord kRecords[] = {
#include "shipped_rule_records.inc"
};

}  // namespace

std::span<const ShippedFile> shipped_rule_files() { return kFiles; }
std::span<const verifier::ProofRecord> shipped_rule_records() { return kRecords; }

}  // namespace xflow::api
