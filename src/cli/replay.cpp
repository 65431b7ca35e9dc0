#include <xflow/optimize.h>
#include <xflow/trace.h>

#include <memory>

#include "src/cli/command.h"
#include "src/cli/duration_text.h"
#include "src/cli/optimize_call.h"
#include "src/cli/read_text.h"

namespace xflow::cli {
namespace {

struct ReplayArguments {
  std::string trace;
  OptimizeFiles files;
  std::string time_limit;
  std::vector<std::string> fixed;
  PrintOptions printing;
  OptimizeOptions options;
};

Result<Trace> read_trace(const std::string& path) {
  XFLOW_TRY(const std::string text, read_text(path));
  auto trace = parse_trace(text);
  if (!trace) return fail(ErrorCode::unreadable, trace.error().message, path);
  return trace;
}

Result<void> prepare(ReplayArguments& a) {
  XFLOW_TRY(a.options.search.replay, read_trace(a.trace));
  XFLOW_TRY(a.options.input.fixed_shapes, fixed_shapes({a.fixed}));
  if (!a.time_limit.empty()) {
    a.options.time_limit = read_duration(a.time_limit);
    if (!a.options.time_limit)
      return fail(ErrorCode::invalid_argument, "time limit '" + a.time_limit + "' is not of the form 300s, 500ms or 5m");
  }
  return check_report(a.files, a.options);
}

ExitCode run(ReplayArguments& a) {
  if (auto prepared = prepare(a); !prepared) return report(prepared.error());
  return optimize_and_report(a.files, a.options, {}, a.printing);
}

}  // namespace

void add_replay(CLI::App& sub, Command& command) {
  auto a = std::make_shared<ReplayArguments>();
  sub.add_option("TRACE", a->trace, "report of an earlier `xflow optimize IN OUT --report TRACE`")->required();
  sub.add_option("IN", a->files.input, "the model that was optimised; - is standard input")->required();
  sub.add_option("OUT", a->files.output, "ONNX model to write; - is standard output")->required();
  add_allow_external(sub, a->options.input.allow_external);
  sub.add_option("--rules", a->options.search.rules, "files or folders of rules instead of the built-in ones")->take_all();
  sub.add_option("--time-limit", a->time_limit, "time limit of the whole run: 300s, 5m");
  sub.add_option("--report", a->files.report, "also write the report here: JSON, or a page if it ends with .html");
  add_save_as_external_data(sub, a->options.output.save_as_external_data);
  sub.add_option("--overwrite-input-shape", a->fixed, "as in the call that wrote TRACE")->take_all();
  add_print_options(sub, a->printing);
  group(sub, "Input", {"--allow-external", "--rules", "--overwrite-input-shape"});
  group(sub, "Output", {"--report", "--save-as-external-data"});
  sub.footer(
      "OUT has the same bytes as the OUT of the call that wrote TRACE, given the same --rules and\n"
      "--save-as-external-data. Nothing is timed. Rewritten parts are executed against the original parts.\n\n" +
      examples({"xflow replay report.json model.onnx again.onnx"}));
  sub.callback([a, &command] {
    a->files.command = command.line;
    command.run = [a] { return run(*a); };
  });
}

}  // namespace xflow::cli
