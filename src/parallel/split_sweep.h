// Splits of operators that a search tries one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

// What an operator can be split along, with a degree of 1: axes of its result, its reduction, and copies.
std::vector<Split> split_targets(const SplitModel& model, std::uint32_t op);

struct SweptSplit {
  std::uint32_t op = 0;
  Split split;  // among neighbouring devices
};

// One split of an operator of each class, along each axis and the terms of a reduction into each divisor of
// the number of devices, the largest first. A class has the operators of a kind that share weights, or all
// of the kind if it has none that do. Classes with the most time come first; `seconds` are those of each
// operator.
std::vector<SweptSplit> swept_splits(const SplitModel& model, std::uint32_t devices, std::span<const double> seconds);

// The operator and those of its kind that share weights with it, ascending.
std::vector<std::uint32_t> with_tied(const SplitModel& model, std::uint32_t op);

}  // namespace xflow::parallel
