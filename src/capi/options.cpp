#include "src/capi/options.h"

#include <fmt/format.h>
#include <xflow/rules.h>

#include <array>
#include <cmath>

namespace xflow::capi {
namespace {

struct OptionRow {
  const char* name;
  unsigned calls;
};
constexpr std::array kOptions = {
#define XFLOW_C_OPTION(name, calls) OptionRow{#name, calls},
#include "src/capi/options.def"
#undef XFLOW_C_OPTION
};
static_assert(kOptions.size() <= 32, "xflow_options::given has a bit for each");

// Errors: invalid_argument for an option that is set and that the call lacks.
Result<void> require_options_of(Call call, const xflow_options* options, const char* function) {
  if (options == nullptr) return {};
  for (std::size_t k = 0; k < kOptions.size(); ++k) {
    if ((options->given >> k & 1U) != 0 && (kOptions[k].calls & call) == 0)
      return fail(ErrorCode::invalid_argument, fmt::format("{} has no option '{}'", function, kOptions[k].name));
  }
  return {};
}

// Stores an option by `store`, unless that fails, and notes that it was set.
template <typename Store>
xflow_status set(xflow_options* options, OptionName name, xflow_error** error, const Store& store) {
  return guarded(error, [&]() -> Result<void> {
    XFLOW_CHECK(require(options, "options"));
    XFLOW_CHECK(store(*options));
    options->given |= 1U << static_cast<unsigned>(name);
    return {};
  });
}

// An option that is a text of at least one character.
template <typename Store>
xflow_status set_text(xflow_options* options, OptionName name, const char* text, const char* argument, xflow_error** error,
                      const Store& store) {
  return set(options, name, error, [&](xflow_options& o) -> Result<void> {
    XFLOW_CHECK(require(text, argument));
    if (*text == '\0') return fail(ErrorCode::invalid_argument, fmt::format("{} is empty", argument));
    store(o, std::string(text));
    return {};
  });
}

template <typename Store>
xflow_status set_seconds(xflow_options* options, OptionName name, double seconds, xflow_error** error, const Store& store) {
  return set(options, name, error, [&](xflow_options& o) -> Result<void> {
    if (!std::isfinite(seconds) || seconds <= 0)
      return fail(ErrorCode::invalid_argument, fmt::format("seconds must be positive and finite, found {}", seconds));
    store(o, Seconds(seconds));
    return {};
  });
}

// Sizes as a C program gives them.
struct Dims {
  const std::int64_t* data;
  std::size_t rank;
};

// An option that is an input and its sizes.
template <typename Store>
xflow_status add_shape(xflow_options* options, OptionName name, const char* input, Dims dims, xflow_error** error, const Store& store) {
  return set(options, name, error, [&](xflow_options& o) -> Result<void> {
    XFLOW_CHECK(require(input, "input"));
    if (dims.rank > 0) XFLOW_CHECK(require(dims.data, "dims"));
    InputShape shape{input, std::vector<std::int64_t>(dims.data, dims.data + dims.rank)};
    for (const std::int64_t dim : shape.dims)
      if (dim < 1) return fail(ErrorCode::invalid_argument, fmt::format("size {} is not positive", dim), fmt::format("input '{}'", input));
    store(o, std::move(shape));
    return {};
  });
}

Result<void> require_positive(const char* argument, int value) {
  if (value >= 1) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{} must be at least 1, found {}", argument, value));
}

}  // namespace

Result<OptimizeOptions> optimize_options(const xflow_options* options, const char* function) {
  XFLOW_CHECK(require_options_of(Call::optimize, options, function));
  if (options == nullptr) return OptimizeOptions{};
  OptimizeOptions converted = options->optimize;
  if (options->growth) {
    converted.search.max_growth = *options->growth;
    converted.search.max_growth_bytes = options->growth_bytes;
  }
  return converted;
}

Result<SimplifyOptions> simplify_options(const xflow_options* options, const char* function) {
  XFLOW_CHECK(require_options_of(Call::simplify, options, function));
  SimplifyOptions converted;
  if (options == nullptr) return converted;
  const OptimizeOptions& from = options->optimize;
  converted.numerics = from.search.numerics;
  if (options->growth) {
    converted.max_growth = *options->growth;
    converted.max_growth_bytes = options->growth_bytes;
  }
  converted.skip_rules = from.search.skip_rules;
  converted.rule_text = from.search.rule_text;
  converted.fixed_shapes = from.input.fixed_shapes;
  converted.allow_external = from.input.allow_external;
  converted.save_as_external_data = from.output.save_as_external_data;
  converted.time_limit = from.time_limit;
  converted.cancel = from.cancel;
  return converted;
}

Result<CheckOptions> check_options(const xflow_options* options, const char* function) {
  XFLOW_CHECK(require_options_of(Call::check, options, function));
  CheckOptions converted;
  if (options == nullptr) return converted;
  const OptimizeOptions& from = options->optimize;
  converted.inputs = from.input.files;
  converted.shapes = from.input.shapes;
  converted.seed = options->seed;
  converted.runs = options->runs;
  converted.runner = from.device.runner;
  converted.allow_external = from.input.allow_external;
  if (from.time_limit) converted.time_limit = *from.time_limit;
  converted.cancel = from.cancel;
  if (options->progress != nullptr) {
    converted.progress = [progress = options->progress, user = options->progress_user](const CheckProgress& now) {
      const xflow_phase phase = now.phase == CheckPhase::running_a ? XFLOW_PHASE_RUNNING_A : XFLOW_PHASE_RUNNING_B;
      const xflow_progress state{phase, now.fraction, now.message, 0, {}};
      progress(&state, user);
    };
  }
  return converted;
}

Result<VerifyModelsOptions> verify_files_options(const xflow_options* options, const char* function) {
  XFLOW_CHECK(require_options_of(Call::verify_files, options, function));
  VerifyModelsOptions converted;
  if (options == nullptr) return converted;
  const OptimizeOptions& from = options->optimize;
  converted.shapes = from.input.shapes;
  converted.seed = options->seed;
  converted.allow_external = from.input.allow_external;
  if (from.time_limit) converted.time_limit = *from.time_limit;
  converted.cancel = from.cancel;
  return converted;
}

Result<VerifyOptions> verify_rules_options(const xflow_options* options, const char* function) {
  XFLOW_CHECK(require_options_of(Call::verify_rules, options, function));
  VerifyOptions converted;
  if (options == nullptr) return converted;
  converted.max_time = options->optimize.time_limit;
  converted.jobs = options->jobs;
  converted.cancel = options->optimize.cancel;
  return converted;
}

ProgressCallback progress_of(const xflow_options* options) {
  if (options == nullptr || options->progress == nullptr) return {};
  return [progress = options->progress, user = options->progress_user](const OptimizeProgress& now) {
    static_assert(static_cast<int>(Phase::measuring) == XFLOW_PHASE_MEASURING &&
                  static_cast<int>(Phase::searching) == XFLOW_PHASE_SEARCHING);
    static_assert(static_cast<int>(Phase::checking) == XFLOW_PHASE_CHECKING && static_cast<int>(Phase::running) == XFLOW_PHASE_RUNNING);
    const xflow_progress state{static_cast<xflow_phase>(now.phase), now.fraction, now.to_text(), now.states, now.predicted};
    progress(&state, user);
  };
}

}  // namespace xflow::capi

using xflow::ErrorCode;
using xflow::Result;
using xflow::capi::add_shape;
using xflow::capi::OptionName;
using xflow::capi::require;
using xflow::capi::set;
using xflow::capi::set_seconds;
using xflow::capi::set_text;

xflow_options* xflow_options_new(void) { return xflow::capi::made<xflow_options>(); }
void xflow_options_free(xflow_options* options) { delete options; }

xflow_status xflow_options_add_shape(xflow_options* options, const char* input, const int64_t* dims, size_t rank, xflow_error** error) {
  return add_shape(options, OptionName::shape, input, {dims, rank}, error,
                   [](xflow_options& o, xflow::InputShape shape) { o.optimize.input.shapes.push_back(std::move(shape)); });
}

xflow_status xflow_options_add_fixed_shape(xflow_options* options, const char* input, const int64_t* dims, size_t rank,
                                           xflow_error** error) {
  return add_shape(options, OptionName::fixed_shape, input, {dims, rank}, error,
                   [](xflow_options& o, xflow::InputShape shape) { o.optimize.input.fixed_shapes.push_back(std::move(shape)); });
}

xflow_status xflow_options_add_input_file(xflow_options* options, const char* path, xflow_error** error) {
  return set_text(options, OptionName::input_file, path, "path", error,
                  [](xflow_options& o, std::string text) { o.optimize.input.files.push_back(std::move(text)); });
}

xflow_status xflow_options_allow_external(xflow_options* options, const char* folder, xflow_error** error) {
  return set_text(options, OptionName::allow_external, folder, "folder", error,
                  [](xflow_options& o, std::string text) { o.optimize.input.allow_external.push_back(std::move(text)); });
}

xflow_status xflow_options_set_external_data(xflow_options* options, const char* name, xflow_error** error) {
  return set_text(options, OptionName::external_data, name, "name", error,
                  [](xflow_options& o, std::string text) { o.optimize.output.save_as_external_data = std::move(text); });
}

xflow_status xflow_options_set_search_seconds(xflow_options* options, double seconds, xflow_error** error) {
  return set_seconds(options, OptionName::search_seconds, seconds, error,
                     [](xflow_options& o, xflow::Seconds time) { o.optimize.search.max_time = time; });
}

xflow_status xflow_options_set_max_states(xflow_options* options, uint64_t states, xflow_error** error) {
  return set(options, OptionName::max_states, error, [&](xflow_options& o) -> Result<void> {
    if (states == 0) return xflow::fail(ErrorCode::invalid_argument, "states must be at least 1, found 0");
    o.optimize.search.max_states = states;
    return {};
  });
}

xflow_status xflow_options_set_max_growth(xflow_options* options, double fraction, uint64_t bytes, xflow_error** error) {
  return set(options, OptionName::max_growth, error, [&](xflow_options& o) -> Result<void> {
    if (!std::isfinite(fraction) || fraction < 0)
      return xflow::fail(ErrorCode::invalid_argument, fmt::format("fraction must be at least 0 and finite, found {}", fraction));
    o.growth = fraction;
    o.growth_bytes = bytes;
    return {};
  });
}

xflow_status xflow_options_set_confidence(xflow_options* options, double probability, xflow_error** error) {
  return set(options, OptionName::confidence, error, [&](xflow_options& o) -> Result<void> {
    if (!(probability > 0.5 && probability < 1))
      return xflow::fail(ErrorCode::invalid_argument, fmt::format("probability must be above 0.5 and below 1, found {}", probability));
    o.optimize.search.confidence = probability;
    return {};
  });
}

xflow_status xflow_options_set_numerics(xflow_options* options, xflow_numerics numerics, xflow_error** error) {
  return set(options, OptionName::numerics, error, [&](xflow_options& o) -> Result<void> {
    switch (numerics) {
      case XFLOW_NUMERICS_EXACT:
        o.optimize.search.numerics = xflow::Numerics::exact;
        return {};
      case XFLOW_NUMERICS_ROUNDING:
        o.optimize.search.numerics = xflow::Numerics::rounding;
        return {};
      case XFLOW_NUMERICS_ANY:
        o.optimize.search.numerics = xflow::Numerics::any;
        return {};
    }
    return xflow::fail(ErrorCode::invalid_argument, fmt::format("numerics {} is none of 0, 1, 2", static_cast<int>(numerics)));
  });
}

xflow_status xflow_options_set_rules(xflow_options* options, const char* text, xflow_error** error) {
  return set(options, OptionName::rules, error, [&](xflow_options& o) -> Result<void> {
    XFLOW_CHECK(require(text, "text"));
    XFLOW_CHECK(xflow::RuleSet::parse(text, "rules"));
    o.optimize.search.rule_text = text;
    return {};
  });
}

xflow_status xflow_options_skip_rule(xflow_options* options, const char* name, xflow_error** error) {
  return set_text(options, OptionName::skip_rule, name, "name", error,
                  [](xflow_options& o, std::string text) { o.optimize.search.skip_rules.push_back(std::move(text)); });
}

xflow_status xflow_options_set_device(xflow_options* options, const char* name, xflow_error** error) {
  return set_text(options, OptionName::device, name, "name", error,
                  [](xflow_options& o, std::string text) { o.optimize.device.name = std::move(text); });
}

xflow_status xflow_options_set_priced_as(xflow_options* options, const char* type, xflow_error** error) {
  return set_text(options, OptionName::priced_as, type, "type", error,
                  [](xflow_options& o, std::string text) { o.optimize.device.priced_as = std::move(text); });
}

xflow_status xflow_options_set_threads(xflow_options* options, int threads, xflow_error** error) {
  return set(options, OptionName::threads, error, [&](xflow_options& o) -> Result<void> {
    if (threads < 1 || threads > 1024)
      return xflow::fail(ErrorCode::invalid_argument, fmt::format("threads must be from 1 to 1024, found {}", threads));
    o.optimize.device.threads = threads;
    return {};
  });
}

xflow_status xflow_options_set_runner(xflow_options* options, const char* command, xflow_error** error) {
  return set_text(options, OptionName::runner, command, "command", error,
                  [](xflow_options& o, std::string text) { o.optimize.device.runner = std::move(text); });
}

xflow_status xflow_options_set_cost_database(xflow_options* options, const char* path, xflow_error** error) {
  return set_text(options, OptionName::cost_database, path, "path", error,
                  [](xflow_options& o, std::string text) { o.optimize.device.cost_database = std::move(text); });
}

xflow_status xflow_options_set_gate(xflow_options* options, bool gate, xflow_error** error) {
  return set(options, OptionName::gate, error, [&](xflow_options& o) -> Result<void> {
    o.optimize.validation.gate = gate;
    return {};
  });
}

xflow_status xflow_options_set_gate_seconds(xflow_options* options, double seconds, xflow_error** error) {
  return set_seconds(options, OptionName::gate_seconds, seconds, error,
                     [](xflow_options& o, xflow::Seconds time) { o.optimize.validation.max_measure_time = time; });
}

xflow_status xflow_options_set_accept_smaller(xflow_options* options, bool smaller, xflow_error** error) {
  return set(options, OptionName::accept_smaller, error, [&](xflow_options& o) -> Result<void> {
    o.optimize.output.accept = smaller ? xflow::Accept::smaller : xflow::Accept::faster;
    return {};
  });
}

xflow_status xflow_options_set_time_limit(xflow_options* options, double seconds, xflow_error** error) {
  return set_seconds(options, OptionName::time_limit, seconds, error,
                     [](xflow_options& o, xflow::Seconds time) { o.optimize.time_limit = time; });
}

xflow_status xflow_options_set_max_memory(xflow_options* options, uint64_t bytes, xflow_error** error) {
  return set(options, OptionName::max_memory, error, [&](xflow_options& o) -> Result<void> {
    o.optimize.max_memory = bytes;
    return {};
  });
}

xflow_status xflow_options_set_seed(xflow_options* options, uint64_t seed, xflow_error** error) {
  return set(options, OptionName::seed, error, [&](xflow_options& o) -> Result<void> {
    o.seed = seed;
    return {};
  });
}

xflow_status xflow_options_set_runs(xflow_options* options, int runs, xflow_error** error) {
  return set(options, OptionName::runs, error, [&](xflow_options& o) -> Result<void> {
    XFLOW_CHECK(xflow::capi::require_positive("runs", runs));
    o.runs = runs;
    return {};
  });
}

xflow_status xflow_options_set_jobs(xflow_options* options, int jobs, xflow_error** error) {
  return set(options, OptionName::jobs, error, [&](xflow_options& o) -> Result<void> {
    XFLOW_CHECK(xflow::capi::require_positive("jobs", jobs));
    o.jobs = jobs;
    return {};
  });
}

xflow_status xflow_options_set_cancel(xflow_options* options, const xflow_cancel* cancel, xflow_error** error) {
  return set(options, OptionName::cancel, error, [&](xflow_options& o) -> Result<void> {
    o.optimize.cancel = cancel == nullptr ? xflow::CancellationToken() : cancel->token;
    return {};
  });
}

xflow_status xflow_options_set_progress(xflow_options* options, xflow_progress_callback progress, void* user, xflow_error** error) {
  return set(options, OptionName::progress, error, [&](xflow_options& o) -> Result<void> {
    o.progress = progress;
    o.progress_user = user;
    return {};
  });
}

xflow_status xflow_options_set_warning(xflow_options* options, xflow_warning_callback warning, void* user, xflow_error** error) {
  return set(options, OptionName::warning, error, [&](xflow_options& o) -> Result<void> {
    o.optimize.warning = nullptr;
    if (warning != nullptr) o.optimize.warning = [warning, user](const std::string& line) { warning(line.c_str(), user); };
    return {};
  });
}
