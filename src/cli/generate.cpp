#include "xflow/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "src/cli/command.h"
#include "src/cli/print_options.h"
#include "src/cli/processes/mpi_workers.h"
#include "src/cli/size_text.h"

namespace xflow::cli {
namespace {

struct GenerateArguments {
  GenerateOptions options;
  std::string preset;
  std::string memory = "4GiB";
  bool no_pairs = false;
  bool quiet = false;
  const CLI::App* given = nullptr;  // to query which options were given
};

// If no operators are given, takes the options that are not given from the job in OUT.
Result<void> take_job(GenerateArguments& a) {
  XFLOW_TRY(const std::optional<GenerateOptions> job, generator_job(a.options.out));
  if (!job) return {};
  const auto is_given = [&](const char* option) { return a.given->count(option) > 0; };
  a.options.operators = job->operators;
  if (!is_given("--max-ops")) a.options.max_operators = job->max_operators;
  if (!is_given("--inputs")) a.options.inputs = job->inputs;
  if (!is_given("--seed")) a.options.seed = job->seed;
  if (!is_given("--memory")) a.memory = std::to_string(job->memory);
  if (!is_given("--no-pairs")) a.no_pairs = !job->pairs;
  return {};
}

// Completes and checks the options.
Result<void> complete(GenerateArguments& a) {
  if (!a.preset.empty()) {
    XFLOW_TRY(a.options.operators, generator_preset(a.preset));
  }
  if (a.options.operators.empty()) XFLOW_CHECK(take_job(a));
  if (a.options.operators.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("no operators are given; name some with --ops or --preset: {}", fmt::join(generator_operators(), ", ")));
  }
  XFLOW_TRY(a.options.memory, read_size(a.memory));
  a.options.pairs = !a.no_pairs;
  if (a.options.jobs != 1 && mpi_place().processes != 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--jobs {} is for one process, but mpirun started several; omit it and start more processes", a.options.jobs));
  }
  return {};
}

// Generates with threads of this process, or with the processes that mpirun started. Nothing in a process
// that worked for the first one.
Result<std::optional<GenerateSummary>> generate_here_or_there(const GenerateOptions& options) {
  if (mpi_place().processes == 1) {
    XFLOW_TRY(const GenerateSummary summary, generate(options));
    return std::optional(summary);
  }
  XFLOW_TRY(GeneratorWorker worker, GeneratorWorker::make(options));
  XFLOW_TRY(const auto workers, join_processes([&worker](const std::string& task) { return worker.run(task); }));
  if (!workers) return std::optional<GenerateSummary>();
  XFLOW_TRY(const GenerateSummary summary, generate(options, workers.get()));
  return std::optional(summary);
}

ExitCode run(GenerateArguments& a) {
  const bool is_first = mpi_place().process == 0;
  const auto completed = complete(a);
  if (!completed) return is_first ? report(completed.error()) : ExitCode::done;
  ProgressLine progress(a.quiet);
  a.options.progress = [&](const GenerateProgress& now) { progress.show(now.message); };
  const auto summary = generate_here_or_there(a.options);
  if (!summary) return is_first ? report(summary.error()) : ExitCode::done;
  if (!*summary) return ExitCode::done;
  const GenerateSummary& done = **summary;
  if (a.quiet) return ExitCode::done;
  print(fmt::format("{} graphs, {} candidates, {} rules, {} not proved: {}/{}.rules\n", done.graphs, done.candidates, done.rules,
                    done.unproved, a.options.out, a.options.name));
  return ExitCode::done;
}

}  // namespace

void add_generate(CLI::App& sub, Command& command) {
  auto a = std::make_shared<GenerateArguments>();
  a->given = &sub;
  CLI::Option* ops = sub.add_option("--ops", a->options.operators, "operators and constants: matmul,add,concat")->delimiter(',');
  sub.add_option("--preset", a->preset, "a set of operators: cnn, transformer, rnn or all")->excludes(ops);
  sub.add_option("--max-ops", a->options.max_operators, "largest number of operators in a graph")->capture_default_str();
  sub.add_option("--inputs", a->options.inputs, "inputs of the main type, else one more than --max-ops, at most 4");
  sub.add_flag("--no-pairs", a->no_pairs, "do not search for rules with two outputs");
  sub.add_option("--out", a->options.out, "folder of the results and, in work/, of an interrupted job")->required();
  sub.add_option("--beside", a->options.beside, "folder of existing rules, whose rewrites are left out");
  sub.add_option("--name", a->options.name, "name of the files in the folder")->capture_default_str();
  sub.add_option("--memory", a->memory, "memory for graphs: 500MB, 4GiB")->capture_default_str();
  sub.add_option("--jobs", a->options.jobs, "threads of one process; must be 1 under mpirun")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  add_seed(sub, a->options.seed, "seed of the numbers in fingerprints");
  add_quiet(sub, a->quiet);
  group(sub, "Graphs", {"--ops", "--preset", "--max-ops", "--inputs", "--no-pairs", "--beside", "--seed"});
  group(sub, "Resources", {"--jobs", "--memory"});
  group(sub, "Output", {"--out", "--name"});
  sub.footer(
      "Without operators the job in the folder --out continues. The files are NAME.rules, NAME.proofs,\n"
      "NAME.json, equations/NAME.rules and equations/NAME.proofs. Under mpirun the first process gives\n"
      "tasks to the others.\n\n" +
      examples({"xflow generate --ops matmul,add,mul,concat,split,transpose,relu --max-ops 3 --out rules",
                "xflow generate --preset cnn --max-ops 2 --out rules --jobs 2",
                "mpirun -n 5 xflow generate --preset cnn --max-ops 2 --out rules", "mpirun -n 5 xflow generate --out rules"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
