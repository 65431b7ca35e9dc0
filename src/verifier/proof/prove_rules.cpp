#include "src/verifier/proof/prove_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "src/rules/instantiate.h"
#include "src/rules/verified_rules.h"
#include "src/verifier/checker/semantics.h"
#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/queries.h"

namespace xflow::verifier {

namespace {

std::uint64_t processor_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000U + static_cast<std::uint64_t>(now.tv_nsec) / 1'000U;
}

// At most this many instances, of some kilobytes each, are kept in memory; if there are more, they are
// instantiated again.
constexpr std::size_t kMostKept = 256;

// Decides one instance after the other.
class Instances {
 public:
  Instances(const rules::Rule& rule, std::size_t count, const Options& options) : count_(count), options_(options) {
    result_.rule = rule.name;
    result_.verdict = Verdict::proved;
  }

  // False if the verdict is decided.
  bool take(rules::RuleInstance& instance) {
    Decision d = decide(instance, options_);
    ++result_.instances;
    if (d.verdict == Verdict::proved) {
      proved_one_ = true;
      if (options_.record) proofs_.add_instance({d.shown, d.given, d.certificates});
      result_.decision = std::move(d);
      return true;
    }
    const bool vacuous = d.verdict == Verdict::ill_typed && d.open.starts_with("vacuous");
    if (vacuous && (proved_one_ || result_.instances < count_)) {
      proofs_.instances.push_back(RuleRecord::kVacuous);
      return true;
    }
    result_.verdict = d.verdict;
    result_.choice = instance.choice;
    result_.decision = std::move(d);
    return false;
  }

  RuleDecision& result() { return result_; }
  RuleRecord& proofs() { return proofs_; }

 private:
  std::size_t count_;
  const Options& options_;
  RuleDecision result_;
  RuleRecord proofs_;  // of the instances so far
  bool proved_one_ = false;
};

// Errors: those of the instantiation, also if the deadline stops it.
Result<RuleDecision> decide_instances(const rules::Rule& rule, const Options& options) {
  const auto ends = [&] { return is_over(options.deadline); };
  std::vector<rules::RuleInstance> kept;
  std::size_t count = 0;
  XFLOW_CHECK(rules::for_each_instance(
      rule,
      [&](rules::RuleInstance instance) {
        if (++count <= kMostKept) kept.push_back(std::move(instance));
        if (count > kMostKept) kept.clear();
        return true;
      },
      ends));
  Instances instances(rule, count, options);
  RuleDecision& result = instances.result();
  RuleRecord record;
  if (count <= kMostKept) {
    if (options.record) record = describe(rule, kept);
    for (rules::RuleInstance& instance : kept)
      if (!instances.take(instance)) break;
  } else {
    XFLOW_CHECK(rules::for_each_instance(
        rule, [&](rules::RuleInstance instance) { return instances.take(instance); }, ends));
  }
  if (result.verdict != Verdict::proved || !options.record) return std::move(result);
  if (count > kMostKept) {
    XFLOW_TRY(kept, rules::instantiate(rule, rules::kMaxChoices, ends));
    record = describe(rule, kept);
  }
  record.proofs = std::move(instances.proofs().proofs);
  record.instances = std::move(instances.proofs().instances);
  // A record counts only if it is accepted in the form in which it will be read.
  if (const auto accepted = replay(rule, record, options); accepted) {
    result.record = std::move(record);
  } else {
    result.verdict = is_over(options.deadline) ? Verdict::timeout : Verdict::unknown;
    result.decision.open = is_over(options.deadline) ? "the time limit was reached" : accepted.error().message;
  }
  return std::move(result);
}

// Decides a rule that has too many instances or whose instances were not all decided: an instance of small
// ranks may be a counterexample.
RuleDecision decide_by_small_ranks(const rules::Rule& rule, const Error& error, const Options& options) {
  RuleDecision result;
  result.rule = rule.name;
  result.verdict = result.decision.verdict = Verdict::timeout;
  result.decision.open = error.message;
  if (is_over(options.deadline)) {
    result.decision.open = "the time limit was reached";
    return result;
  }
  const auto small = with_small_ranks(rule);
  if (!small) return result;
  Options without_record = options;
  without_record.record = false;
  auto found = decide_instances(*small, without_record);
  if (!found) return result;
  if (found->verdict == Verdict::refuted) return *std::move(found);
  if (found->verdict == Verdict::proved) result.decision.open += fmt::format("; with ranks of at most {} it is proved", kSmallRank);
  return result;
}

}  // namespace

std::string RuleDecision::explanation() const {
  if (verdict == Verdict::proved) return {};
  std::string text = name(verdict);
  if (decision.counterexample) return text + ": " + decision.counterexample->to_string();
  if (!choice.empty()) text += fmt::format(" at {}", choice);
  if (!decision.open.empty()) text += ": " + decision.open;
  return text;
}

RuleDecision decide(const rules::Rule& rule, const Options& given) {
  const Options options = given.started();
  const std::uint64_t start = processor_microseconds();
  RuleDecision result;
  if (auto decided = decide_instances(rule, options); decided) {
    result = *std::move(decided);
  } else if (decided.error().code == ErrorCode::limit) {
    result = decide_by_small_ranks(rule, decided.error(), options);
  } else {
    result.rule = rule.name;
    result.verdict = result.decision.verdict = Verdict::ill_typed;
    result.decision.open = decided.error().message;
  }
  result.microseconds = processor_microseconds() - start;
  return result;
}

std::vector<RuleDecision> decide(std::span<const rules::Rule> rules, const Options& options, int jobs) {
  std::vector<RuleDecision> results(rules.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t k = next++; k < rules.size(); k = next++) results[k] = decide(rules[k], options);
  };
  std::vector<std::thread> threads;
  for (int k = 1; k < jobs; ++k) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  return results;
}

std::uint64_t semantics_hash(const rules::Rule& rule) {
  auto instances = rules::instantiate(rule);
  return semantics_hash(instances ? std::span<rules::RuleInstance>(*instances) : std::span<rules::RuleInstance>());
}

Result<std::vector<rules::Rule>> read_rules(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".rules") files.push_back(it->path());
  }
  if (error) return fail(ErrorCode::unreadable, "cannot list the folder: " + error.message(), folder);
  std::sort(files.begin(), files.end());
  std::vector<rules::Rule> all;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) return fail(ErrorCode::io, "cannot read the file", file.string());
    XFLOW_TRY(std::vector<rules::Rule> rules, rules::parse_rules(text.str(), file.string()));
    for (rules::Rule& r : rules) all.push_back(std::move(r));
  }
  return all;
}

namespace {

Result<void> check_names(std::span<const rules::Rule> rules) {
  std::set<std::string> names;
  for (const rules::Rule& r : rules) {
    if (!names.insert(r.name).second) {
      return fail(ErrorCode::invalid_argument, "there are two rules named " + r.name, rules::place_text(r.file, r.place));
    }
  }
  return {};
}

Result<void> write_file(const std::string& path, const std::string& text) {
  if (const auto old = rules::read_rule_file(path); old && *old == text) return {};
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return fail(ErrorCode::io, fmt::format("cannot write: {}", std::strerror(errno)), path);
  return {};
}

}  // namespace

Result<void> renew_records(const std::string& folder, const Options& options, int jobs) {
  XFLOW_TRY(const std::vector<rules::Rule> rules, read_rules(folder));
  XFLOW_CHECK(check_names(rules));
  Options recorded = options;
  recorded.record = true;
  const std::vector<RuleDecision> decisions = decide(rules, recorded, jobs);
  std::string failures;
  std::map<std::string, RecordFile> files;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    if (decisions[k].record) {
      RecordFile& file = files[records_path(rules[k].file)];
      file.z3 = solver_version();
      file.rules.push_back(*decisions[k].record);
    } else {
      failures +=
          fmt::format("\n  {}: rule {} is {}", rules::place_text(rules[k].file, rules[k].place), rules[k].name, decisions[k].explanation());
    }
  }
  if (!failures.empty()) return fail(ErrorCode::not_proved, "every rule must be proved, but" + failures, folder);
  for (const auto& [path, file] : files) XFLOW_CHECK(write_file(path, print(file)));
  return {};
}

Result<std::vector<RuleRecord>> replay_records(const std::string& folder, const Options& options, int jobs,
                                               std::vector<std::string>* left_out) {
  XFLOW_TRY(const std::vector<rules::Rule> rules, read_rules(folder));
  XFLOW_CHECK(check_names(rules));
  RecordFile all;
  std::string failures;
  std::string previous;
  for (const rules::Rule& r : rules) {
    const std::string path = records_path(r.file);
    if (path == previous) continue;
    previous = path;
    const auto file = read_records(path);
    if (!file) {
      failures += "\n  " + file.error().text();
      continue;
    }
    all.rules.insert(all.rules.end(), file->rules.begin(), file->rules.end());
  }
  std::vector<RuleRecord> result;
  const std::vector<Acceptance> replayed = replay(rules, all, options, jobs);
  for (std::size_t k = 0; k < rules.size(); ++k) {
    if (!replayed[k]) {
      if (left_out != nullptr) left_out->push_back(replayed[k].reason);
      if (left_out == nullptr) failures += "\n  " + replayed[k].reason;
    } else {
      result.push_back(*all.find(rules[k].hash));
    }
  }
  if (failures.empty()) return result;
  return fail(ErrorCode::not_proved,
              fmt::format("records of proofs do not fit:{}\nrenew them with 'xflow_prove {} --renew', which decides the rules again",
                          failures, folder),
              folder);
}

std::string to_include_file(std::span<const RuleRecord> records, std::span<const rules::Rule> rules) {
  std::set<rules::RuleHash> proved;
  for (const RuleRecord& r : records) proved.insert(r.hash);
  std::map<rules::RuleHash, const rules::Rule*> sorted;
  for (const rules::Rule& r : rules)
    if (proved.contains(r.hash)) sorted.emplace(r.hash, &r);
  std::string text;
  for (const auto& [hash, rule] : sorted) {
    std::string effects;
    for (const std::string& effect : rule->number_effects) effects += effect + "\\n";
    text += fmt::format("{{{{{{{:#018x}ULL, {:#018x}ULL}}}}, rules::FloatClass::{}, \"{}\"}},\n", hash.words[0], hash.words[1],
                        rules::name(rule->float_class), effects);
  }
  return text;
}

std::string texts_include_file(std::span<const RuleRecord> records) {
  std::string text;
  for (const RuleRecord& r : records) text += fmt::format("{{\"{}\", R\"proofs({})proofs\"}},\n", r.rule, print(r));
  return text;
}

}  // namespace xflow::verifier
