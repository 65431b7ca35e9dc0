#include "xflow/run.h"

#include <fmt/format.h>
#include <xflow/report.h>
#include <xflow/simulate.h>

#include <filesystem>
#include <memory>

#include "src/cli/command.h"
#include "src/cli/measured_clusters.h"
#include "src/cli/processes/mpi_workers.h"
#include "src/cli/processes/run_processes.h"

namespace xflow::cli {
namespace {

struct RunArguments {
  std::string path;
  std::vector<std::string> shapes;
  std::string out;
  std::string trace;
  RunOptions options;
};

Result<void> check_places(const RunArguments& a) {
  if (!a.out.empty() && a.out == a.trace) return fail(ErrorCode::invalid_argument, "two results have the same file", a.out);
  std::error_code ignored;
  for (const std::string* output : {&a.out, &a.trace}) {
    for (const std::string& input : a.options.inputs) {
      if (!output->empty() && std::filesystem::equivalent(*output, input, ignored))
        return fail(ErrorCode::invalid_argument, "the result would overwrite a file that is read", *output);
    }
  }
  return {};
}

Result<ExitCode> write_result(const RunArguments& a, const RunResult& result) {
  print(result.to_text(), is_standard_output(a.out) || is_standard_output(a.trace));
  if (!a.trace.empty()) XFLOW_CHECK(write_report(a.trace, result.to_trace()));
  if (!a.out.empty()) {
    XFLOW_TRY(const std::string bytes, result.to_npz());
    XFLOW_CHECK(write_report(a.out, bytes));
  }
  return result.check && !result.check->equal ? ExitCode::negative : ExitCode::done;
}

// Errors that all processes have are printed by the first.
ExitCode finish(const Result<ExitCode>& code) {
  if (code) return *code;
  return mpi_place().process == 0 ? report(code.error()) : ExitCode::done;
}

Result<ExitCode> run_all(RunArguments& a) {
  XFLOW_CHECK(find_measured_cluster(a.options.cluster));
  XFLOW_CHECK(check_places(a));
  for (const std::string& text : a.shapes) {
    XFLOW_TRY(InputShape shape, parse_input_shape(text));
    a.options.shapes.push_back(std::move(shape));
  }
  a.options.warning = warn;
  if (mpi_place().processes == 1) {
    XFLOW_TRY(const RunResult result, run_parts(a.path, a.options));
    return write_result(a, result);
  }
  XFLOW_TRY(const auto processes, join_run());
  a.options.messages = processes.get();
  XFLOW_TRY(const RunResult result, run_parts(a.path, a.options));
  return processes->process() == 0 ? write_result(a, result) : ExitCode::done;
}

}  // namespace

void add_run(CLI::App& sub, Command& command) {
  auto a = std::make_shared<RunArguments>();
  sub.add_option("PARTS", a->path, "folder that xflow split wrote, or an ONNX model, which is one part")->required();
  CLI::Option* inputs = sub.add_option("--inputs", a->options.inputs, "input values: .npz, .pb, or a folder of .pb files");
  sub.add_option("--shape", a->shapes, "sizes of a dynamic input: x:1,3,48,192 (repeat for each)")->take_all()->excludes(inputs);
  add_seed(sub, a->options.seed, "seed of generated inputs")->excludes(inputs);
  sub.add_option("--repeat", a->options.repeats, "number of steps that are timed")->capture_default_str()->check(CLI::Range(1, 1000000));
  sub.add_option("--warm-up", a->options.warm_ups, "number of steps before them")->capture_default_str()->check(CLI::Range(0, 1000000));
  CLI::Option* costs = sub.add_option("--costs", a->options.cost_database, "file of measured costs of kernels");
  sub.add_option("--runner", a->options.runner, "command of a program that runs parts (docs/runner.md)")->excludes(costs);
  sub.add_option("--check-against", a->options.check_against, "compare the outputs with those of this model, as xflow check");
  sub.add_option("--cluster", a->options.cluster, "also simulate the step on this cluster");
  sub.add_option("--out", a->out, "write the outputs to this .npz file; - is standard output");
  sub.add_option("--trace", a->trace, "write a step as a Chrome trace, which Perfetto opens, to this file");
  add_allow_external(sub, a->options.allow_external);
  group(sub, "Input", {"--inputs", "--shape", "--seed", "--allow-external"});
  group(sub, "Steps", {"--repeat", "--warm-up", "--costs", "--runner", "--cluster"});
  group(sub, "Output", {"--out", "--trace", "--check-against"});
  sub.footer(
      "Without mpirun, this process runs all parts. mpirun has to start one process for each device of\n"
      "the parts. As root it needs --allow-run-as-root, with fewer cores than processes --oversubscribe.\n"
      "The exit code is 1 if the outputs differ from those of the model of --check-against.\n\n" +
      examples({"xflow run parts --inputs x.npz --out y.npz", "mpirun -n 2 xflow run parts --repeat 100 --trace step.json",
                "mpirun -n 2 xflow run parts --check-against model.onnx",
                "mpirun -n 2 xflow run parts --runner 'python3 -m xflow_onnx.runner_ort'"}));
  sub.callback([a, &command] { command.run = [a] { return finish(run_all(*a)); }; });
}

}  // namespace xflow::cli
