// The rewriter and the prices of a thread of the search.
#pragma once

#include <xflow/optimize.h>

#include <functional>

#include "src/kernels/device.h"
#include "src/rules/verified_rules.h"
#include "src/search/search.h"

namespace xflow::api {

// Which rules match.
rules::MatchOptions match_options(Numerics numerics);

// Makes the tools of search::Options::thread_tools. Null if the device may be called from the calling thread
// alone. The device, the arena and the rules must outlive the result.
std::function<search::ThreadTools()> thread_tools(const cost::Device& device, const ir::Arena& arena, ir::Symbols::Valuation sizes,
                                                  const rules::VerifiedRules& rules, Numerics numerics);

}  // namespace xflow::api
