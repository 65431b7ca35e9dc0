// The offline job: enumerate, group, derive, prove, write rules.
//
// Every stage writes what it found into OUT/work, piece by piece, so that a job that was killed goes on where it was and ends with the same
// files. Nothing depends on time or on the number of threads and processes.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/generator/enumerate/plan_cache.h"
#include "src/generator/jobs/step_times.h"
#include "src/generator/jobs/workers.h"
#include "src/generator/rules/derive.h"

namespace xflow::generator {

struct GenerateOptions {
  std::vector<std::string> words;  // operators and constants: GraphSignature::known_words()
  std::size_t max_operators = 3;
  std::size_t inputs = 0;  // of the main type of data; 0: one more than operators, at most 4
  bool pairs = true;       // also rules of two outputs that share an operation where they are computed together
  std::uint64_t seed = 1;
  std::uint64_t memory = std::uint64_t{4} << 30;  // bytes for graphs at a time
  DeriveLimits limits;
  // Rules that a search has anyway: rewrites that they do, in one step or several, are left out of NAME.rules.
  std::vector<rules::Rule> beside;
  std::string beside_text;                           // how that is called: a folder
  std::string out;                                   // folder
  std::string name = "generated";                    // of the files in it
  std::function<void(const std::string&)> progress;  // one line
};

// The options of the job whose work is in OUT/work, but `beside`; nothing where there is no job. Error::io, and Error::unreadable for what
// no job has written.
Result<std::optional<GenerateOptions>> job_in(const std::string& out);

struct GenerateSummary {
  std::uint64_t graphs = 0;
  std::uint64_t candidates = 0;
  std::uint64_t rules = 0;
  std::uint64_t unproved = 0;
  StepTimes times;
};

// Writes OUT/NAME.rules, rules that can make some graph cheaper, towards what is cheaper; OUT/equations/NAME.rules, what else the
// derivations of all that was found need; the records of their proofs, *.proofs; and the report OUT/NAME.json. Errors: invalid_argument for
// an unknown operator, no operators, a size of 0; limit for graphs whose codes do not fit; io for a folder that cannot be written or a full
// disk.
Result<GenerateSummary> generate(const GenerateOptions& options, Workers& workers);

// Does pieces of work of a job: for threads of this process, or as another process, with the same options and OUT in a folder that both
// see. Keeps what pieces computed for the next ones.
class PieceWorker {
 public:
  explicit PieceWorker(const GenerateOptions& options);
  ~PieceWorker();
  PieceWorker(const PieceWorker&) = delete;
  PieceWorker& operator=(const PieceWorker&) = delete;
  // By several threads at a time.
  Result<std::string> run(const std::string& piece);
  // What was kept; no piece may be running.
  void forget();

 private:
  struct Tools;
  Result<std::string> run(const std::string& piece, Tools& tools) const;

  GenerateOptions options_;
  std::shared_ptr<PlanCache> plans_;  // of all threads
  std::mutex mutex_;
  std::vector<std::unique_ptr<Tools>> idle_;
};

}  // namespace xflow::generator
