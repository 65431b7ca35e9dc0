#include "src/generator/jobs/job_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace xflow::generator {

using nlohmann::ordered_json;

std::size_t inputs_of(const GenerateOptions& options) {
  constexpr std::size_t kMost = 4;
  return options.inputs != 0 ? options.inputs : std::min(options.max_operators + 1, kMost);
}

std::string identity(const GenerateOptions& options) {
  ordered_json json;
  json["format"] = 7;
  json["operators"] = options.operators;
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

std::string graphs_name(std::size_t signature, std::size_t part) { return fmt::format("graphs-{}-{}", signature, part); }
std::string candidates_name(std::size_t signature, std::size_t range) { return fmt::format("candidates-{}-{}", signature, range); }

namespace {

// Reads the records of a file with fingerprints from `begin` to `last`, inclusive.
Result<void> read_records(const Checkpoint& checkpoint, std::size_t signature, std::size_t part, std::uint64_t begin, std::uint64_t last,
                          std::vector<Record>& into) {
  XFLOW_TRY(const GraphsHeader header, read_header(checkpoint, signature, part));
  const std::string name = graphs_name(signature, part);
  // Finds the first record whose fingerprint is at least `bound`, or above it if `above`.
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

std::uint64_t range_begin(std::size_t range, std::size_t ranges) { return range == 0 ? 0 : UINT64_MAX / ranges * range + 1; }
std::uint64_t range_last(std::size_t range, std::size_t ranges) {
  return range + 1 == ranges ? UINT64_MAX : range_begin(range + 1, ranges) - 1;
}

Result<void> read_candidates(const Checkpoint& checkpoint, std::size_t signature, std::size_t range, Grouped& into) {
  XFLOW_TRY(const std::optional<std::string> bytes, checkpoint.read(candidates_name(signature, range)));
  if (!bytes) return fail(ErrorCode::io, "a file of the job is missing", checkpoint.path(candidates_name(signature, range)));
  std::string_view view = *bytes;
  for (std::uint64_t* n : {&into.counts.graphs, &into.counts.classes, &into.counts.pairs, &into.counts.reducible, &into.counts.accidents,
                           &into.counts.dropped, &into.counts.idle, &into.counts.no_gain, &into.counts.in_vain}) {
    *n += take<std::uint64_t>(view);
  }
  const auto bytes_of_candidates = take<std::uint64_t>(view);
  const auto bytes_of_folded = take<std::uint64_t>(view);
  if (view.size() == bytes_of_candidates + bytes_of_folded) {
    into.candidates.add_bytes(view.substr(0, bytes_of_candidates));
    into.folded.add_bytes(view.substr(bytes_of_candidates));
  } else {
    return fail(ErrorCode::unreadable, "a file of the job is truncated", checkpoint.path(candidates_name(signature, range)));
  }
  return {};
}

}  // namespace

Result<std::vector<GraphSignature>> signatures_of(const GenerateOptions& options) {
  XFLOW_TRY(const std::vector<SignatureOptions> divided, GraphSignature::divide(options.operators, inputs_of(options)));
  std::vector<GraphSignature> result;
  for (const SignatureOptions& u : divided) {
    XFLOW_TRY(GraphSignature signature, GraphSignature::make(u));
    XFLOW_CHECK(GraphCodec::make(signature, options.max_operators));
    result.push_back(std::move(signature));
  }
  return result;
}

Result<void> enumerate_part(const Checkpoint& checkpoint, Candidates& finder, std::size_t number, std::size_t part) {
  std::vector<Record> records;
  XFLOW_TRY(const EnumerationCounts counts, finder.evaluator().enumerate(part, kParts, [&](const Record& r) { records.push_back(r); }));
  // The smallest code represents all graphs of a structure.
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
  return {};
}

Result<GraphsHeader> read_header(const Checkpoint& checkpoint, std::size_t signature, std::size_t part) {
  XFLOW_TRY(const std::string bytes, checkpoint.read(graphs_name(signature, part), 0, sizeof(GraphsHeader)));
  std::string_view view = bytes;
  return take<GraphsHeader>(view);
}

std::size_t ranges_of(const GenerateOptions& options, std::uint64_t records) {
  constexpr std::uint64_t kBytesARecord = 6 * sizeof(Record);
  constexpr std::uint64_t kMany = 50000;
  return static_cast<std::size_t>(
      std::max<std::uint64_t>(records > kMany ? 8 : 1, (records * kBytesARecord + options.memory - 1) / options.memory));
}
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

Result<void> group_range(const GenerateOptions& options, const Checkpoint& checkpoint, const GraphSignature& signature, Candidates& finder,
                         std::size_t number, std::size_t range, std::size_t ranges) {
  std::vector<Record> records;
  for (std::size_t part = 0; part < kParts; ++part)
    XFLOW_CHECK(read_records(checkpoint, number, part, range_begin(range, ranges), range_last(range, ranges), records));
  CandidateList candidates(signature, options.max_operators);
  CandidateList folded(signature, options.max_operators);
  finder.find(
      records, [&](RuleCandidate c) { candidates.add(std::move(c)); }, [&](RuleCandidate c) { folded.add(std::move(c)); });
  const CandidateCounts& counts = finder.counts();
  std::string bytes;
  for (const std::uint64_t n : {counts.graphs, counts.classes, counts.pairs, counts.reducible, counts.accidents, counts.dropped,
                                counts.idle, counts.no_gain, counts.in_vain}) {
    append(bytes, n);
  }
  for (const CandidateList* list : {&candidates, &folded}) append(bytes, static_cast<std::uint64_t>(list->bytes().size()));
  bytes += candidates.bytes() + folded.bytes();
  XFLOW_CHECK(checkpoint.write(candidates_name(number, range), bytes));
  return {};
}

Result<Grouped> read_candidates(const GenerateOptions& options, const Checkpoint& checkpoint, const GraphSignature& signature,
                                std::size_t number, std::size_t ranges) {
  Grouped grouped{{}, CandidateList(signature, options.max_operators), CandidateList(signature, options.max_operators)};
  for (std::size_t r = 0; r < ranges; ++r) XFLOW_CHECK(read_candidates(checkpoint, number, r, grouped));
  grouped.candidates.sort();
  grouped.folded.sort();
  return grouped;
}

}  // namespace xflow::generator
