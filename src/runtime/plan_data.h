// What is in memory before a plan is run.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <map>
#include <optional>

#include "src/eval/tensor.h"
#include "src/ir/graph.h"
#include "src/runtime/plan.h"

namespace xflow::cost {

class PlanData {
 public:
  // Of plans of graphs in `arena` at `sizes`, which both must outlive this.
  PlanData(ir::Arena& arena, const ir::Symbols::Valuation& sizes) : arena_(arena), sizes_(sizes) {}

  // What an expression of constants is; computed once. Errors: those of constants that cannot be read.
  Result<ir::Constant> constant(ir::ValueId value);

  // What buffer number `number` is written with once: of kind sized what the sizes decide, of kind seeded any values: floating ones in
  // [-1, 1), booleans of both kinds, integers of 0, because they may be indices. Nothing for other kinds.
  Result<std::optional<ir::Constant>> written(const Buffer& buffer, std::size_t number) const;

 private:
  Result<ir::Constant> of_sizes(const Buffer& buffer) const;

  ir::Arena& arena_;
  const ir::Symbols::Valuation& sizes_;
  std::map<ir::ValueId, ir::Constant> constants_;
};

// The elements of a tensor as the buffer of an input has them. Errors: invalid_argument, "an input is float32[4,8], float32[4] was given".
Result<ir::Constant> input_for(const Buffer& buffer, const eval::Tensor& tensor);

}  // namespace xflow::cost
