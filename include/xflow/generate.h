// Finds rules: enumerates small graphs, proves what is equal, keeps a small set (docs/generator.md).
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

struct GenerateOptions {
  // Operators and constants: generator_words(), or those of a preset. None: the job that is in `out` goes on, with its own options.
  std::vector<std::string> words;
  std::size_t max_operators = 3;                     // in a graph
  std::size_t inputs = 0;                            // of the main type of data; 0: one more than operators, at most 4
  bool pairs = true;                                 // also rules of two outputs that share an operation where they are computed together
  std::uint64_t seed = 1;                            // of the numbers in fingerprints
  std::uint64_t memory = std::uint64_t{4} << 30;     // bytes for graphs at a time
  std::string beside;                                // folder of rules that a search has anyway: rewrites that they do are left out
  std::string out;                                   // folder of the results and, in work/, of what a job that was stopped goes on with
  std::string name = "generated";                    // of the files in it
  int jobs = 1;                                      // threads
  std::function<void(const std::string&)> progress;  // one line
};

struct GenerateSummary {
  std::uint64_t graphs = 0;
  std::uint64_t candidates = 0;
  std::uint64_t rules = 0;
  std::uint64_t unproved = 0;
};

// All words that can be enumerated, in alphabetical order.
XFLOW_API std::vector<std::string> generator_words();
// Those of a preset: cnn, transformer, rnn, all. Error::invalid_argument for another name.
XFLOW_API Result<std::vector<std::string>> generator_preset(std::string_view name);
// The options of the job whose work is in the folder `out`, but `beside` and `jobs`; nothing where there is no job. Errors: io, and
// unreadable for what no job has written.
XFLOW_API Result<std::optional<GenerateOptions>> generator_job(const std::string& out);

// A piece of work of a job is a text, and so is its result.
using GeneratorPiece = std::function<Result<std::string>(const std::string& piece)>;

// Who does the pieces of work of a job where threads of this process do not: other processes, with the same options and `out` in a folder
// that all see.
class XFLOW_API GeneratorWorkers {
 public:
  GeneratorWorkers() = default;
  virtual ~GeneratorWorkers() = default;
  GeneratorWorkers(const GeneratorWorkers&) = delete;
  GeneratorWorkers& operator=(const GeneratorWorkers&) = delete;

  // Does all pieces, in any order and several at a time. `work` does one in this process. `done` is called in this thread, once a piece, in
  // the order in which they end. The first error ends it.
  virtual Result<void> run(const std::vector<std::string>& pieces, const GeneratorPiece& work,
                           const std::function<Result<void>(std::size_t piece, std::string result)>& done) = 0;
  // How many pieces are done at a time, and how many threads this process has for its own.
  virtual std::size_t width() const = 0;
  virtual int threads() const { return 1; }
};

// Does pieces of work in such a process. Keeps what pieces computed for the next ones.
class XFLOW_API GeneratorWorker {
 public:
  // Errors: those of reading the rules of options.beside.
  static Result<GeneratorWorker> make(const GenerateOptions& options);
  GeneratorWorker(GeneratorWorker&&) noexcept;
  ~GeneratorWorker();
  // By several threads at a time.
  Result<std::string> run(const std::string& piece);

 private:
  struct State;
  explicit GeneratorWorker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Writes OUT/NAME.rules, rules that can make some graph cheaper, towards what is cheaper; OUT/equations/NAME.rules, what else the
// derivations of all that was found need; the records of their proofs, *.proofs; and the report OUT/NAME.json. What it writes does not
// depend on who does the work. A job that was stopped goes on where it was. `workers`: null for `options.jobs` threads. Errors:
// invalid_argument for an unknown operator, no operators, a size of 0; limit for graphs whose codes do not fit; io for a folder that cannot
// be written or a full disk.
XFLOW_API Result<GenerateSummary> generate(const GenerateOptions& options, GeneratorWorkers* workers = nullptr);

}  // namespace xflow
