// Plans that split operators over devices: how each operator is split, and where its parts run.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/parallel/split_model.h"

namespace xflow::parallel {

// What the parts of a split divide: a dimension of the result, the terms of the reduction, or nothing: then
// each part computes the same.
enum class SplitTarget : std::uint8_t { output, reduction, copies };

struct Split {
  SplitTarget target = SplitTarget::output;
  std::uint32_t dimension = 0;  // of the result
  std::uint32_t degree = 1;     // number of parts, at least 2
  std::uint32_t stride = 1;     // from the device of a part to that of the next one
  friend auto operator<=>(const Split&, const Split&) = default;
};

// The parts of an operator are numbered in row-major order, the first split outermost. Several splits of
// one dimension are one split into the product of their degrees. The number of a part's device is `base`
// plus the sum of its position in each split times the stride.
struct OperatorPlan {
  std::uint32_t base = 0;
  std::vector<Split> splits;

  std::uint32_t parts() const;
  std::uint32_t device(std::uint32_t part) const;
  // The product of the degrees of the splits of a target.
  std::uint32_t degree(SplitTarget target, std::uint32_t dimension = 0) const;
  // The position of a part among the parts of a target.
  std::uint32_t position(std::uint32_t part, SplitTarget target, std::uint32_t dimension = 0) const;
  friend auto operator<=>(const OperatorPlan&, const OperatorPlan&) = default;
};

// By operator of a SplitModel.
using SplitPlan = std::vector<OperatorPlan>;

// "axis 0 / 4, sum / 2, 2 copies, devices 0 to 15": for people.
std::string to_string(const OperatorPlan& plan);

// The blocks of part `position` of so many parts, which are as equal as whole blocks can be.
Interval share(std::int64_t blocks, std::uint32_t parts, std::uint32_t position);

// A part of an operator under a plan.
struct PlannedPart {
  Box output;
  std::optional<Interval> terms;
};
PlannedPart planned_part(const SplitModel& model, std::uint32_t op, const OperatorPlan& plan, std::uint32_t part);

// A dimension of a tensor that is divided as an axis or the reduction of an operator is.
struct ShardedDimension {
  std::uint32_t dimension = 0;
  SplitTarget target = SplitTarget::output;
  std::uint32_t axis = 0;
};
std::vector<ShardedDimension> dimensions_of_result(const OperatorPlan& plan, std::size_t rank);
std::vector<ShardedDimension> dimensions_of_operand(const OperatorKind& kind, const OperatorPlan& plan, std::uint32_t read);

// Whether all parts are equal: of the result, of operands without their halos, and of terms.
bool has_equal_parts(const SplitModel& model, std::uint32_t op, const OperatorPlan& plan);

// Whether the operator has these parts, on different devices of the cluster.
bool is_possible(SplitModel& model, std::uint32_t op, const OperatorPlan& plan, std::uint32_t devices);

}  // namespace xflow::parallel
