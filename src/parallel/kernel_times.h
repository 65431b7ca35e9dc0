// Times of kernels for workloads.
#pragma once

#include <optional>

#include "src/cost/kernel_costs.h"
#include "src/ir/graph.h"
#include "src/ops/kernel_spec.h"

namespace xflow::parallel {

constexpr double kNanosecondsPerSecond = 1e9;

const cost::DatabaseEntry& cost_of(cost::KernelCosts& costs, const ops::KernelSpec& spec);

// The kernel that stands for one that is not known: elementwise, it moves so many bytes.
ops::KernelSpec stand_in(double bytes);

// Bytes of a value at these sizes; nullopt if they are not known.
std::optional<double> bytes_of(const ir::Arena& arena, ir::ValueId value, const ir::Symbols::Valuation& sizes);

}  // namespace xflow::parallel
