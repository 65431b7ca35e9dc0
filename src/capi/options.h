// The options of the C interface, and what they are to each call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/capi/handles.h"

namespace xflow::capi {

enum class OptionName : std::uint8_t {
#define XFLOW_C_OPTION(name, calls) name,
#include "src/capi/options.def"
#undef XFLOW_C_OPTION
};

// The calls with options, as bits.
enum Call : std::uint8_t {
  optimize = 1,
  simplify = 2,
  check = 4,
  verify_files = 8,
  verify_rules = 16,
};

}  // namespace xflow::capi

struct xflow_options {
  std::uint32_t given = 0;  // the options that were set, as bits
  // What optimize has, and what other calls share with it.
  xflow::OptimizeOptions optimize;
  std::optional<double> growth;
  std::uint64_t growth_bytes = 0;
  std::uint64_t seed = 1;
  int runs = 1;
  int jobs = 1;
  xflow_progress_callback progress = nullptr;
  void* progress_user = nullptr;
};

namespace xflow::capi {

// The options of a call; `options` may be NULL. Errors: invalid_argument for an option that the call lacks.
Result<OptimizeOptions> optimize_options(const xflow_options* options, const char* function);
Result<SimplifyOptions> simplify_options(const xflow_options* options, const char* function);
Result<CheckOptions> check_options(const xflow_options* options, const char* function);
Result<VerifyModelsOptions> verify_files_options(const xflow_options* options, const char* function);
Result<VerifyOptions> verify_rules_options(const xflow_options* options, const char* function);
// The progress callback of an optimisation; empty if there is none.
ProgressCallback progress_of(const xflow_options* options);

}  // namespace xflow::capi
