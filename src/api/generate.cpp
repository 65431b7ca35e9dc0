#include "src/generator/jobs/generate.h"

#include <iterator>

#include "src/generator/enumerate/graph_signature.h"
#include "src/rules/verified_rules.h"
#include "src/support/exceptions.h"
#include "xflow/generate.h"

namespace xflow {
namespace {

Result<std::vector<rules::Rule>> rules_beside(const GenerateOptions& options) {
  std::vector<rules::Rule> all;
  if (options.beside.empty()) return all;
  XFLOW_TRY(const std::vector<std::string> files, rules::rule_files(options.beside));
  for (const std::string& file : files) {
    // Skip the earlier output of this job: its rules must not count as known.
    if (file.ends_with("/" + options.name + ".rules")) continue;
    XFLOW_TRY(const std::string text, rules::read_rule_file(file));
    XFLOW_TRY(std::vector<rules::Rule> parsed, rules::parse_rules(text, file));
    all.insert(all.end(), std::make_move_iterator(parsed.begin()), std::make_move_iterator(parsed.end()));
  }
  return all;
}

// Converts all options except `beside`.
generator::GenerateOptions internal(const GenerateOptions& options) {
  generator::GenerateOptions result;
  result.operators = options.operators;
  result.max_operators = options.max_operators;
  result.inputs = options.inputs;
  result.pairs = options.pairs;
  result.seed = options.seed;
  result.memory = options.memory;
  result.beside_text = options.beside;
  result.out = options.out;
  result.name = options.name;
  result.cancel = options.cancel;
  result.progress = options.progress;
  return result;
}

Result<generator::GenerateOptions> with_rules(const GenerateOptions& options) {
  generator::GenerateOptions job = internal(options);
  XFLOW_TRY(job.beside, rules_beside(options));
  return job;
}

Result<GenerateSummary> run(const GenerateOptions& options, GeneratorWorkers* workers) {
  if (options.jobs < 1) return fail(ErrorCode::invalid_argument, "jobs must be at least 1");
  XFLOW_TRY(const generator::GenerateOptions job, with_rules(options));
  generator::Threads threads(options.jobs);
  XFLOW_TRY(const generator::GenerateSummary summary, generator::generate(job, workers == nullptr ? threads : *workers));
  const generator::StepTimes& times = summary.times;
  return GenerateSummary{summary.graphs,   summary.candidates, summary.rules, summary.unproved,
                         times.enumerated, times.grouped,      times.derived, times.proved};
}

Result<std::optional<GenerateOptions>> job_in(const std::string& out) {
  XFLOW_TRY(const std::optional<generator::GenerateOptions> job, generator::job_in(out));
  if (!job) return std::optional<GenerateOptions>();
  GenerateOptions options;
  options.operators = job->operators;
  options.max_operators = job->max_operators;
  options.inputs = job->inputs;
  options.pairs = job->pairs;
  options.seed = job->seed;
  options.memory = job->memory;
  options.out = job->out;
  options.name = job->name;
  return std::optional(std::move(options));
}

}  // namespace

std::vector<std::string> generator_operators() { return generator::GraphSignature::known_operators(); }

Result<std::vector<std::string>> generator_preset(std::string_view name) {
  auto operators = generator::GraphSignature::preset(name);
  if (operators) return *std::move(operators);
  return fail(ErrorCode::invalid_argument, "unknown preset '" + std::string(name) + "'; there are cnn, transformer, rnn and all");
}

Result<std::optional<GenerateOptions>> generator_job(const std::string& out) {
  return api::guarded<std::optional<GenerateOptions>>([&] { return job_in(out); });
}

struct GeneratorWorker::State {
  explicit State(const generator::GenerateOptions& job) : worker(job) {}
  generator::TaskWorker worker;
};

GeneratorWorker::GeneratorWorker(std::unique_ptr<State> state) : state_(std::move(state)) {}
GeneratorWorker::GeneratorWorker(GeneratorWorker&&) noexcept = default;
GeneratorWorker::~GeneratorWorker() = default;

Result<GeneratorWorker> GeneratorWorker::make(const GenerateOptions& options) {
  return api::guarded<GeneratorWorker>([&]() -> Result<GeneratorWorker> {
    XFLOW_TRY(const generator::GenerateOptions job, with_rules(options));
    return GeneratorWorker(std::make_unique<State>(job));
  });
}

Result<std::string> GeneratorWorker::run(const std::string& task) {
  return api::guarded<std::string>([&] { return state_->worker.run(task); });
}

Result<GenerateSummary> generate(const GenerateOptions& options, GeneratorWorkers* workers) {
  return api::guarded<GenerateSummary>([&] { return run(options, workers); });
}

}  // namespace xflow
