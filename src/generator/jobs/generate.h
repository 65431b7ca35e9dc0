// The offline job: enumerate, group, derive, prove and write rules.
//
// Every stage writes its results to OUT/work task by task. A killed job can therefore be continued and ends
// with the same files. No result depends on time or on the number of threads and processes.
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/generate.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/generator/enumerate/plan_cache.h"
#include "src/generator/jobs/step_times.h"
#include "src/generator/jobs/workers.h"
#include "src/generator/rules/collect_tasks.h"
#include "src/generator/rules/derive.h"

namespace xflow::generator {

struct GenerateOptions {
  std::vector<std::string> operators;  // names of operators and constants: GraphSignature::known_operators()
  std::size_t max_operators = 3;
  std::size_t inputs = 0;  // of the main tensor type; 0: max_operators + 1, at most 4
  bool pairs = true;       // also find rules of two outputs that share an operation in the target
  std::uint64_t seed = 1;
  std::uint64_t memory = std::uint64_t{4} << 30;  // bytes of graphs in memory at once
  DeriveLimits limits;
  // Rules that the search already has. A rewrite that they do in one or several steps is left out of
  // NAME.rules.
  std::vector<rules::Rule> beside;
  std::string beside_text;                                // the name of `beside` in reports: a folder
  std::string out;                                        // the output folder
  std::string name = "generated";                         // name of the files in it
  CancellationToken cancel;                               // ends the job between two tasks
  std::function<void(const GenerateProgress&)> progress;  // null: none
};

// The options of the job whose work is in OUT/work, except `beside`; nothing if there is no job. Error::io;
// Error::unreadable for a file that no job has written.
Result<std::optional<GenerateOptions>> job_in(const std::string& out);

struct GenerateSummary {
  std::uint64_t graphs = 0;
  std::uint64_t candidates = 0;
  std::uint64_t rules = 0;
  std::uint64_t unproved = 0;
  StepTimes times;
};

// Runs the job. Writes these files:
// - OUT/NAME.rules: rules that can make some graph cheaper, directed towards the cheaper side;
// - OUT/equations/NAME.rules: the other rules that derivations of the found equations need;
// - *.proofs: the records of their proofs;
// - OUT/NAME.json: the report.
// Errors: invalid_argument for an unknown operator, no operators, or a size of 0; limit for graphs whose
// codes do not fit, and "cancelled"; io for a folder that cannot be written or a full disk.
Result<GenerateSummary> generate(const GenerateOptions& options, Workers& workers);

// Runs tasks of a job, in threads of this process, or in another process with the same options and an OUT
// folder that both processes see. Caches what tasks computed for later tasks.
class TaskWorker {
 public:
  explicit TaskWorker(const GenerateOptions& options);
  ~TaskWorker();
  TaskWorker(const TaskWorker&) = delete;
  TaskWorker& operator=(const TaskWorker&) = delete;
  // May be called by several threads at once.
  Result<std::string> run(const std::string& task);
  // Answers a question of the collection of rules as a value. May be called like run().
  Result<tasks::Answer> answer(const tasks::Question& question);
  // Clears the cache. No task may be running.
  void forget();

 private:
  struct Tools;
  Result<std::unique_ptr<Tools>> take_tools();
  void give_back(std::unique_ptr<Tools> tools);
  Result<std::string> run(const std::string& task, Tools& tools) const;
  void drop_finder(Tools& tools) const;
  CollectWorker& collector(Tools& tools) const;

  GenerateOptions options_;
  std::shared_ptr<PlanCache> plans_;  // shared by all threads
  std::mutex mutex_;
  std::vector<std::unique_ptr<Tools>> idle_;
};

}  // namespace xflow::generator
