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
#include "src/cli/growth_text.h"
#include "src/cli/measured_clusters.h"
#include "src/cli/optimize_call.h"

namespace xflow::cli {
namespace {

struct OptimizeArguments {
  OptimizeFiles files;
  std::vector<std::string> shapes;
  std::string budget = "30s";
  std::string max_growth = "5%,64KiB";
  std::string measure_budget = "60s";
  std::string kernel_budget = "300s";
  std::string time_limit;
  std::string memory;
  std::string search_memory = "1GiB";
  bool no_gate = false;
  std::string accept = "faster";
  std::string caches = "auto";
  std::string gap = "auto";
  std::string strategy = "auto";
  std::string numerics = "rounding";
  bool fast_math = false;
  ModelOptions model;
  PrintOptions printing;
  OptimizeOptions options;
};

Unexpected bad(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); }

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Parses "4GiB" or "500MiB" to bytes.
std::optional<std::uint64_t> bytes(std::string_view text) {
  constexpr double kMost = 0x1p60;
  const auto unit = text.find_first_not_of("0123456789.");
  const auto value = unit == std::string_view::npos ? std::nullopt : number(text.substr(0, unit));
  if (!value) return std::nullopt;
  const std::string_view name = text.substr(unit);
  const double all = name == "GiB" ? *value * 0x1p30 : name == "MiB" ? *value * 0x1p20 : -1;
  return all < 1 || all > kMost ? std::nullopt : std::optional(static_cast<std::uint64_t>(all));
}

// Parses a budget: "30s", "500ms", "2m", "5000states"; several are separated by commas.
Result<void> read_budget(std::string_view text, OptimizeOptions& options) {
  // No search reaches this many states, and a double does not hold all integers far beyond it.
  constexpr double kMostStates = 1e15;
  do {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto unit = part.find_first_not_of("0123456789.");
    const auto value = unit == std::string_view::npos ? std::nullopt : number(part.substr(0, unit));
    const std::string_view name = unit == std::string_view::npos ? std::string_view() : part.substr(unit);
    if (const auto time = read_duration(part)) {
      options.search.max_time = time;
    } else if (value && name == "states" && *value <= kMostStates) {
      options.search.max_states = static_cast<std::uint64_t>(*value);
    } else {
      return bad(fmt::format("budget '{}' is not of the form 30s, 500ms, 2m or 5000states", part));
    }
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  } while (!text.empty());
  return {};
}

// The cost database of this user; empty without a home.
std::string default_database() {
  const std::string folder = cache_folder();
  return folder.empty() ? folder : folder + "/costs.db";
}

Result<void> prepare(OptimizeArguments& a) {
  for (const std::string& text : a.shapes) {
    XFLOW_TRY(InputShape shape, parse_input_shape(text));
    a.options.input.shapes.push_back(std::move(shape));
  }
  XFLOW_TRY(a.options.input.fixed_shapes, fixed_shapes(a.model));
  XFLOW_CHECK(read_budget(a.budget, a.options));
  const auto measure = read_duration(a.measure_budget);
  if (!measure) return bad(fmt::format("measure budget '{}' is not of the form 60s, 500ms or 2m", a.measure_budget));
  a.options.validation.max_measure_time = *measure;
  const auto kernels = read_duration(a.kernel_budget);
  if (!kernels) return bad(fmt::format("kernel budget '{}' is not of the form 300s, 500ms or 5m", a.kernel_budget));
  a.options.device.max_kernel_time = *kernels;
  if (!a.time_limit.empty()) {
    a.options.time_limit = read_duration(a.time_limit);
    if (!a.options.time_limit) return bad(fmt::format("time limit '{}' is not of the form 300s, 500ms or 5m", a.time_limit));
  }
  if (!a.memory.empty()) {
    a.options.max_memory = bytes(a.memory);
    if (!a.options.max_memory) return bad(fmt::format("memory '{}' is not of the form 4GiB or 500MiB", a.memory));
  }
  const auto search_memory = bytes(a.search_memory);
  if (!search_memory) return bad(fmt::format("search memory '{}' is not of the form 1GiB or 200MiB", a.search_memory));
  a.options.search.max_bytes = *search_memory;
  XFLOW_TRY(a.options.device.caches, parse_cache_state(a.caches));
  XFLOW_TRY(a.options.search.numerics, parse_numerics(a.numerics));
  if (a.fast_math && a.options.search.numerics == Numerics::exact) return bad("--numbers exact excludes --fast-math");
  if (a.fast_math) a.options.search.numerics = Numerics::any;
  XFLOW_TRY(a.options.search.strategy, parse_strategy(a.strategy));
  if (a.gap != "auto") a.options.search.gap = a.gap == "on";
  a.options.validation.gate = !a.no_gate;
  a.options.output.accept = a.accept == "smaller" ? Accept::smaller : Accept::faster;
  XFLOW_TRY(const Growth growth, read_growth(a.max_growth));
  a.options.search.max_growth = growth.share;
  a.options.search.max_growth_bytes = growth.bytes;
  return {};
}

// Makes malloc return large tensors to the system when they are freed. Otherwise the memory that it keeps
// would count against --memory.
void give_back_large_memory() {
#ifdef __GLIBC__
  constexpr int kLarge = 1 << 20;
  constexpr int kUnused = 16 << 20;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kUnused);
#endif
}

// The device if the command line names none. A GPU is checked by this program in another process.
std::string device_of_this_machine() {
  std::error_code none;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", none).string();
  DefaultDevice chosen = default_device(quoted(program) + " devices --check cuda:0");
  if (!chosen.warning.empty()) warn(chosen.warning);
  return std::move(chosen.name);
}

ExitCode run(OptimizeArguments& a) {
  if (const auto checked = check_model_options(a.model, a.files.input, a.files.output); !checked) return report(checked.error());
  if (a.model.inspect) return inspect(a.files.input, a.options.input.allow_external);
  if (auto prepared = prepare(a); !prepared) return report(prepared.error());
  if (const auto checked = check_report(a.files, a.options); !checked) return report(checked.error());
  give_back_large_memory();
  if (a.options.device.name.empty() && a.options.device.runner.empty()) a.options.device.name = device_of_this_machine();
  return optimize_and_report(a.files, a.options, a.model, a.printing);
}

// Shows the default value of an option in the help.
CLI::Option* with_default(CLI::Option* option) { return option->capture_default_str(); }

void add_input_options(CLI::App& sub, OptimizeArguments& a) {
  InputOptions& input = a.options.input;
  CLI::Option* shape = sub.add_option("--shape", a.shapes, "sizes of a dynamic input: x:1,3,48,192 (repeat for each)")->take_all();
  CLI::Option* inputs = sub.add_option("--inputs", input.files, "input values: .npz, .pb, or a folder of .pb files")->excludes(shape);
  shape->excludes(inputs);
  for (CLI::Option* option : {shape, inputs, add_allow_external(sub, input.allow_external)}) option->group("Input");
}

void add_search_options(CLI::App& sub, OptimizeArguments& a) {
  SearchOptions& search = a.options.search;
  for (CLI::Option* option : {
           with_default(sub.add_option("--budget", a.budget, "budget of the search: 30s, 500ms, 2m, 5000states")),
           sub.add_option("--time-limit", a.time_limit, "time limit of the whole run: 300s, 5m"),
           sub.add_option("--memory", a.memory, "memory limit of the whole run: 4GiB, 500MiB"),
           with_default(sub.add_option("--search-memory", a.search_memory, "memory for states of the search: 1GiB, 200MiB")),
           with_default(sub.add_option("--numbers", a.numerics, "allowed changes in floating point: exact, rounding, any"))
               ->check(CLI::IsMember({"exact", "rounding", "any"})),
           sub.add_flag("--fast-math", a.fast_math, "the same as --numbers any"),
           with_default(sub.add_option("--max-growth", a.max_growth, "growth of the constants: 5%, 64KiB, or 5%,64KiB for the larger")),
           with_default(sub.add_option("--alpha", search.alpha, "drop graphs that cost more than ALPHA times the best")),
           with_default(sub.add_option("--strategy", a.strategy, "order of the search: auto, backtracking, partition, egraph"))
               ->check(CLI::IsMember({"auto", "backtracking", "partition", "egraph"})),
           sub.add_option("--confidence", search.confidence, "leave out gains that are less sure than this: 0.9"),
           with_default(sub.add_option("--gap", a.gap, "bound on the best graph: on, off, auto (on with a profile)"))
               ->check(CLI::IsMember({"auto", "on", "off"})),
           with_default(sub.add_option("--search-threads", search.threads, "threads that look for this bound, with a profile"))
               ->check(CLI::Range(1, 1024)),
           sub.add_option("--rules", search.rules, "files or folders of rules instead of the built-in ones")->take_all(),
           sub.add_option("--skip", search.skip_rules, "name of a rule not to use")->take_all(),
       })
    option->group("Search");
}

void add_device_options(CLI::App& sub, OptimizeArguments& a) {
  DeviceOptions& device = a.options.device;
  for (CLI::Option* option : {
           sub.add_option("--device", device.name, "where kernels are timed: cpu, cuda:N, runner, profile:FILE"),
           sub.add_option("--runner", device.runner, "command of a program that runs models (docs/runner.md)"),
           with_default(sub.add_option("--threads", device.threads, "threads of one kernel"))->check(CLI::Range(1, 1024)),
           sub.add_option("--costs", device.cost_database, "file of measured costs, else ~/.cache/xflow/costs.db; '': none"),
           with_default(sub.add_option("--caches", a.caches, "caches when a kernel is timed: auto, warm, 4MiB, 16MiB, 64MiB"))
               ->check(CLI::IsMember({"auto", "warm", "4MiB", "16MiB", "64MiB"})),
           with_default(sub.add_option("--kernel-budget", a.kernel_budget, "time limit for timing kernels in the runner: 300s")),
           sub.add_option("--as", device.priced_as, "with a profile, times of float32 are those in bf16, fp16 or fp8"),
           sub.add_flag("--tf32", device.tf32, "on a GPU, products and convolutions may round to 10 bits"),
           with_default(sub.add_option("--gpu-workspace", device.gpu_workspace, "workspace of a GPU library, in bytes")),
       })
    option->group("Device");
}

void add_validation_options(CLI::App& sub, OptimizeArguments& a) {
  for (CLI::Option* option : {
           sub.add_flag("--no-gate", a.no_gate, "do not run whole models; the predicted time decides"),
           with_default(sub.add_option("--measure-budget", a.measure_budget, "time limit for running whole models: 60s, 500ms")),
       })
    option->group("Validation");
}

void add_output_options(CLI::App& sub, OptimizeArguments& a) {
  for (CLI::Option* option : {
           with_default(sub.add_option("--accept", a.accept, "results to write: faster, or smaller as well if not slower"))
               ->check(CLI::IsMember({"faster", "smaller"})),
           sub.add_option("--report", a.files.report, "also write the report here: JSON, or a page if it ends with .html"),
           add_save_as_external_data(sub, a.options.output.save_as_external_data),
       })
    option->group("Output");
}

}  // namespace

void add_optimize(CLI::App& sub, Command& command) {
  auto a = std::make_shared<OptimizeArguments>();
  a->options.device.cost_database = default_database();
  add_in_and_out(sub, a->files.input, a->files.output);
  add_input_options(sub, *a);
  add_model_options(sub, a->model);
  add_search_options(sub, *a);
  add_device_options(sub, *a);
  add_validation_options(sub, *a);
  add_output_options(sub, *a);
  add_checks(sub, a->model);
  add_print_options(sub, a->printing);
  sub.footer(
      "Without --device kernels are timed in the runner, else on a GPU that passes its check, else on\n"
      "this CPU. Without --time-limit a run ends after 5 minutes, or 10 times a longer --budget.\n"
      "Without --memory it may use half of the memory of the machine or of its control group.\n\n" +
      examples({"xflow optimize model.onnx faster.onnx", "xflow optimize model.onnx faster.onnx --shape x:1,3,48,192 --budget 2m",
                "xflow optimize model.onnx faster.onnx --inputs test_data_set_0",
                "xflow optimize model.onnx faster.onnx --runner 'python3 -m xflow_onnx.runner_ort'",
                "xflow optimize model.onnx faster.onnx --skip merge-matmuls-sharing-lhs --report report.json"}));
  sub.callback([a, &command] {
    a->files.command = command.line;
    command.run = [a] { return run(*a); };
  });
}

}  // namespace xflow::cli
