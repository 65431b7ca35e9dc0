#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <sstream>
#include <utility>

#include "src/generator/jobs/generate.h"
#include "src/generator/jobs/job_files.h"

namespace xflow::generator {
namespace {

EnumerationOptions enumeration(const GenerateOptions& options) {
  EnumerationOptions result;
  result.max_operators = options.max_operators;
  result.max_outputs = options.pairs ? 2 : 1;
  result.seed = options.seed;
  return result;
}

// Returns freed memory to the system, because the next step allocates blocks of other sizes.
void give_memory_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

// The tools of one thread, kept for its next tasks.
struct TaskWorker::Tools {
  std::vector<GraphSignature> signatures;
  std::size_t signature = 0;  // signature of the finder
  std::unique_ptr<Candidates> finder;
  bool has_learned = false;
  std::unique_ptr<CollectWorker> collector;
};

TaskWorker::TaskWorker(const GenerateOptions& options) : options_(options), plans_(std::make_shared<PlanCache>()) {}
TaskWorker::~TaskWorker() = default;

Result<std::unique_ptr<TaskWorker::Tools>> TaskWorker::take_tools() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Tools> tools = std::move(idle_.back());
      idle_.pop_back();
      return tools;
    }
  }
  auto tools = std::make_unique<Tools>();
  XFLOW_TRY(tools->signatures, signatures_of(options_));
  for (GraphSignature& u : tools->signatures) u.share_plans(plans_);
  return tools;
}

void TaskWorker::give_back(std::unique_ptr<Tools> tools) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(tools));
}

Result<std::string> TaskWorker::run(const std::string& task) {
  XFLOW_TRY(std::unique_ptr<Tools> tools, take_tools());
  Result<std::string> result = run(task, *tools);
  give_back(std::move(tools));
  return result;
}

Result<tasks::Answer> TaskWorker::answer(const tasks::Question& question) {
  XFLOW_TRY(std::unique_ptr<Tools> tools, take_tools());
  Result<tasks::Answer> result = collector(*tools).answer(question);
  give_back(std::move(tools));
  return result;
}

void TaskWorker::forget() {
  const std::lock_guard lock(mutex_);
  idle_.clear();
  plans_->clear();
  give_memory_back();
}

void TaskWorker::drop_finder(Tools& tools) const {
  if (!tools.finder) return;
  tools.finder.reset();
  tools.signatures[tools.signature].forget_plans();
  plans_->clear();
  give_memory_back();
}

CollectWorker& TaskWorker::collector(Tools& tools) const {
  drop_finder(tools);
  if (!tools.collector)
    tools.collector = std::make_unique<CollectWorker>(
        tools.signatures, options_.limits, verifier::Options(), [&](std::size_t u, std::size_t ranges) -> Result<CandidateList> {
          XFLOW_TRY(const Checkpoint files, Checkpoint::open(work_folder(options_.out), identity(options_)));
          XFLOW_TRY(Grouped grouped, read_candidates(options_, files, tools.signatures[u], u, ranges));
          return std::move(grouped.candidates);
        });
  return *tools.collector;
}

Result<std::string> TaskWorker::run(const std::string& task, Tools& tools) const {
  XFLOW_TRY(const Checkpoint checkpoint, Checkpoint::open(work_folder(options_.out), identity(options_)));
  std::istringstream words(task.substr(0, task.find('\n')));
  std::string kind;
  std::size_t signature = 0;
  std::size_t number = 0;
  std::size_t count = 1;
  words >> kind;
  if (tasks::is_one(kind)) return collector(tools).run(task);
  words >> signature >> number;
  if (!words || signature >= tools.signatures.size()) return fail(ErrorCode::internal, fmt::format("no task '{}'", task));
  if (!tools.finder || tools.signature != signature) {
    drop_finder(tools);
    tools.finder = std::make_unique<Candidates>(tools.signatures[signature], enumeration(options_));
    tools.signature = signature;
    tools.has_learned = false;
  }
  if (kind == "graphs") {
    XFLOW_CHECK(enumerate_part(checkpoint, *tools.finder, signature, number));
    return std::string();
  }
  if (!(words >> count) || count == 0) return fail(ErrorCode::internal, fmt::format("no task '{}'", task));
  if (!tools.has_learned) XFLOW_CHECK(learn(options_, checkpoint, tools.signatures[signature], *tools.finder, signature));
  tools.has_learned = true;
  XFLOW_CHECK(group_range(options_, checkpoint, tools.signatures[signature], *tools.finder, signature, number, count));
  return std::string();
}

}  // namespace xflow::generator
