// Which results are shipped, and what the report says of those that are not.
#pragma once

#include <xflow/optimize.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/optimizer/simplifications.h"
#include "src/search/run_limits.h"
#include "src/support/acceptance.h"

namespace xflow::api {

// Whether nothing here can run what the device of the options will: it is known by a profile, and there is no runner.
bool is_elsewhere(const OptimizeOptions& options);
// What the report says of an end-to-end run that did not take place; `option` is how the caller said so.
std::string why_not_run(const OptimizeOptions& options, std::string_view what, std::string_view option);

// By how much predicted times may be wrong, as a part of them: 1 %, and 10 % of what kernels cost that were timed under interference
// alone, by their number (docs/cost.md, The noise of prices).
double price_noise(const KernelReport& kernels);
// Refuses a result whose predicted gain, `simplifications` included, is below the noise of the prices.
Acceptance above_noise(const OptimizeReport& report, std::span<const Simplification> simplifications);
// Whether a candidate was run and measured to be faster or equal at every choice of sizes.
bool is_no_slower(const GateReport& run);

// The report of a result that is the original, for this reason. `predicted`: the time of another that was run and not shipped; that
// they were wrong is worth knowing.
void keep_original(std::string reason, std::optional<Nanoseconds> predicted, OptimizeReport& report);

// To be called while whole models are run: tells the progress. The arguments must outlive it.
std::function<void()> running(const ProgressCallback& progress, const OptimizeOptions& options, const RunLimits& limits,
                              const OptimizeReport& report);

}  // namespace xflow::api
