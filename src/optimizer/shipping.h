// Decides which results are shipped, and reports why others are not.
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

// Whether models cannot be run on the device of the options: the device is a profile or the caller's own,
// and there is no runner.
bool is_elsewhere(const OptimizeOptions& options);
// The report's reason why no end-to-end run took place. `what` is "model" or "graph".
std::string why_not_run(const OptimizeOptions& options, std::string_view what);

// The relative error of predicted times: 0.01 + 0.1 * (kernels timed only under interference / all timed or
// known kernels) (docs/cost.md, The noise of prices).
double price_noise(const KernelReport& kernels);
// Refuses a result if its predicted gain, including `simplifications`, is below the noise of the prices.
Acceptance above_noise(const OptimizeReport& report, std::span<const Simplification> simplifications);
// Whether a candidate was run and measured faster or equal at every choice of sizes.
bool is_no_slower(const GateReport& run);

// Makes `report` that of the original, with this reason. `predicted`: the predicted time of a result that
// was run and refused, so that the report shows how wrong the prediction was.
void keep_original(std::string reason, std::optional<Nanoseconds> predicted, OptimizeReport& report);

// Returns a function that reports progress while whole models run. The arguments must outlive the function.
std::function<void()> running(const ProgressCallback& progress, const OptimizeOptions& options, const RunLimits& limits,
                              const OptimizeReport& report);

}  // namespace xflow::api
