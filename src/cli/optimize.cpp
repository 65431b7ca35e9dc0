#include "xflow/optimize.h"

#include <fmt/format.h>
#include <xflow/device.h>
#include <xflow/report.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "src/cli/command.h"
#include "src/cli/duration_text.h"
#include "src/cli/interrupt.h"

namespace xflow::cli {
namespace {

struct OptimizeArguments {
  std::string input;
  std::string output;
  std::vector<std::string> shapes;
  std::string budget;
  std::string max_growth;
  std::string measure_budget;
  std::string kernel_budget;
  std::string time_limit;
  std::string memory;
  bool no_gate = false;
  std::string accept = "faster";
  std::string report;
  OptimizeOptions options;
};

Unexpected bad(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); }

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Bytes of "4GiB" or "500MiB".
std::optional<std::uint64_t> bytes(std::string_view text) {
  constexpr double kMost = 0x1p60;
  const auto unit = text.find_first_not_of("0123456789.");
  const auto value = unit == std::string_view::npos ? std::nullopt : number(text.substr(0, unit));
  if (!value) return std::nullopt;
  const std::string_view name = text.substr(unit);
  const double all = name == "GiB" ? *value * 0x1p30 : name == "MiB" ? *value * 0x1p20 : -1;
  return all < 1 || all > kMost ? std::nullopt : std::optional(static_cast<std::uint64_t>(all));
}

// "30s", "500ms", "2m", "5000states"; several budgets with commas.
Result<void> read_budget(std::string_view text, OptimizeOptions& options) {
  // Beyond this a count is no number of states that any search sees, and a double holds it no more.
  constexpr double kMostStates = 1e15;
  do {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto unit = part.find_first_not_of("0123456789.");
    const auto value = unit == std::string_view::npos ? std::nullopt : number(part.substr(0, unit));
    const std::string_view name = unit == std::string_view::npos ? std::string_view() : part.substr(unit);
    if (const auto time = read_seconds(part)) {
      options.max_seconds = time;
    } else if (value && name == "states" && *value <= kMostStates) {
      options.max_states = static_cast<std::uint64_t>(*value);
    } else {
      return bad(fmt::format("budget '{}' is not of the form 30s, 500ms, 2m or 5000states", part));
    }
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  } while (!text.empty());
  return {};
}

Result<void> read_growth(std::string_view text, OptimizeOptions& options) {
  const bool percent = !text.empty() && text.back() == '%';
  const auto value = number(percent ? text.substr(0, text.size() - 1) : text);
  if (!value) return bad(fmt::format("growth '{}' is not of the form 5% or 0.05", text));
  options.max_growth = percent ? *value / 100 : *value;
  return {};
}

// The cost database of this user: $XDG_CACHE_HOME/xflow/costs.db, else ~/.cache/xflow/costs.db; none without a home.
std::string default_database() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') return std::string(cache) + "/xflow/costs.db";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return std::string(home) + "/.cache/xflow/costs.db";
  return {};
}

Result<void> prepare(OptimizeArguments& a) {
  for (const std::string& text : a.shapes) {
    XFLOW_TRY(InputShape shape, parse_input_shape(text));
    a.options.shapes.push_back(std::move(shape));
  }
  XFLOW_CHECK(read_budget(a.budget, a.options));
  const auto measure = read_seconds(a.measure_budget);
  if (!measure) return bad(fmt::format("measure budget '{}' is not of the form 60s, 500ms or 2m", a.measure_budget));
  a.options.max_measure_seconds = *measure;
  const auto kernels = read_seconds(a.kernel_budget);
  if (!kernels) return bad(fmt::format("kernel budget '{}' is not of the form 300s, 500ms or 5m", a.kernel_budget));
  a.options.max_kernel_seconds = *kernels;
  if (!a.time_limit.empty()) {
    a.options.max_total_seconds = read_seconds(a.time_limit);
    if (!a.options.max_total_seconds) return bad(fmt::format("time limit '{}' is not of the form 300s, 500ms or 5m", a.time_limit));
  }
  if (!a.memory.empty()) {
    a.options.max_memory = bytes(a.memory);
    if (!a.options.max_memory) return bad(fmt::format("memory '{}' is not of the form 4GiB or 500MiB", a.memory));
  }
  a.options.gate = !a.no_gate;
  a.options.accept = a.accept == "smaller" ? Accept::smaller : Accept::faster;
  return read_growth(a.max_growth, a.options);
}

// Large tensors are given back to the system when they are freed: what small allocations would keep of them counts for --memory.
void give_back_large_memory() {
#ifdef __GLIBC__
  constexpr int kLarge = 1 << 20;
  constexpr int kUnused = 16 << 20;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kUnused);
#endif
}

// As one word of the shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// Where the command line names no device. A GPU is checked by this program in another process.
std::string device_of_this_machine() {
  std::error_code none;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", none).string();
  DefaultDevice chosen = default_device(quoted(program) + " devices --check cuda:0");
  if (!chosen.warning.empty()) warn(chosen.warning);
  return std::move(chosen.name);
}

ExitCode run(OptimizeArguments& a) {
  if (auto prepared = prepare(a); !prepared) return report(prepared.error());
  if (!a.report.empty()) {
    const auto checked = check_report_path(a.report, a.input, a.output, a.options.save_as_external_data, a.options.allow_external);
    if (!checked) return report(checked.error());
  }
  a.options.warning = warn;
  give_back_large_memory();
  if (a.options.device.empty() && a.options.runner.empty()) a.options.device = device_of_this_machine();
  finish_on_signals(a.options.cancel);
  Result<OptimizeReport> result = fail(ErrorCode::internal, "not run");
  {
    ProgressLine line;
    result = optimize_file(a.input, a.output, a.options, [&](const OptimizeProgress& p) { line.show(p.to_text()); });
  }
  if (!result) return report(result.error());
  print(result->to_text(), is_standard_output(a.output));
  if (!a.report.empty()) {
    if (const auto written = write_report(a.report, result->to_json()); !written) return report(written.error());
  }
  return ExitCode::done;
}

}  // namespace

void add_optimize(CLI::App& sub, Command& command) {
  auto a = std::make_shared<OptimizeArguments>();
  a->options.cost_database = default_database();
  sub.add_option("IN", a->input, "ONNX model to read; - is standard input")->required();
  sub.add_option("OUT", a->output,
                 "ONNX model to write; the bytes of IN where nothing is gained; - is standard output, and the report then goes to stderr")
      ->required();
  sub.add_option(
      "--device", a->options.device,
      "where costs are measured: cpu, cuda:N (xflow devices), runner, or profile:FILE (xflow profile --help); without it in the runner "
      "if there is one, else on the first GPU if there is one that passes its check, else on this CPU");
  sub.add_flag("--tf32", a->options.tf32, "on a GPU, products and convolutions of float may round their operands to 10 bits");
  sub.add_option("--gpu-workspace", a->options.gpu_workspace, "bytes that a kernel's library may use on a GPU beside its tensors")
      ->capture_default_str();
  sub.add_option("--caches", a->options.caches,
                 "what the caches of this CPU hold when a kernel is timed: warm, 4MiB, 16MiB, 64MiB (left after a run through so much); "
                 "auto: as it fits to the model")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "warm", "4MiB", "16MiB", "64MiB"}));
  sub.add_option("--threads", a->options.threads, "threads of one kernel")->capture_default_str()->check(CLI::Range(1, 1024));
  CLI::Option* inputs =
      sub.add_option("--inputs", a->options.inputs,
                     "inputs to run parts and whole models on: .npz (arrays NAME or in__NAME), .pb (a TensorProto each), or a folder of "
                     ".pb files; costs are those at the sizes of the first set, and at none may the result be slower");
  sub.add_option("--shape", a->shapes,
                 "sizes of a dynamic input for costs and runs, as NAME:1,3,48,192 (again for each input; "
                 "with further shapes of one input: where the result may not be slower either)")
      ->take_all()
      ->excludes(inputs);
  a->budget = "30s";
  sub.add_option("--budget", a->budget, "when the search stops: 30s, 500ms, 2m, 5000states")->capture_default_str();
  sub.add_option("--rules", a->options.rules, "folder or file of rules instead of the built-in ones")->take_all();
  sub.add_option("--skip", a->options.skip_rules, "name of a rule not to use")->take_all();
  a->max_growth = "5%";
  sub.add_option("--max-growth", a->max_growth, "how much the constants may grow")->capture_default_str();
  sub.add_option("--numbers", a->options.numbers,
                 "what may change in floating point: exact (no bit by any rule), rounding, any (also infinities and not-a-number)")
      ->capture_default_str()
      ->check(CLI::IsMember({"exact", "rounding", "any"}));
  sub.add_flag("--fast-math", a->options.fast_math, "the same as --numbers any");
  sub.add_option(
      "--runner", a->options.runner,
      "command of a program that runs models (docs/runner.md): kernels are timed there, and the result has to be faster than the "
      "original there, instead of on this CPU");
  a->measure_budget = "60s";
  sub.add_option("--measure-budget", a->measure_budget, "when running whole models stops: 60s, 500ms, 2m")->capture_default_str();
  a->kernel_budget = "300s";
  sub.add_option("--kernel-budget", a->kernel_budget, "when timing kernels in the runner stops: 300s, 500ms, 5m")->capture_default_str();
  sub.add_option("--accept", a->accept,
                 "which results are written: faster, or smaller as well (as xflow simplify), as long as nothing is measured slower")
      ->capture_default_str()
      ->check(CLI::IsMember({"faster", "smaller"}));
  sub.add_option("--time-limit", a->time_limit,
                 "when the whole run ends, with the best result that was checked by then: 300s, 500ms, 5m; without it 5 minutes, or 10 "
                 "times a longer --budget");
  sub.add_option("--memory", a->memory,
                 "how much may be in memory: 4GiB, 500MiB; the search ends there, and no larger tensor is made; without it half of what "
                 "the machine or the control group has");
  sub.add_flag("--no-gate", a->no_gate, "do not run whole models: that the result is faster is predicted");
  sub.add_option("--costs", a->options.cost_database, "file of measured costs; empty: none is kept")->capture_default_str();
  add_allow_external(sub, a->options.allow_external);
  add_save_as_external_data(sub, a->options.save_as_external_data);
  sub.add_option("--report", a->report, "also write the report as JSON to this file, which is neither IN nor OUT");
  sub.footer(examples({"xflow optimize model.onnx faster.onnx", "xflow optimize model.onnx faster.onnx --shape x:1,3,48,192 --budget 2m",
                       "xflow optimize model.onnx faster.onnx --inputs test_data_set_0",
                       "xflow optimize model.onnx faster.onnx --runner 'python3 -m xflow_onnx.runner_ort'",
                       "xflow optimize model.onnx faster.onnx --skip merge-matmuls-sharing-lhs --report report.json"}));
  sub.callback([a, &command] { command.run = [a] { return run(*a); }; });
}

}  // namespace xflow::cli
