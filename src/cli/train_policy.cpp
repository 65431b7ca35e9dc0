#include "xflow/train_policy.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "src/cli/command.h"
#include "src/cli/interrupt.h"

namespace xflow::cli {
namespace {

struct TrainArguments {
  std::string method = "placeto";
  std::string objective;
  bool is_quiet = false;
  TrainPolicyOptions options;
};

ExitCode run(TrainArguments& a) {
  std::error_code ignored;
  for (const std::string& input : {a.options.graphs, a.options.cluster}) {
    if (std::filesystem::equivalent(a.options.out, input, ignored))
      return report({ErrorCode::invalid_argument, "the policy would overwrite a file that is read", a.options.out});
  }
  if (a.method == to_string(PolicyMethod::go)) {
    a.options.method = PolicyMethod::go;
    a.options.objective = PolicyObjective::step;
  }
  for (const PolicyObjective objective : {PolicyObjective::max_load, PolicyObjective::latency, PolicyObjective::step})
    if (a.objective == to_string(objective)) a.options.objective = objective;
  finish_on_signals(a.options.cancel);
  ProgressLine line(a.is_quiet);
  a.options.progress = [&](const TrainingProgress& progress) {
    line.show(fmt::format("step {} of {}: {:.4f} of the first value, best {:.4f}", progress.step, a.options.steps, progress.ratio,
                          progress.best_ratio));
  };
  const auto result = train_policy(a.options);
  line.show("");
  if (!result) return report(result.error());
  print(result->to_text());
  return ExitCode::done;
}

}  // namespace

void add_train_policy(CLI::App& sub, Command& command) {
  auto a = std::make_shared<TrainArguments>();
  sub.add_option("--graphs", a->options.graphs, "generator:NAME,..., a folder of instances, or an instance")->required();
  sub.add_option("--out", a->options.out, "file of the policy to write (.npz)")->required();
  sub.add_option("--method", a->method, "placeto, or go for the objective step")
      ->capture_default_str()
      ->check(CLI::IsMember({"placeto", "go"}));
  sub.add_option("--objective", a->objective, "what placements make small: max-load (default), latency or step")
      ->check(CLI::IsMember({"max-load", "latency", "step"}));
  sub.add_option("--cluster", a->options.cluster, "of generated graphs and steps: a cluster, or its file")->capture_default_str();
  sub.add_option("--steps", a->options.steps, "steps in all; each is eight episodes on one graph, or 64 plans of go")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e15));
  add_seed(sub, a->options.seed, "seed of graphs, first weights and episodes");
  sub.add_flag("--resume", a->options.resume, "continue the training of the file of --out");
  sub.add_flag("--quiet", a->is_quiet, "show no progress");
  group(sub, "Training", {"--method", "--objective", "--cluster", "--steps", "--seed", "--resume"});
  sub.footer(
      "The policy is written after every 20 steps, or 100 of go, so that an interrupted training can go on\n"
      "with --resume; it then ends as if it had not been interrupted. The same options give the same file.\n"
      "Names of generated graphs: cells, transformers, layers, recurrent, inception, and large, whose nodes\n"
      "may be fused (docs/placement.md).\n\n" +
      examples({"xflow train-policy --graphs generator:cells,transformers,layers --out policy.npz --steps 400",
                "xflow train-policy --graphs instances/ --objective latency --out policy.npz --resume",
                "xflow place instance.json --policy policy.npz --then local-search --budget 5s",
                "xflow train-policy --method go --graphs generator:large --out go.npz --steps 800",
                "xflow place instance.json --objective step --policy go.npz --budget 30s"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
