// The files of a job: the graphs of each signature in parts and the candidates in ranges, in the memory
// layout of this machine. Checkpoints are not portable.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/generator/enumerate/candidate_list.h"
#include "src/generator/enumerate/candidates.h"
#include "src/generator/enumerate/graph_signature.h"
#include "src/generator/jobs/checkpoint.h"
#include "src/generator/jobs/generate.h"

namespace xflow::generator {

// Parts of the enumeration of a signature: enough for even shares, fixed for any number of processes.
inline constexpr std::size_t kParts = 64;

// The number of inputs of the main tensor type.
std::size_t inputs_of(const GenerateOptions& options);
// The identity of a job: equal for two calls that continue the same job.
std::string identity(const GenerateOptions& options);
std::string work_folder(const std::string& out);

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

// The header of a file of graphs, with counts by number of operators. The records follow in ascending order.
struct GraphsHeader {
  std::uint64_t raw[8] = {};
  std::uint64_t plain[8] = {};
  std::uint64_t without_value = 0;
  std::uint64_t records = 0;
};

std::string graphs_name(std::size_t signature, std::size_t part);
std::string candidates_name(std::size_t signature, std::size_t range);

// Makes the signatures of a job. Only one thread at a time may use a signature, so each thread makes its
// own. Errors as generate().
Result<std::vector<GraphSignature>> signatures_of(const GenerateOptions& options);

// Enumerates part `part` of the graphs of signature `number` into its file.
Result<void> enumerate_part(const Checkpoint& checkpoint, Candidates& finder, std::size_t number, std::size_t part);
Result<GraphsHeader> read_header(const Checkpoint& checkpoint, std::size_t signature, std::size_t part);

// The number of ranges of fingerprints. The records of one range, their data and candidates fit into the
// memory, and a job with many graphs has several ranges for its threads.
std::size_t ranges_of(const GenerateOptions& options, std::uint64_t records);
// Gives the graphs of fewer operators, of which there are few, to the finder.
Result<void> learn(const GenerateOptions& options, const Checkpoint& checkpoint, const GraphSignature& signature, Candidates& finder,
                   std::size_t number);
// Finds the candidates of range `range` of `ranges` of signature `number` and writes them to its file.
Result<void> group_range(const GenerateOptions& options, const Checkpoint& checkpoint, const GraphSignature& signature, Candidates& finder,
                         std::size_t number, std::size_t range, std::size_t ranges);

struct Grouped {
  CandidateCounts counts;
  CandidateList candidates;  // sorted
  CandidateList folded;      // of Candidates::find, sorted
};
// Reads the candidates of all ranges.
Result<Grouped> read_candidates(const GenerateOptions& options, const Checkpoint& checkpoint, const GraphSignature& signature,
                                std::size_t number, std::size_t ranges);

}  // namespace xflow::generator
