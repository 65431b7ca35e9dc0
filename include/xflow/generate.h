// Finds rules: enumerates small graphs, proves which of them are equal, and keeps a small set of rules
// (docs/generator.md).
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// The phase of a job.
enum class GeneratePhase : std::uint8_t {
  enumerating,  // enumerating graphs
  grouping,     // finding graphs that seem equal
  deriving,     // deriving candidates from rules, and proving those that do not follow
};
// Returns the name of a phase, for people.
constexpr const char* to_string(GeneratePhase phase) {
  switch (phase) {
    case GeneratePhase::enumerating:
      return "enumerating";
    case GeneratePhase::grouping:
      return "grouping";
    case GeneratePhase::deriving:
      return "deriving";
  }
  return "";
}

// How far a job is.
struct GenerateProgress {
  GeneratePhase phase = GeneratePhase::enumerating;  // what is done now
  // The done part of the phase, from 0 to 1. Enumerating and grouping alternate, once for each kind of
  // tensors. Deriving starts again at 0, at most twice, if a rule turns out to have no proof for all ranks.
  double fraction = 0;
  std::string message;  // one line of text: "float: graphs: 3 of 64"
};

// The options of generate.
struct GenerateOptions {
  // Names of operators and constants, from generator_operators() or generator_preset(). Empty: the job in
  // `out` continues with its own options.
  std::vector<std::string> operators;
  std::size_t max_operators = 3;  // operators in a graph
  // Inputs of the main data type. 0: one more than the number of operators, at most 4.
  std::size_t inputs = 0;
  // Also finds rules with two outputs that share an operation.
  bool pairs = true;
  std::uint64_t seed = 1;  // of the numbers in fingerprints
  // Bytes for graphs that are in memory at a time.
  std::uint64_t memory = std::uint64_t{4} << 30;
  // Folder of existing rules. Rewrites that these rules perform are left out.
  std::string beside;
  // Folder of the results. Its subfolder work/ holds the state of an interrupted job.
  std::string out;
  std::string name = "generated";  // name of the files in `out`
  int jobs = 1;                    // threads
  // Cancels the call from another thread or a signal handler. finish() and stop() both end it after the
  // running tasks with ErrorCode::limit, "cancelled", and write no rules. A later call continues the job.
  CancellationToken cancel;
  // Called after each task, from the thread that called generate.
  std::function<void(const GenerateProgress&)> progress;
};

// What a job did.
struct GenerateSummary {
  std::uint64_t graphs = 0;      // enumerated graphs
  std::uint64_t candidates = 0;  // pairs of graphs that seem equal
  std::uint64_t rules = 0;       // kept rules
  std::uint64_t unproved = 0;    // candidates without a proof

  // Wall clock of the steps in this process. A step that an earlier call finished takes none.
  Seconds enumerating{};
  Seconds grouping{};  // finding graphs that seem equal
  Seconds deriving{};  // deriving candidates from rules
  Seconds proving{};   // and writing the files
};

// Names of all operators and constants that can be enumerated, in alphabetical order.
XFLOW_API std::vector<std::string> generator_operators();
// The names of a preset: cnn, transformer, rnn, all. Errors: invalid_argument for another name.
XFLOW_API Result<std::vector<std::string>> generator_preset(std::string_view name);
// The options of the job in the folder `out`, without `beside`, `jobs`, `cancel` and `progress`. Empty if
// there is no job. Errors: io; unreadable for files that no job has written.
XFLOW_API Result<std::optional<GenerateOptions>> generator_job(const std::string& out);

// Computes a task of a job. The task and its result are texts.
using GeneratorTask = std::function<Result<std::string>(const std::string& task)>;

// Runs the tasks of a job elsewhere than in threads of this process: in other processes, which have the same
// options and see the folder `out` under the same path.
class XFLOW_API GeneratorWorkers {
 public:
  GeneratorWorkers() = default;
  virtual ~GeneratorWorkers() = default;
  GeneratorWorkers(const GeneratorWorkers&) = delete;
  GeneratorWorkers& operator=(const GeneratorWorkers&) = delete;

  // Runs all tasks, in any order and several at a time. `work` computes one in this process. `done` is
  // called in the calling thread once for each task, in the order in which they end. The first error ends
  // the call and is returned.
  virtual Result<void> run(const std::vector<std::string>& tasks, const GeneratorTask& work,
                           const std::function<Result<void>(std::size_t task, std::string result)>& done) = 0;
  // Number of tasks that run at a time.
  virtual std::size_t width() const = 0;
  // Number of threads of this process for its own work.
  virtual int threads() const { return 1; }
};

// Runs tasks in another process of a job. Keeps intermediate results for later tasks.
class XFLOW_API GeneratorWorker {
 public:
  // Errors: those of RuleSet::read for the rules of options.beside.
  static Result<GeneratorWorker> make(const GenerateOptions& options);
  GeneratorWorker(GeneratorWorker&&) noexcept;  // the state moves
  ~GeneratorWorker();
  // Computes a task. Several threads may call it at a time.
  Result<std::string> run(const std::string& task);

 private:
  struct State;
  explicit GeneratorWorker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Finds rules and writes these files:
// - OUT/NAME.rules: rules that can make some graph cheaper, towards the cheaper side;
// - OUT/equations/NAME.rules: other equations that derivations need;
// - *.proofs beside them: the records of their proofs;
// - OUT/NAME.json: the report.
//
// The files do not depend on the number of threads or processes. An interrupted job continues where it
// stopped. `workers` null: `options.jobs` threads run the tasks.
//
// Errors: invalid_argument for an unknown operator, no operators or a size of 0; limit for graphs whose
// codes do not fit, and "cancelled" after CancellationToken::finish() or stop(); io for a folder that cannot
// be written or a full disk.
XFLOW_API Result<GenerateSummary> generate(const GenerateOptions& options, GeneratorWorkers* workers = nullptr);

}  // namespace xflow
