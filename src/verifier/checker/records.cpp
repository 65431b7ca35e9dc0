#include "src/verifier/checker/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <set>
#include <thread>

#include "src/rules/instantiate.h"
#include "src/rules/verified_rules.h"
#include "src/verifier/checker/certificate_text.h"
#include "src/verifier/checker/semantics.h"
#include "src/verifier/faults.h"
#include "src/verifier/guards/assumed_guards.h"
#include "src/verifier/proof/proof.h"

namespace xflow::verifier {

namespace {

constexpr std::string_view kHeader = "xflow proofs 1";
constexpr std::string_view kNone = "-";

std::string instances_text(const std::vector<std::size_t>& instances) {
  std::string text;
  for (std::size_t k = 0; k < instances.size();) {
    std::size_t end = k;
    while (end < instances.size() && instances[end] == instances[k]) ++end;
    text += instances[k] == RuleRecord::kVacuous ? std::string(" v") : fmt::format(" {}", instances[k]);
    if (end - k > 1) text += fmt::format("*{}", end - k);
    k = end;
  }
  return text;
}

// The lines of a record file: keyword and rest.
class Lines {
 public:
  Lines(std::string_view text, const std::string& file) : text_(text), file_(file) { advance(); }

  bool at_end() const { return ended_; }
  std::string_view keyword() const { return keyword_; }
  std::string_view rest() const { return rest_; }
  std::string_view line() const { return line_; }
  void advance() {
    do {
      if (at_ >= text_.size()) {
        ended_ = true;
        line_ = keyword_ = rest_ = {};
        return;
      }
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      line_ = text_.substr(at_, end - at_);
      at_ = end + 1;
      ++number_;
      line_.remove_prefix(std::min(line_.find_first_not_of(' '), line_.size()));
    } while (line_.empty());
    const std::size_t space = line_.find(' ');
    keyword_ = line_.substr(0, space);
    rest_ = space == std::string_view::npos ? std::string_view() : line_.substr(space + 1);
  }
  Unexpected expected(const std::string& what) const {
    const std::string found = ended_ ? std::string("the end of the file") : fmt::format("'{}'", line_.substr(0, 60));
    return fail(ErrorCode::syntax, fmt::format("expected {}, found {}", what, found), fmt::format("{}:{}", file_, number_));
  }

 private:
  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t number_ = 0;
  bool ended_ = false;
  std::string_view line_;
  std::string_view keyword_;
  std::string_view rest_;
};

template <typename T>
std::optional<T> number_in(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Reads numbers in ascending order.
bool read_numbers(std::string_view text, std::vector<std::size_t>& numbers) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const auto n = number_in<std::size_t>(text.substr(at, end - at));
    if (!n || (!numbers.empty() && *n <= numbers.back())) return false;
    numbers.push_back(*n);
    at = end + 1;
  }
  return !numbers.empty();
}

bool read_instances(std::string_view text, std::vector<std::size_t>& instances) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string item(text.substr(at, end - at));
    at = end + 1;
    const std::size_t star = item.find('*');
    const auto times = star == std::string::npos ? std::optional<std::size_t>(1) : number_in<std::size_t>(item.substr(star + 1));
    const std::string first = item.substr(0, star);
    const auto proof = first == "v" ? std::optional(RuleRecord::kVacuous) : number_in<std::size_t>(first);
    if (!proof || !times || *times == 0 || *times > rules::kMaxChoices || instances.size() + *times > rules::kMaxChoices) return false;
    instances.insert(instances.end(), *times, *proof);
  }
  return true;
}

// NUMBER [shown NUMBERS] [given NUMBERS]
bool read_proof_line(std::string_view rest, std::string_view number, InstanceProof& proof) {
  if (!rest.starts_with(number)) return false;
  rest.remove_prefix(number.size());
  constexpr std::string_view kShown = " shown ";
  constexpr std::string_view kGiven = " given ";
  const std::size_t given = rest.find(kGiven);
  if (given != std::string_view::npos) {
    if (!read_numbers(rest.substr(given + kGiven.size()), proof.given)) return false;
    rest = rest.substr(0, given);
  }
  if (rest.empty()) return true;
  return rest.starts_with(kShown) && read_numbers(rest.substr(kShown.size()), proof.shown);
}

Result<RuleRecord> read_rule(Lines& lines) {
  RuleRecord record;
  record.rule = lines.rest();
  lines.advance();
  const auto line = [&](std::string_view keyword) -> std::optional<std::string_view> {
    if (lines.at_end() || lines.keyword() != keyword) return std::nullopt;
    const std::string_view rest = lines.rest();
    lines.advance();
    return rest;
  };
  const auto hash = lines.keyword() == "hash" ? rules::RuleHash::parse(lines.rest()) : std::nullopt;
  if (!hash) return lines.expected("the hash of the rule");
  record.hash = *hash;
  lines.advance();
  const auto semantics = lines.keyword() == "semantics" ? number_in<std::uint64_t>(lines.rest(), 16) : std::nullopt;
  if (!semantics) return lines.expected("the hash of the operators' semantics");
  record.semantics = *semantics;
  lines.advance();
  if (lines.line() != "verdict proved") return lines.expected("'verdict proved'");
  lines.advance();
  const auto float_class = line("float");
  if (!float_class) return lines.expected("the float class");
  record.float_class = *float_class;
  while (const auto guard = line("guard")) record.guards.emplace_back(*guard);
  while (const auto assumed = line("assumes")) record.assumes.emplace_back(*assumed);
  if (lines.keyword() != "instances" || !read_instances(lines.rest(), record.instances))
    return lines.expected("the proofs of the instances");
  lines.advance();
  while (lines.keyword() == "proof") {
    const std::string number = fmt::format("{}", record.proofs.size());
    InstanceProof& proof = record.proofs.emplace_back();
    if (!read_proof_line(lines.rest(), number, proof)) return lines.expected(fmt::format("proof {}", record.proofs.size() - 1));
    lines.advance();
    while (!lines.at_end() && (lines.line() == kNone || lines.line().front() == '(' || lines.line().front() == 'v')) {
      proof.certificates.emplace_back(lines.line() == kNone ? std::string_view() : lines.line());
      lines.advance();
    }
  }
  for (const std::size_t k : record.instances)
    if (k != RuleRecord::kVacuous && k >= record.proofs.size()) return lines.expected(fmt::format("proof {} of an instance", k));
  return record;
}

}  // namespace

void RuleRecord::add_instance(InstanceProof proof) {
  const auto known = std::find(proofs.begin(), proofs.end(), proof);
  instances.push_back(static_cast<std::size_t>(known - proofs.begin()));
  if (known == proofs.end()) proofs.push_back(std::move(proof));
}

const RuleRecord* RecordFile::find(const rules::RuleHash& hash) const {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const RuleRecord& r) { return r.hash == hash; });
  return found == rules.end() ? nullptr : &*found;
}

const RuleRecord* RecordFile::find_name(std::string_view rule) const {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const RuleRecord& r) { return r.rule == rule; });
  return found == rules.end() ? nullptr : &*found;
}

std::string print(const RuleRecord& record) {
  std::string text = fmt::format("rule {}\n  hash {}\n  semantics {:016x}\n  verdict proved\n  float {}\n", record.rule,
                                 record.hash.to_string(), record.semantics, record.float_class);
  for (const std::string& g : record.guards) text += fmt::format("  guard {}\n", g);
  for (const std::string& a : record.assumes) text += fmt::format("  assumes {}\n", a);
  text += fmt::format("  instances{}\n", instances_text(record.instances));
  for (std::size_t k = 0; k < record.proofs.size(); ++k) {
    const InstanceProof& proof = record.proofs[k];
    text += fmt::format("  proof {}{}{}", k, proof.shown.empty() ? "" : " shown ", fmt::join(proof.shown, " "));
    text += fmt::format("{}{}\n", proof.given.empty() ? "" : " given ", fmt::join(proof.given, " "));
    for (const std::string& c : proof.certificates) text += fmt::format("    {}\n", c.empty() ? kNone : std::string_view(c));
  }
  return text;
}

std::string print(const RecordFile& records) {
  std::string text = fmt::format("{}\nz3 {}\n", kHeader, records.z3);
  for (const RuleRecord& r : records.rules) text += "\n" + print(r);
  return text;
}

Result<RuleRecord> parse_record(std::string_view text, const std::string& file) {
  Lines lines(text, file);
  if (lines.keyword() != "rule" || lines.rest().empty()) return lines.expected("a rule");
  XFLOW_TRY(RuleRecord record, read_rule(lines));
  if (!lines.at_end()) return lines.expected("the end of the record");
  return record;
}

Result<RecordFile> parse_records(std::string_view text, const std::string& file) {
  Lines lines(text, file);
  RecordFile result;
  if (lines.at_end() || lines.line() != kHeader) return lines.expected(fmt::format("'{}'", kHeader));
  lines.advance();
  if (lines.keyword() != "z3") return lines.expected("the version of Z3");
  result.z3 = lines.rest();
  lines.advance();
  while (!lines.at_end()) {
    if (lines.keyword() != "rule" || lines.rest().empty()) return lines.expected("a rule");
    XFLOW_TRY(RuleRecord record, read_rule(lines));
    if (result.find_name(record.rule) != nullptr) return lines.expected(fmt::format("one record of rule {}", record.rule));
    result.rules.push_back(std::move(record));
  }
  return result;
}

RuleRecord describe(const rules::Rule& rule, std::span<rules::RuleInstance> instances) {
  RuleRecord record;
  record.rule = rule.name;
  record.hash = rule.hash;
  record.semantics = semantics_hash(instances);
  record.float_class = rules::name(rule.float_class);
  for (const rules::Guard& g : rule.guards) record.guards.push_back(rules::print(g));
  std::set<std::string> known;
  for (const rules::RuleInstance& instance : instances)
    for (std::string& text : assumed_guards(rule, instance))
      if (known.insert(text).second) record.assumes.push_back(std::move(text));
  return record;
}

namespace {

Result<void> replay_instance(rules::RuleInstance& instance, const RuleRecord& record, std::size_t number, const Options& options) {
  const auto wrong = [&](const std::string& what) {
    const std::string at = instance.choice.empty() ? std::string() : fmt::format(" at {}", instance.choice);
    return fail(ErrorCode::not_proved, fmt::format("the record is not accepted{}: {}", at, what));
  };
  Proof proof(instance, options);
  if (number == RuleRecord::kVacuous) {
    if (!proof.facts_are_contradictory()) return wrong("there are shapes that satisfy the guards");
    return {};
  }
  const std::vector<std::string>& certificates = record.proofs[number].certificates;
  if (certificates.size() != instance.source.outputs.size()) return wrong("another number of outputs");
  const auto divisor = broken(Fault::records_divide_by_anything) ? std::nullopt : proof.unguarded_division();
  if (divisor) return wrong(divisor->reason);
  const auto failed = broken(Fault::records_of_an_untyped_target) ? std::nullopt : proof.failed_obligation();
  if (failed) return wrong("typing of the target: " + instance.obligations[*failed].reason);
  const bool accepted =
      proof.replay(record.proofs[number].shown, record.proofs[number].given, [&](std::size_t output, const Proof::OutputProof& p) {
        return read_certificate(certificates[output], instance.arena->symbols(), p);
      });
  if (!accepted && !broken(Fault::records_are_believed)) return wrong(proof.open());
  return {};
}

Result<void> replay_record(const rules::Rule& rule, const RuleRecord& record, const Options& options) {
  const auto stale = [](const std::string& what) { return fail(ErrorCode::not_proved, "the record is stale: " + what); };
  if (record.hash != rule.hash && !broken(Fault::records_of_another_text)) return stale("it is of another text of the rule");
  XFLOW_TRY(std::vector<rules::RuleInstance> instances,
            rules::instantiate(rule, rules::kMaxChoices, [&] { return is_over(options.deadline); }));
  RuleRecord expected = describe(rule, instances);
  if (record.semantics != expected.semantics && !broken(Fault::records_of_another_meaning))
    return stale("the operators of the rule, or the checker, have another meaning now");
  if (record.instances.size() != instances.size()) {
    return stale(fmt::format("it has {} instances, the rule {}", record.instances.size(), instances.size()));
  }
  const bool same_guards = record.guards == expected.guards || broken(Fault::records_of_other_guards);
  const bool same_typing = record.assumes == expected.assumes || broken(Fault::records_of_other_typing);
  if (!same_guards || !same_typing) return stale("the guards are not those of the rule");
  if (record.float_class != expected.float_class && !broken(Fault::records_of_another_float_class))
    return stale(fmt::format("the float class is {} now", expected.float_class));
  const auto vacuous = std::count(record.instances.begin(), record.instances.end(), RuleRecord::kVacuous);
  if (static_cast<std::size_t>(vacuous) == instances.size() && !broken(Fault::records_of_nothing))
    return stale("it proves nothing of any shape");
  for (std::size_t k = 0; k < instances.size(); ++k) XFLOW_CHECK(replay_instance(instances[k], record, record.instances[k], options));
  return {};
}

}  // namespace

Result<void> replay(const rules::Rule& rule, const RuleRecord& record, const Options& options) {
  auto result = replay_record(rule, record, options);
  if (!result) {
    result.error().code = ErrorCode::not_proved;
    result.error().where = rules::place_text(rule.file, rule.place);
    result.error().message = fmt::format("rule {}: {}", rule.name, result.error().message);
  }
  return result;
}

std::vector<Acceptance> replay(std::span<const rules::Rule> rules, const RecordFile& records, const Options& options, int jobs) {
  std::vector<Acceptance> results(rules.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t k = next++; k < rules.size(); k = next++) {
      const rules::Rule& rule = rules[k];
      const RuleRecord* record = records.find(rule.hash);
      if (record == nullptr) record = records.find_name(rule.name);
      if (record == nullptr) {
        results[k] =
            refused(fmt::format("{}: rule {}: there is no record of a proof", rules::place_text(rule.file, rule.place), rule.name));
        continue;
      }
      if (const auto replayed = replay(rule, *record, options); !replayed) results[k] = refused(replayed.error().text());
    }
  };
  std::vector<std::thread> threads;
  for (int k = 1; k < jobs; ++k) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  return results;
}

std::string records_path(const std::string& rule_file) { return std::filesystem::path(rule_file).replace_extension(".proofs").string(); }

Result<RecordFile> read_records(const std::string& path) {
  XFLOW_TRY(const std::string text, rules::read_rule_file(path));
  return parse_records(text, path);
}

}  // namespace xflow::verifier
