// The order of the kernels of a part, whose inputs arrive one after the other.
#pragma once

#include <xflow/split.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/cost/cost_model.h"
#include "src/execution/step_runner.h"
#include "src/ir/graph.h"

namespace xflow::execution {

// The inputs of a part that other devices send, with their positions in the order in which they arrive: the
// first one has 1. Those of earlier parts come first, and those of one part in the order in which it
// completes them. `complete`: by sent tensor, seconds that its part computes before.
std::map<std::string, std::size_t, std::less<>> arrivals_of(const PartManifest& manifest, std::size_t part,
                                                            std::span<const SentTensor> sent, std::span<const double> complete);

// Sorts launches by the last of the inputs that they need, directly or through other launches: one that
// needs none of `arrivals` comes first. Of those that need the same one, launches on which a value of `sent`
// depends come first; otherwise the order stays. A launch stays after all that compute its operands.
void order_launches(std::vector<cost::CoveredLaunch>& launches, const std::unordered_map<ir::ValueId, std::size_t>& arrivals,
                    std::unordered_set<ir::ValueId> sent);

}  // namespace xflow::execution
