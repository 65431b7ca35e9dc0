#include "src/generator/jobs/generate.h"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <memory>

#include "src/cli/command.h"
#include "src/cli/size_text.h"
#include "src/generator/enumerate/universe.h"
#include "src/generator/jobs/mpi_workers.h"
#include "src/rules/rule_set.h"

namespace xflow::cli {
namespace {

struct GenerateArguments {
  generator::GenerateOptions options;
  std::string preset;
  std::string memory = "4GiB";
  int jobs = 1;
  bool no_pairs = false;
  const CLI::App* given = nullptr;  // which options were
};

// Where no operators are named, what is not given is as it was for the job that OUT holds.
Result<void> take_job(GenerateArguments& a) {
  XFLOW_TRY(const std::optional<generator::GenerateOptions> job, generator::job_in(a.options.out));
  if (!job) return {};
  const auto is_given = [&](const char* option) { return a.given->count(option) > 0; };
  a.options.words = job->words;
  if (!is_given("--max-ops")) a.options.max_operators = job->max_operators;
  if (!is_given("--inputs")) a.options.inputs = job->inputs;
  if (!is_given("--seed")) a.options.seed = job->seed;
  if (!is_given("--memory")) a.memory = std::to_string(job->memory);
  if (!is_given("--no-pairs")) a.no_pairs = !job->pairs;
  return {};
}

// What the options say together.
Result<void> complete(GenerateArguments& a) {
  if (!a.preset.empty()) {
    const auto words = generator::Universe::preset(a.preset);
    if (!words)
      return fail(ErrorCode::invalid_argument, fmt::format("unknown preset '{}'; there are cnn, transformer, rnn and all", a.preset));
    a.options.words = *words;
  }
  if (a.options.words.empty()) XFLOW_CHECK(take_job(a));
  if (a.options.words.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("no operators; name some with --ops or --preset: {}", fmt::join(generator::Universe::known_words(), ", ")));
  }
  XFLOW_TRY(a.options.memory, read_size(a.memory));
  a.options.pairs = !a.no_pairs;
  if (!a.options.beside_text.empty()) {
    XFLOW_TRY(const std::vector<std::string> files, rules::rule_files(a.options.beside_text));
    for (const std::string& file : files) {
      // What this job wrote there before is no reason to leave it out.
      if (file.ends_with("/" + a.options.name + ".rules")) continue;
      XFLOW_TRY(const std::string text, rules::read_rule_file(file));
      XFLOW_TRY(std::vector<rules::Rule> parsed, rules::parse_rules(text, file));
      a.options.beside.insert(a.options.beside.end(), std::make_move_iterator(parsed.begin()), std::make_move_iterator(parsed.end()));
    }
  }
  if (a.jobs != 1 && generator::mpi_place().processes != 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--jobs {} is for one process, and mpirun started several; leave it out and start more processes", a.jobs));
  }
  return {};
}

// Nothing in a process of mpirun that has done what the first one gave it.
Result<std::unique_ptr<generator::Workers>> workers_of(const GenerateArguments& a) {
  if (generator::mpi_place().processes == 1) return std::unique_ptr<generator::Workers>(std::make_unique<generator::Threads>(a.jobs));
  generator::PieceWorker worker(a.options);
  return generator::join_processes([&worker](const std::string& piece) { return worker.run(piece); });
}

ExitCode run(GenerateArguments& a) {
  const auto completed = complete(a);
  if (!completed) return generator::mpi_place().process == 0 ? report(completed.error()) : ExitCode::done;
  ProgressLine progress;
  a.options.progress = [&](const std::string& line) { progress.show(line); };
  const auto workers = workers_of(a);
  if (!workers) return report(workers.error());
  if (!*workers) return ExitCode::done;
  const auto summary = generator::generate(a.options, **workers);
  if (!summary) return report(summary.error());
  print(fmt::format("{} graphs, {} candidates, {} rules, {} not proved: {}/{}.rules\n", summary->graphs, summary->candidates,
                    summary->rules, summary->unproved, a.options.out, a.options.name));
  return ExitCode::done;
}

}  // namespace

void add_generate(CLI::App& app, Command& command) {
  auto a = std::make_shared<GenerateArguments>();
  CLI::App* sub = app.add_subcommand("generate", "Find rules: enumerate small graphs, prove what is equal, keep a small set");
  a->given = sub;
  CLI::Option* ops = sub->add_option("--ops", a->options.words,
                                     "operators and constants, as matmul,add,concat; none: go on with the job in the folder --out")
                         ->delimiter(',');
  sub->add_option("--preset", a->preset, "a set of operators: cnn, transformer, rnn or all")->excludes(ops);
  sub->add_option("--max-ops", a->options.max_operators, "operators in a graph, at most")->capture_default_str();
  sub->add_option("--inputs", a->options.inputs, "inputs of the main type of data; by default one more than operators, at most 4");
  sub->add_flag("--no-pairs", a->no_pairs, "no rules of two outputs");
  sub->add_option("--out", a->options.out, "folder of the results and, in work/, of what a job that was stopped goes on with")->required();
  sub->add_option("--beside", a->options.beside_text, "folder of rules that a search has anyway: rewrites that they do are left out");
  sub->add_option("--name", a->options.name,
                  "of the files in the folder: NAME.rules, NAME.proofs, NAME.json, equations/NAME.rules, equations/NAME.proofs")
      ->capture_default_str();
  sub->add_option("--memory", a->memory, "for graphs at a time, as 500MB or 4GiB")->capture_default_str();
  sub->add_option("--jobs", a->jobs, "threads of one process; 1 under mpirun, where the other processes work and the first hands out")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  sub->add_option("--seed", a->options.seed, "of the numbers in fingerprints")->capture_default_str();
  sub->footer(examples({"xflow generate --ops matmul,add,mul,concat,split,transpose,relu --max-ops 3 --out rules",
                        "xflow generate --preset cnn --max-ops 2 --out rules --jobs 2",
                        "mpirun -n 5 xflow generate --preset cnn --max-ops 2 --out rules", "mpirun -n 5 xflow generate --out rules"}));
  sub->callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
