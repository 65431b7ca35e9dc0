#include <xflow/rules.h>

#include "src/capi/handles.h"
#include "src/capi/options.h"

using xflow::Result;
using xflow::capi::clear;
using xflow::capi::give;
using xflow::capi::give_text;
using xflow::capi::guarded;
using xflow::capi::require;

const char* xflow_verdict_name(xflow_verdict verdict) {
  switch (verdict) {
    case XFLOW_VERDICT_PROVED:
      return xflow::to_string(xflow::Verdict::proved);
    case XFLOW_VERDICT_REFUTED:
      return xflow::to_string(xflow::Verdict::refuted);
    case XFLOW_VERDICT_UNKNOWN:
      return xflow::to_string(xflow::Verdict::unknown);
    case XFLOW_VERDICT_ILL_TYPED:
      return xflow::to_string(xflow::Verdict::ill_typed);
    case XFLOW_VERDICT_TIMEOUT:
      return xflow::to_string(xflow::Verdict::timeout);
  }
  return "";
}

xflow_status xflow_verify_files(const char* a, const char* b, const xflow_options* options, xflow_proof** proof, xflow_error** error) {
  clear(proof);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(a, "a"));
    XFLOW_CHECK(require(b, "b"));
    XFLOW_TRY(const auto converted, xflow::capi::verify_files_options(options, "xflow_verify_files"));
    XFLOW_TRY(auto found, xflow::verify_files(a, b, converted));
    give(proof, std::move(found));
    return {};
  });
}

xflow_verdict xflow_proof_verdict(const xflow_proof* proof) {
  return proof == nullptr ? XFLOW_VERDICT_UNKNOWN : xflow::capi::verdict_of(proof->proof.verdict);
}
bool xflow_proof_is_up_to_rounding(const xflow_proof* proof) { return proof != nullptr && proof->proof.is_up_to_rounding(); }
const char* xflow_proof_difference(const xflow_proof* proof) { return proof == nullptr ? "" : proof->proof.difference.c_str(); }
xflow_status xflow_proof_text(const xflow_proof* proof, xflow_buffer** text, xflow_error** error) {
  return give_text(proof, "proof", text, error, [](const xflow_proof& p) { return p.proof.to_text(); });
}
void xflow_proof_free(xflow_proof* proof) { delete proof; }

xflow_status xflow_verify_rules(xflow_context* context, const char* rules, const xflow_options* options, xflow_decisions** decisions,
                                xflow_error** error) {
  clear(decisions);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(rules, "rules"));
    XFLOW_TRY(const auto converted, xflow::capi::verify_rules_options(options, "xflow_verify_rules"));
    XFLOW_TRY(const xflow::RuleSet parsed, xflow::RuleSet::parse(rules, "rules"));
    XFLOW_TRY(const auto decided,
              context == nullptr ? xflow::verify(parsed, converted) : xflow::verify(context->context, parsed, converted));
    std::vector<xflow_decisions::Decision> found;
    found.reserve(decided.size());
    for (const xflow::RuleDecision& one : decided)
      found.push_back({one.rule, xflow::capi::verdict_of(one.verdict), one.counterexample ? one.counterexample->text : one.open});
    give(decisions, std::move(found));
    return {};
  });
}

xflow_status xflow_shipped_rules(xflow_buffer** text, xflow_error** error) {
  clear(text);
  return guarded(error, [&]() -> Result<void> {
    XFLOW_TRY(const xflow::RuleSet rules, xflow::RuleSet::shipped());
    give(text, rules.text());
    return {};
  });
}

size_t xflow_decisions_size(const xflow_decisions* decisions) { return decisions == nullptr ? 0 : decisions->decisions.size(); }
const char* xflow_decisions_rule(const xflow_decisions* decisions, size_t number) {
  return number < xflow_decisions_size(decisions) ? decisions->decisions[number].rule.c_str() : "";
}
xflow_verdict xflow_decisions_verdict(const xflow_decisions* decisions, size_t number) {
  return number < xflow_decisions_size(decisions) ? decisions->decisions[number].verdict : XFLOW_VERDICT_UNKNOWN;
}
const char* xflow_decisions_detail(const xflow_decisions* decisions, size_t number) {
  return number < xflow_decisions_size(decisions) ? decisions->decisions[number].detail.c_str() : "";
}
void xflow_decisions_free(xflow_decisions* decisions) { delete decisions; }
