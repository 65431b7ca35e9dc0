#include "src/verifier/prove_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "src/ops/operator.h"
#include "src/rules/instantiate.h"

namespace xflow::verifier {

namespace {

// Raised whenever the checker or the meaning of a normal form changes: records of older proofs are stale then.
constexpr std::string_view kCheckerVersion = "xflow checker 1";

std::uint64_t processor_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000U + static_cast<std::uint64_t>(now.tv_nsec) / 1'000U;
}

// Fowler, Noll and Vo, 64 bits.
std::uint64_t hash_text(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

void hash_operators(std::uint64_t& hash, rules::RuleInstance& instance) {
  std::set<std::string> notations;
  for (const ir::Graph* graph : {&instance.source, &instance.target}) {
    for (const ir::NodeId id : ir::topological_order(*instance.arena, *graph)) {
      const ir::Node& node = instance.arena->node(id);
      if (node.kind != ir::NodeKind::operation) continue;
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        // Names of fresh indices count on through an arena: number them from the start.
        ir::Symbols& symbols = instance.arena->symbols();
        std::vector<ir::Poly> index;
        const std::size_t before = symbols.size();
        std::string text = ops::to_string(symbols, ops::semantics_of(*instance.arena, id, static_cast<int>(k), index));
        std::size_t number = 0;
        for (std::size_t s = before; s < symbols.size(); ++s) {
          const std::string& name = symbols.info(static_cast<ir::SymbolId>(s)).name;
          if (name.find('\'') == std::string::npos) continue;
          const std::string renamed = "#" + std::to_string(number++);
          for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + renamed.size())) {
            const char next = at + name.size() < text.size() ? text[at + name.size()] : ' ';
            if (next < '0' || next > '9') text.replace(at, name.size(), renamed);
          }
        }
        notations.insert(fmt::format("{}: {}", ops::get(node.op).signature.name, text));
      }
    }
  }
  for (const std::string& n : notations) hash = hash_text(hash, n);
}

}  // namespace

std::string RuleDecision::explanation() const {
  if (verdict == Verdict::proved) return {};
  std::string text = name(verdict);
  if (!choice.empty()) text += fmt::format(" at {}", choice);
  if (decision.counterexample) text += ": " + decision.counterexample->to_string();
  if (!decision.open.empty()) text += ": " + decision.open;
  return text;
}

RuleDecision decide(const rules::Rule& rule, const Options& options) {
  const std::uint64_t start = processor_microseconds();
  RuleDecision result;
  result.rule = rule.name;
  auto instances = rules::instantiate(rule);
  if (!instances) {
    result.verdict = instances.error().code == ErrorCode::limit ? Verdict::timeout : Verdict::ill_typed;
    result.decision.verdict = result.verdict;
    result.decision.open = instances.error().message;
    return result;
  }
  bool proved_one = false;
  result.verdict = Verdict::proved;
  for (rules::RuleInstance& instance : *instances) {
    Decision d = decide(instance, options);
    ++result.instances;
    if (d.verdict == Verdict::proved) {
      proved_one = true;
      result.decision = std::move(d);
      continue;
    }
    const bool vacuous = d.verdict == Verdict::ill_typed && d.open.starts_with("vacuous");
    if (vacuous && (proved_one || result.instances < instances->size())) continue;
    result.verdict = d.verdict;
    result.choice = instance.choice;
    result.decision = std::move(d);
    break;
  }
  if (instances->empty()) {
    result.verdict = Verdict::ill_typed;
    result.decision.open = "the rule has no instances: no choice of what it leaves open is well typed";
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
  std::uint64_t hash = hash_text(0xCBF29CE484222325ULL, kCheckerVersion);
  auto instances = rules::instantiate(rule);
  if (!instances) return hash;
  // One instance of each number of operators speaks for the others: they differ in rank.
  if (!instances->empty()) {
    hash_operators(hash, instances->front());
    if (instances->size() > 1) hash_operators(hash, instances->back());
  }
  return hash;
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

Result<std::vector<ProofRecord>> prove_folder(const std::string& folder, const Options& options, int jobs) {
  XFLOW_TRY(const std::vector<rules::Rule> rules, read_rules(folder));
  std::set<std::string> names;
  for (const rules::Rule& r : rules) {
    if (!names.insert(r.name).second) {
      return fail(ErrorCode::invalid_argument, "there are two rules named " + r.name, rules::place_text(r.file, r.place));
    }
  }
  const std::vector<RuleDecision> decisions = decide(rules, options, jobs);
  std::string failures;
  std::vector<ProofRecord> records;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    if (decisions[k].verdict == Verdict::proved) {
      records.push_back({rules[k].hash, semantics_hash(rules[k])});
    } else {
      failures +=
          fmt::format("\n  {}: rule {} is {}", rules::place_text(rules[k].file, rules[k].place), rules[k].name, decisions[k].explanation());
    }
  }
  if (!failures.empty()) return fail(ErrorCode::not_proved, "every shipped rule has to be proved, but" + failures, folder);
  std::sort(records.begin(), records.end());
  return records;
}

std::string to_include_file(std::span<const ProofRecord> records) {
  std::string text;
  for (const ProofRecord& r : records) {
    text += fmt::format("{{{{{{{:#018x}ULL, {:#018x}ULL}}}}, {:#018x}ULL}},\n", r.rule.words[0], r.rule.words[1], r.semantics);
  }
  return text;
}

}  // namespace xflow::verifier
