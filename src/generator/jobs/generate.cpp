#include "src/generator/jobs/generate.h"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "src/generator/enumerate/candidate_list.h"
#include "src/generator/enumerate/candidates.h"
#include "src/generator/jobs/checkpoint.h"
#include "src/generator/jobs/step_times.h"
#include "src/generator/rules/collect_pieces.h"
#include "src/generator/rules/minimize.h"
#include "src/generator/rules/rule_writer.h"
#include "src/generator/rules/shapes.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::generator {
namespace {

using nlohmann::ordered_json;

// Of enumeration: enough for even shares of any number of processes, whatever that is.
constexpr std::size_t kParts = 64;

std::size_t inputs_of(const GenerateOptions& options) {
  constexpr std::size_t kMost = 4;
  return options.inputs != 0 ? options.inputs : std::min(options.max_operators + 1, kMost);
}

EnumerationOptions enumeration(const GenerateOptions& options) {
  EnumerationOptions result;
  result.max_operators = options.max_operators;
  result.max_outputs = options.pairs ? 2 : 1;
  result.seed = options.seed;
  return result;
}

// What makes two jobs the same.
std::string identity(const GenerateOptions& options) {
  ordered_json json;
  json["format"] = 5;
  json["operators"] = options.words;
  json["max_operators"] = options.max_operators;
  json["inputs"] = inputs_of(options);
  json["pairs"] = options.pairs;
  json["seed"] = options.seed;
  json["memory"] = options.memory;
  json["rounds"] = options.limits.rounds;
  json["terms"] = options.limits.terms;
  json["tries"] = options.limits.tries;
  json["beside"] = ordered_json::array();
  for (const rules::Rule& r : options.beside) json["beside"].push_back(r.hash.to_string());
  return json.dump(1) + "\n";
}

std::string work_folder(const std::string& out) { return out + "/work"; }

// Numbers and records as bytes of this machine: checkpoints do not travel.
template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <typename T>
T take(std::string_view& bytes) {
  T value{};
  bytes.copy(reinterpret_cast<char*>(&value), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

// A file of graphs: counts, then records in ascending order.
struct GraphsHeader {
  std::uint64_t raw[8] = {};
  std::uint64_t plain[8] = {};
  std::uint64_t without_value = 0;
  std::uint64_t records = 0;
};

std::string graphs_name(std::size_t signature, std::size_t part) { return fmt::format("graphs-{}-{}", signature, part); }
std::string candidates_name(std::size_t signature, std::size_t range) { return fmt::format("candidates-{}-{}", signature, range); }

// The signatures of a job, made by every thread: they are used by one at a time.
Result<std::vector<GraphSignature>> signatures_of(const GenerateOptions& options) {
  XFLOW_TRY(const std::vector<SignatureOptions> divided, GraphSignature::divide(options.words, inputs_of(options)));
  std::vector<GraphSignature> result;
  for (const SignatureOptions& u : divided) {
    XFLOW_TRY(GraphSignature signature, GraphSignature::make(u));
    XFLOW_CHECK(GraphCodec::make(signature, options.max_operators));
    result.push_back(std::move(signature));
  }
  return result;
}

// "graphs U P": part P of the graphs of signature U into its file.
Result<std::string> enumerate_part(const Checkpoint& checkpoint, Candidates& finder, std::size_t number, std::size_t part) {
  std::vector<Record> records;
  XFLOW_TRY(const EnumerationCounts counts, finder.evaluator().enumerate(part, kParts, [&](const Record& r) { records.push_back(r); }));
  // Of a structure the smallest code stands for all.
  std::sort(records.begin(), records.end());
  records.erase(std::unique(records.begin(), records.end(),
                            [](const Record& a, const Record& b) { return a.fingerprint == b.fingerprint && a.structure == b.structure; }),
                records.end());
  GraphsHeader header;
  for (std::size_t k = 0; k < counts.raw.size() && k < 8; ++k) {
    header.raw[k] = counts.raw[k];
    header.plain[k] = counts.plain[k];
  }
  header.without_value = counts.without_value;
  header.records = records.size();
  std::string bytes;
  bytes.reserve(sizeof header + records.size() * sizeof(Record));
  append(bytes, header);
  bytes.append(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record));
  XFLOW_CHECK(checkpoint.write(graphs_name(number, part), bytes));
  return std::string();
}

Result<GraphsHeader> read_header(const Checkpoint& checkpoint, std::size_t signature, std::size_t part) {
  XFLOW_TRY(const std::string bytes, checkpoint.read(graphs_name(signature, part), 0, sizeof(GraphsHeader)));
  std::string_view view = bytes;
  return take<GraphsHeader>(view);
}

// The records of a file with fingerprints from `begin` up to `last`.
Result<void> read_records(const Checkpoint& checkpoint, std::size_t signature, std::size_t part, std::uint64_t begin, std::uint64_t last,
                          std::vector<Record>& into) {
  XFLOW_TRY(const GraphsHeader header, read_header(checkpoint, signature, part));
  const std::string name = graphs_name(signature, part);
  // The first record with a fingerprint that is not below `bound`, or above it.
  const auto find = [&](std::uint64_t bound, bool above) -> Result<std::uint64_t> {
    std::uint64_t low = 0;
    std::uint64_t high = header.records;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      XFLOW_TRY(const std::string bytes, checkpoint.read(name, sizeof header + middle * sizeof(Record), sizeof(Record)));
      std::string_view view = bytes;
      const auto record = take<Record>(view);
      if (above ? record.fingerprint <= bound : record.fingerprint < bound) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  XFLOW_TRY(const std::uint64_t first, find(begin, false));
  XFLOW_TRY(const std::uint64_t end, find(last, true));
  XFLOW_TRY(const std::string bytes, checkpoint.read(name, sizeof header + first * sizeof(Record), (end - first) * sizeof(Record)));
  const std::size_t before = into.size();
  into.resize(before + (end - first));
  std::memcpy(into.data() + before, bytes.data(), bytes.size());
  return {};
}

// Ranges of fingerprints, so many that the graphs of one fit into the memory (their records, what is known of each, and candidates), and a
// few at least for threads to share where there are many graphs.
std::size_t ranges_of(const GenerateOptions& options, std::uint64_t records) {
  constexpr std::uint64_t kBytesARecord = 6 * sizeof(Record);
  constexpr std::uint64_t kMany = 50000;
  return static_cast<std::size_t>(
      std::max<std::uint64_t>(records > kMany ? 8 : 1, (records * kBytesARecord + options.memory - 1) / options.memory));
}
std::uint64_t range_begin(std::size_t range, std::size_t ranges) { return range == 0 ? 0 : UINT64_MAX / ranges * range + 1; }
std::uint64_t range_last(std::size_t range, std::size_t ranges) {
  return range + 1 == ranges ? UINT64_MAX : range_begin(range + 1, ranges) - 1;
}

// Parts of graphs have fewer operators; they are few.
Result<void> learn(const GenerateOptions& options, const Checkpoint& checkpoint, const GraphSignature& signature, Candidates& finder,
                   std::size_t number) {
  XFLOW_TRY(const GraphCodec codec, GraphCodec::make(signature, options.max_operators));
  std::vector<Record> records;
  for (std::size_t part = 0; part < kParts; ++part) {
    std::vector<Record> all;
    XFLOW_CHECK(read_records(checkpoint, number, part, 0, UINT64_MAX, all));
    for (const Record& r : all)
      if (codec.operators(r.code) < options.max_operators) records.push_back(r);
  }
  finder.learn(records);
  return {};
}

// "candidates U R N": range R of N of signature U.
Result<std::string> group_range(const GenerateOptions& options, const Checkpoint& checkpoint, const GraphSignature& signature,
                                Candidates& finder, std::size_t number, std::size_t range, std::size_t ranges) {
  std::vector<Record> records;
  for (std::size_t part = 0; part < kParts; ++part)
    XFLOW_CHECK(read_records(checkpoint, number, part, range_begin(range, ranges), range_last(range, ranges), records));
  CandidateList candidates(signature, options.max_operators);
  finder.find(records, [&](Candidate c) { candidates.add(std::move(c)); });
  const CandidateCounts& counts = finder.counts();
  std::string bytes;
  for (const std::uint64_t n : {counts.graphs, counts.classes, counts.pairs, counts.reducible, counts.accidents, counts.dropped,
                                counts.idle, counts.no_gain, counts.in_vain, static_cast<std::uint64_t>(candidates.size())}) {
    append(bytes, n);
  }
  bytes += candidates.bytes();
  XFLOW_CHECK(checkpoint.write(candidates_name(number, range), bytes));
  return std::string();
}

struct Grouped {
  CandidateCounts counts;
  CandidateList candidates;
};
Result<void> read_candidates(const Checkpoint& checkpoint, std::size_t signature, std::size_t range, Grouped& into) {
  XFLOW_TRY(const std::optional<std::string> bytes, checkpoint.read(candidates_name(signature, range)));
  if (!bytes) return fail(ErrorCode::io, "a file of the job is gone", checkpoint.path(candidates_name(signature, range)));
  std::string_view view = *bytes;
  for (std::uint64_t* n : {&into.counts.graphs, &into.counts.classes, &into.counts.pairs, &into.counts.reducible, &into.counts.accidents,
                           &into.counts.dropped, &into.counts.idle, &into.counts.no_gain, &into.counts.in_vain}) {
    *n += take<std::uint64_t>(view);
  }
  const std::size_t before = into.candidates.size();
  const auto count = take<std::uint64_t>(view);
  into.candidates.add_bytes(view);
  if (into.candidates.size() - before != count)
    return fail(ErrorCode::unreadable, "a file of the job is cut off", checkpoint.path(candidates_name(signature, range)));
  return {};
}

// Of all ranges, candidates in their order.
Result<Grouped> read_candidates(const GenerateOptions& options, const Checkpoint& checkpoint, const GraphSignature& signature,
                                std::size_t number, std::size_t ranges) {
  Grouped grouped{{}, CandidateList(signature, options.max_operators)};
  for (std::size_t r = 0; r < ranges; ++r) XFLOW_CHECK(read_candidates(checkpoint, number, r, grouped));
  grouped.candidates.sort();
  return grouped;
}

// Runs the pieces whose files are not there yet.
Result<void> run_missing(const GenerateOptions& options, const Checkpoint& checkpoint, Workers& workers, PieceWorker& worker,
                         const std::string& what, const std::vector<std::pair<std::string, std::string>>& pieces) {
  std::vector<std::string> missing;
  for (const auto& [piece, file] : pieces)
    if (!checkpoint.has(file)) missing.push_back(piece);
  std::size_t count = pieces.size() - missing.size();
  return workers.run(
      missing, [&](const std::string& piece) { return worker.run(piece); },
      [&](std::size_t, const std::string&) -> Result<void> {
        ++count;
        if (options.progress) options.progress(fmt::format("{}: {} of {}", what, count, pieces.size()));
        return {};
      });
}

// The answers to questions, each in its place.
Result<std::vector<std::string>> answers(Workers& workers, PieceWorker& worker, const std::vector<std::string>& questions) {
  std::vector<std::string> result(questions.size());
  XFLOW_CHECK(workers.run(
      questions, [&](const std::string& piece) { return worker.run(piece); },
      [&](std::size_t k, std::string answer) -> Result<void> {
        result[k] = std::move(answer);
        return {};
      }));
  return result;
}

// Candidates are collected in batches that depend on nothing: most rules come from the first, small candidates.
std::size_t end_of_batch(std::size_t begin) {
  constexpr std::size_t kLeast = 32;
  constexpr std::size_t kMost = 4096;
  return begin + std::clamp(begin / 2, kLeast, kMost);
}

// The triage of candidates `begin` to `end`; nothing where there are none.
Result<std::optional<std::string>> triages_of(Workers& workers, PieceWorker& worker, const RuleCollector& collector, std::size_t signature,
                                              std::size_t ranges, std::size_t begin, std::size_t end) {
  if (workers.width() <= 1) return std::optional<std::string>();
  const std::vector<pieces::RuleText> rules = collector.texts();
  const std::size_t size = std::clamp<std::size_t>((end - begin) / (4 * workers.width()), 16, 512);
  std::vector<std::string> questions;
  for (std::size_t k = begin; k < end; k += size) questions.push_back(pieces::triage(signature, ranges, k, std::min(k + size, end), rules));
  XFLOW_TRY(const std::vector<std::string> found, answers(workers, worker, questions));
  return std::optional<std::string>(fmt::format("{}", fmt::join(found, "")));
}

ordered_json counts_json(const std::vector<std::uint64_t>& counts) {
  ordered_json json = ordered_json::array();
  for (const std::uint64_t c : counts) json.push_back(c);
  return json;
}

std::string command_text(const GenerateOptions& options) {
  return fmt::format("xflow generate --ops {} --max-ops {}{}{}{}", fmt::join(options.words, ","), options.max_operators,
                     options.inputs != 0 ? fmt::format(" --inputs {}", options.inputs) : std::string(), options.pairs ? "" : " --no-pairs",
                     options.beside_text.empty() ? std::string() : " --beside " + options.beside_text);
}

// How far the collection of rules has come: written every few seconds, which changes no result.
class Progress {
 public:
  Progress(const GenerateOptions& options, const Checkpoint& checkpoint) : options_(options), checkpoint_(checkpoint) {}

  Result<void> restore(RuleCollector& collector, std::span<const GraphSignature> signatures) {
    XFLOW_TRY(const std::optional<std::string> saved, checkpoint_.read("rules"));
    if (!saved) return {};
    std::string_view view = *saved;
    signature_ = take<std::uint64_t>(view);
    candidate_ = take<std::uint64_t>(view);
    XFLOW_CHECK(collector.restore(std::string(view), signatures));
    if (options_.progress) options_.progress(fmt::format("going on at candidate {} with {} rules", candidate_, collector.kept().size()));
    return {};
  }
  bool is_done(std::size_t signature, std::size_t candidate) const {
    return signature < signature_ || (signature == signature_ && candidate < candidate_);
  }
  Result<void> save(const RuleCollector& collector, std::size_t signature, std::size_t candidates) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kBetween) return {};
    std::string bytes;
    append(bytes, static_cast<std::uint64_t>(signature));
    append(bytes, static_cast<std::uint64_t>(candidates));
    bytes += collector.save();
    XFLOW_CHECK(checkpoint_.write("rules", bytes));
    last_ = std::chrono::steady_clock::now();
    return {};
  }

 private:
  static constexpr std::chrono::seconds kBetween{2};

  const GenerateOptions& options_;
  const Checkpoint& checkpoint_;
  std::uint64_t signature_ = 0;
  std::uint64_t candidate_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// The files in OUT, all or none new: first beside, then moved.
Result<void> write_results(const GenerateOptions& options, const Checkpoint& checkpoint, const std::string& directed,
                           const std::string& equations, const std::string& report, int jobs) {
  const std::string folder = checkpoint.path("results");
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::io, fmt::format("cannot make the folder: {}", error.message()), folder);
  XFLOW_CHECK(checkpoint.write("results/" + options.name + ".json", report));
  std::vector<std::string> names = {options.name + ".json"};
  for (const auto& [place, text] : {std::pair(std::string(), &directed), std::pair(std::string("equations/"), &equations)}) {
    if (text->find("\nrule ") == std::string::npos) continue;
    const std::string from = fmt::format("{}/{}", folder, place);
    const std::string to = fmt::format("{}/{}", options.out, place);
    std::filesystem::create_directories(from, error);
    std::filesystem::create_directories(to, error);
    if (error) return fail(ErrorCode::io, fmt::format("cannot make the folder: {}", error.message()), to);
    XFLOW_CHECK(checkpoint.write(fmt::format("results/{}{}.rules", place, options.name), *text));
    XFLOW_CHECK(verifier::renew_records(from, {}, jobs));
    for (const char* suffix : {".proofs", ".rules"}) names.push_back(fmt::format("{}{}{}", place, options.name, suffix));
  }
  for (const std::string& name : names) {
    const std::string to = fmt::format("{}/{}", options.out, name);
    std::filesystem::rename(fmt::format("{}/{}", folder, name), to, error);
    if (error) return fail(ErrorCode::io, fmt::format("cannot write: {}", error.message()), to);
  }
  return {};
}

// What was freed, to the system: what the next step needs comes in pieces of other sizes.
void give_memory_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

// What one thread needs; it stays for its next pieces.
struct PieceWorker::Tools {
  std::vector<GraphSignature> signatures;
  std::size_t signature = 0;  // of the finder
  std::unique_ptr<Candidates> finder;
  bool has_learned = false;
  std::unique_ptr<CollectWorker> collector;
};

PieceWorker::PieceWorker(const GenerateOptions& options) : options_(options), plans_(std::make_shared<PlanCache>()) {}
PieceWorker::~PieceWorker() = default;

Result<std::string> PieceWorker::run(const std::string& piece) {
  std::unique_ptr<Tools> tools;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      tools = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!tools) {
    tools = std::make_unique<Tools>();
    XFLOW_TRY(tools->signatures, signatures_of(options_));
    for (GraphSignature& u : tools->signatures) u.share_plans(plans_);
  }
  Result<std::string> result = run(piece, *tools);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(tools));
  return result;
}

void PieceWorker::forget() {
  const std::lock_guard lock(mutex_);
  idle_.clear();
  plans_->clear();
  give_memory_back();
}

Result<std::string> PieceWorker::run(const std::string& piece, Tools& tools) const {
  XFLOW_TRY(const Checkpoint checkpoint, Checkpoint::open(work_folder(options_.out), identity(options_)));
  std::istringstream words(piece.substr(0, piece.find('\n')));
  std::string kind;
  std::size_t signature = 0;
  std::size_t number = 0;
  std::size_t count = 1;
  words >> kind;
  const auto drop_finder = [&] {
    if (!tools.finder) return;
    tools.finder.reset();
    tools.signatures[tools.signature].forget_plans();
    plans_->clear();
    give_memory_back();
  };
  if (pieces::is_one(kind)) {
    drop_finder();
    if (!tools.collector)
      tools.collector = std::make_unique<CollectWorker>(
          tools.signatures, options_.limits, verifier::Options(), [&](std::size_t u, std::size_t ranges) -> Result<CandidateList> {
            XFLOW_TRY(const Checkpoint files, Checkpoint::open(work_folder(options_.out), identity(options_)));
            XFLOW_TRY(Grouped grouped, read_candidates(options_, files, tools.signatures[u], u, ranges));
            return std::move(grouped.candidates);
          });
    return tools.collector->run(piece);
  }
  words >> signature >> number;
  if (!words || signature >= tools.signatures.size()) return fail(ErrorCode::internal, fmt::format("no piece of work '{}'", piece));
  if (!tools.finder || tools.signature != signature) {
    drop_finder();
    tools.finder = std::make_unique<Candidates>(tools.signatures[signature], enumeration(options_));
    tools.signature = signature;
    tools.has_learned = false;
  }
  if (kind == "graphs") return enumerate_part(checkpoint, *tools.finder, signature, number);
  if (!(words >> count) || count == 0) return fail(ErrorCode::internal, fmt::format("no piece of work '{}'", piece));
  if (!tools.has_learned) XFLOW_CHECK(learn(options_, checkpoint, tools.signatures[signature], *tools.finder, signature));
  tools.has_learned = true;
  return group_range(options_, checkpoint, tools.signatures[signature], *tools.finder, signature, number, count);
}

Result<std::optional<GenerateOptions>> job_in(const std::string& out) {
  XFLOW_TRY(const std::optional<std::string> text, Checkpoint::identity_of(work_folder(out)));
  if (!text) return std::optional<GenerateOptions>();
  GenerateOptions options;
  options.out = out;
  try {
    const ordered_json json = ordered_json::parse(*text);
    options.words = json.at("operators").get<std::vector<std::string>>();
    options.max_operators = json.at("max_operators").get<std::size_t>();
    options.pairs = json.at("pairs").get<bool>();
    options.seed = json.at("seed").get<std::uint64_t>();
    options.memory = json.at("memory").get<std::uint64_t>();
    // What is not said is what it is by default.
    const auto inputs = json.at("inputs").get<std::size_t>();
    if (inputs != inputs_of(options)) options.inputs = inputs;
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::unreadable, fmt::format("not what a job says: {}", e.what()), work_folder(out));
  }
  return std::optional(std::move(options));
}

Result<GenerateSummary> generate(const GenerateOptions& options, Workers& workers) {
  if (options.max_operators < 1) return fail(ErrorCode::invalid_argument, "graphs of no operators make no rules; --max-ops is at least 1");
  constexpr std::size_t kMostOperators = 6;
  if (options.max_operators > kMostOperators)
    return fail(ErrorCode::invalid_argument, fmt::format("--max-ops is at most {}, found {}", kMostOperators, options.max_operators));
  XFLOW_TRY(const std::vector<GraphSignature> signatures, signatures_of(options));
  XFLOW_TRY(const Checkpoint checkpoint, Checkpoint::open(work_folder(options.out), identity(options)));
  GenerateSummary summary;
  ordered_json report;
  report["command"] = command_text(options);
  RuleCollector collector(options.limits, {});
  std::vector<CandidateList> all;
  std::vector<std::size_t> ranges_of_signature;
  PieceWorker worker(options);
  StepTimes times;
  for (std::size_t u = 0; u < signatures.size(); ++u) {
    const std::string kind = name(signatures[u].kind());
    std::vector<std::pair<std::string, std::string>> pieces;
    pieces.reserve(kParts);
    for (std::size_t part = 0; part < kParts; ++part) pieces.emplace_back(fmt::format("graphs {} {}", u, part), graphs_name(u, part));
    XFLOW_CHECK(run_missing(options, checkpoint, workers, worker, kind + ": graphs", pieces));
    std::uint64_t records = 0;
    std::vector<std::uint64_t> raw(options.max_operators + 1);
    std::vector<std::uint64_t> plain(options.max_operators + 1);
    std::uint64_t without_value = 0;
    for (std::size_t part = 0; part < kParts; ++part) {
      XFLOW_TRY(const GraphsHeader header, read_header(checkpoint, u, part));
      records += header.records;
      without_value += header.without_value;
      for (std::size_t k = 0; k <= options.max_operators; ++k) {
        raw[k] += header.raw[k];
        plain[k] += header.plain[k];
      }
    }
    times.enumerated += times.lap();
    const std::size_t ranges = ranges_of(options, records);
    pieces.clear();
    for (std::size_t r = 0; r < ranges; ++r) pieces.emplace_back(fmt::format("candidates {} {} {}", u, r, ranges), candidates_name(u, r));
    XFLOW_CHECK(run_missing(options, checkpoint, workers, worker, kind + ": ranges of fingerprints", pieces));
    ranges_of_signature.push_back(ranges);
    XFLOW_TRY(Grouped grouped, read_candidates(options, checkpoint, signatures[u], u, ranges));
    ordered_json part;
    part["tensors"] = kind;
    part["enumerated_by_operators"] = counts_json(raw);
    part["of_one_output"] = counts_json(plain);
    part["without_value"] = without_value;
    part["graphs"] = grouped.counts.graphs;
    part["classes"] = grouped.counts.classes;
    part["pairs"] = grouped.counts.pairs;
    part["follow_from_smaller"] = grouped.counts.reducible;
    part["accidents"] = grouped.counts.accidents;
    part["ignore_an_input"] = grouped.counts.idle;
    part["identities_outside_of_products"] = grouped.counts.in_vain;
    part["read_different_inputs"] = grouped.counts.dropped;
    part["pairs_without_gain"] = grouped.counts.no_gain;
    part["candidates"] = grouped.candidates.size();
    report["signatures"].push_back(part);
    summary.graphs += grouped.counts.graphs;
    summary.candidates += grouped.candidates.size();
    all.push_back(std::move(grouped.candidates));
    times.grouped += times.lap();
  }
  const auto signature_of = [&](const KeptRule& k) -> const GraphSignature& { return signatures[k.signature]; };
  worker.forget();  // what graphs were found with
  Progress progress(options, checkpoint);
  XFLOW_CHECK(progress.restore(collector, signatures));
  collector.share([&](const std::vector<std::string>& questions) { return answers(workers, worker, questions); }, workers.width());
  bool all_proved = false;
  for (int round = 0; round < 3 && !all_proved; ++round) {
    // Rules that were not proved for all ranks, or changed their form, may have been used: again, without them.
    if (round > 0) collector.begin_again();
    for (std::size_t u = 0; u < signatures.size(); ++u) {
      for (std::size_t begin = 0; begin < all[u].size();) {
        const std::size_t end = std::min(end_of_batch(begin), all[u].size());
        if (round > 0 || !progress.is_done(u, begin)) {
          XFLOW_TRY(std::optional<std::string> triages, triages_of(workers, worker, collector, u, ranges_of_signature[u], begin, end));
          XFLOW_CHECK(collector.collect(signatures[u], u, all[u].part(begin, end), std::move(triages)));
          if (options.progress)
            options.progress(
                fmt::format("{}: {} of {} candidates, {} rules", name(signatures[u].kind()), end, all[u].size(), collector.kept().size()));
          if (round == 0) XFLOW_CHECK(progress.save(collector, u, end));
        }
        begin = end;
      }
    }
    collector.eliminate();
    times.derived += times.lap();
    XFLOW_TRY(all_proved, collector.prove(signature_of));
    times.proved += times.lap();
  }
  times.derived -= collector.proving().count();
  times.proved += collector.proving().count();
  XFLOW_CHECK(collector.direct(signature_of));
  const std::string head = fmt::format("# Found, proved and minimised by\n#   {}\n", command_text(options));
  std::string directed =
      head + "# Each can make some graph cheaper. What else derivations need stands in equations/" + options.name + ".rules.\n";
  std::string equations = head + "# What derivations need beside ../" + options.name + ".rules: neither side is cheaper, for any sizes.\n";
  std::uint64_t directions = 0;
  std::uint64_t known = 0;
  Deriver beside;
  for (const rules::Rule& r : options.beside) (void)beside.add(r, true);  // what cannot be found in small graphs rewrites none
  const auto is_known = [&](const KeptRule& k, bool back) {
    if (beside.size() == 0) return false;
    const Candidate c = back ? Candidate{k.candidate.target, k.candidate.source} : k.candidate;
    const FlatEquation equation = GeneralShapes(signature_of(k), c).concrete(beside.vocabulary());
    const bool rewrites = beside.derives(equation, options.limits, Goal::rewrite);
    known += rewrites ? 1 : 0;
    return rewrites;
  };
  for (const KeptRule& k : collector.kept()) {
    if (!k.needed || !k.proved) continue;
    ++summary.rules;
    const bool forwards = k.gain.forwards || k.pair;
    if (forwards && !is_known(k, false)) directed += "\n" + rules::print(k.rule);
    if (k.back && !is_known(k, true)) directed += "\n" + rules::print(*k.back);
    if (!forwards && !k.back) equations += "\n" + rules::print(k.rule);
    directions += (forwards ? 1 : 0) + (k.back ? 1 : 0);
  }
  const MinimizeCounts& counts = collector.counts();
  report["candidates"] = counts.candidates;
  report["derived"] = counts.derived;
  report["follow_from_unproved"] = counts.follow_from_unproved;
  report["differ_on_more_numbers"] = counts.accidents;
  report["kept"] = counts.kept;
  report["eliminated"] = counts.eliminated;
  report["rules"] = summary.rules;
  report["all_rounds_proved"] = all_proved;
  report["directions_that_can_pay"] = directions;
  report["done_by_rules_beside"] = known;
  for (const auto& [verdict, count] : counts.verdicts) report["verdicts"][verifier::name(verdict)] = count;
  report["unproved"] = collector.unproved();
  for (const auto& [verdict, count] : counts.verdicts)
    if (verdict != verifier::Verdict::proved) summary.unproved += count;
  XFLOW_CHECK(write_results(options, checkpoint, directed, equations, report.dump(1) + "\n", workers.threads()));
  times.proved += times.lap();
  XFLOW_CHECK(checkpoint.write("seconds", times.text()));
  return summary;
}

}  // namespace xflow::generator
