// The data that is in memory before a plan runs.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <map>
#include <optional>

#include "src/eval/tensor.h"
#include "src/ir/graph.h"
#include "src/runtime/plan.h"

namespace xflow::cost {

// Computes constants and the initial contents of the buffers of plans.
class PlanData {
 public:
  // For plans of graphs in `arena` at `sizes`. Both must outlive this object.
  PlanData(ir::Arena& arena, const ir::Symbols::Valuation& sizes) : arena_(arena), sizes_(sizes) {}

  // The value of an expression of constants, cached. Errors: those of constants that cannot be read.
  Result<ir::Constant> constant(ir::ValueId value);

  // The initial contents of buffer number `number`. A buffer of kind sized gets the value that the sizes
  // determine. A buffer of kind seeded gets arbitrary values: floating ones in [-1, 1), both booleans, and 0
  // for integers, because they may be indices. nullopt for other kinds.
  Result<std::optional<ir::Constant>> written(const Buffer& buffer, std::size_t number) const;

 private:
  Result<ir::Constant> of_sizes(const Buffer& buffer) const;

  ir::Arena& arena_;
  const ir::Symbols::Valuation& sizes_;
  std::map<ir::ValueId, ir::Constant> constants_;
};

// The elements of a tensor in the type of an input's buffer. Errors: invalid_argument, "an input is
// float32[4,8], float32[4] was given".
Result<ir::Constant> input_for(const Buffer& buffer, const eval::Tensor& tensor);

}  // namespace xflow::cost
