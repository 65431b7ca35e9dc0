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
  // From the device of a part to that of the next one. 0: micro-batches, which a device computes one by one.
  // They divide what the other splits of the dimension have made, and come after these.
  std::uint32_t stride = 1;
  friend auto operator<=>(const Split&, const Split&) = default;
};

// The parts of an operator are numbered in row-major order, the first split outermost. Several splits of
// one dimension are one split into the product of their degrees. The number of a part's device is `base`
// plus the sum of its position in each split times the stride.
struct OperatorPlan {
  std::uint32_t base = 0;
  std::vector<Split> splits;

  std::uint32_t parts() const;
  // The number of micro-batches: the product of the degrees of splits without a stride.
  std::uint32_t batches() const;
  std::uint32_t device(std::uint32_t part) const;
  // The product of the degrees of the splits of a target.
  std::uint32_t degree(SplitTarget target, std::uint32_t dimension = 0) const;
  // The position of a part among the parts of a target.
  std::uint32_t position(std::uint32_t part, SplitTarget target, std::uint32_t dimension = 0) const;
  // The number of a part's micro-batch, from 1; 0 if there is one batch.
  std::uint32_t batch(std::uint32_t part) const;
  // The same without micro-batches: all of them are one part.
  OperatorPlan by_device() const;
  friend auto operator<=>(const OperatorPlan&, const OperatorPlan&) = default;
};

// A plan of an operator of a kind as numbers: the key under which what follows from it is remembered.
std::vector<std::uint32_t> plan_key(std::uint32_t kind, const OperatorPlan& plan);

// By operator of a SplitModel.
using SplitPlan = std::vector<OperatorPlan>;

// Each operator by_device.
SplitPlan by_device(const SplitPlan& plan);

// "axis 0 / 4, sum / 2, 2 copies, axis 0 in 8 batches, devices 0 to 15": for people.
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

// The first axis that the plan divides along which operands are joined: a part has other ranges of each
// operand than equal shards of it.
std::optional<std::uint32_t> joined_axis(const OperatorKind& kind, const OperatorPlan& plan);

// Whether all parts are equal: of the result, of operands without their halos, and of terms.
bool has_equal_parts(const SplitModel& model, std::uint32_t op, const OperatorPlan& plan);

// Whether the operator has these parts, on different devices of the cluster but for micro-batches, which are
// on one. The model remembers what was found.
bool is_possible(SplitModel& model, std::uint32_t op, const OperatorPlan& plan, std::uint32_t devices);

}  // namespace xflow::parallel
