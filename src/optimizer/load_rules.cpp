#include "src/optimizer/load_rules.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/optimizer/shipped_rules.h"
#include "src/verifier/checker/records.h"

namespace xflow::api {

Result<rules::VerifiedRules> load_rules(const OptimizeOptions& options, double seconds, std::function<bool()> stop,
                                        std::set<rules::RuleHash>* known) {
  using Clock = std::chrono::steady_clock;
  constexpr double kForever = 1e9;
  verifier::Options deciding;
  Clock::time_point end = Clock::time_point::max();
  if (seconds < kForever) end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  deciding.deadline = stop ? verifier::Deadline(end, std::move(stop)) : verifier::Deadline(end);
  std::string undecided;
  std::vector<rules::RuleHash> proved;
  for (const rules::ClassifiedRule& rule : proved_shipped_rules()) proved.push_back(rule.rule);
  std::string explanation;
  std::map<std::string, verifier::RecordFile> beside;  // by file: records beside the user's own files
  const auto take_note = [&](const rules::Rule& rule) {
    if (known != nullptr) known->insert(rule.hash);
    return true;
  };
  rules::VerifiedRules rules(proved, [&](const rules::Rule& rule) {
    if (known != nullptr && known->contains(rule.hash)) return true;
    const auto [file, is_new] = beside.try_emplace(rule.file);
    if (is_new && !options.search.rule_text) {
      if (auto records = verifier::read_records(verifier::records_path(rule.file))) file->second = *std::move(records);
    }
    // A record that does not replay proves nothing about the rule, so the rule is decided below.
    const verifier::RuleRecord* record = file->second.find(rule.hash);
    if (record != nullptr && verifier::replay(rule, *record)) return take_note(rule);
    const verifier::RuleDecision decision = verifier::decide(rule, deciding);
    explanation = decision.explanation();
    if (decision.verdict == verifier::Verdict::timeout && verifier::is_over(deciding.deadline)) undecided = rule.name;
    return decision.verdict == verifier::Verdict::proved && take_note(rule);
  });
  const auto explained = [&](Result<void> result) -> Result<void> {
    if (!result && !undecided.empty()) return fail(ErrorCode::limit, fmt::format("rule {} was not decided in time", undecided));
    if (!result && result.error().code == ErrorCode::not_proved && !explanation.empty()) result.error().message += ": " + explanation;
    return result;
  };
  if (options.search.rule_text) {
    XFLOW_CHECK(explained(rules.add(*options.search.rule_text, "rule_text")));
  } else if (options.search.rules.empty()) {
    // The build has checked a record of every shipped rule; without Z3 it has only those that replay without
    // Z3.
    for (const ShippedFile& file : shipped_rule_files()) XFLOW_CHECK(rules.add_known(file.text, file.name, proved_shipped_rules()));
  }
  if (!options.search.rule_text) {
    for (const std::string& path : options.search.rules) XFLOW_CHECK(explained(rules.add_path(path)));
  }
  for (const std::string& name : options.search.skip_rules) XFLOW_CHECK(rules.skip(name));
  return rules;
}

}  // namespace xflow::api
