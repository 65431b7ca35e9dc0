// Evaluation of chosen elements of a graph's values, for values that are too large to compute as a whole.
// The choice of elements depends on sizes only.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/eval/sample.h"
#include "src/ir/graph.h"

namespace xflow::eval {

// Evaluates values of a graph one at a time. `options` as for evaluate; its `symbols` must give all sizes.
class SampledEvaluation {
 public:
  // Returns a known value; null for an unknown one.
  using Lookup = std::function<const SampledTensor*(ir::ValueId)>;

  SampledEvaluation(ir::Arena& arena, const Options& options) : arena_(arena), options_(options) {}

  Result<std::vector<std::int64_t>> dims_of(ir::ValueId value) const;
  // The number of evaluations of expression nodes for these elements of a value, including all terms of
  // sums. Errors: those of evaluate.
  Result<std::uint64_t> work(ir::ValueId value, const Sample& sample);
  // The elements of a value, taken from `given` or computed from its operands, which must be given or
  // constants. Errors: those of evaluate.
  Result<SampledTensor> compute(ir::ValueId value, const Sample& sample, const Lookup& given);

  // The elements of intermediate values that are needed to compute elements of a value from given ones.
  struct SamplePlan {
    struct Step {
      ir::ValueId value;
      Sample sample;
    };
    std::vector<Step> steps;     // operands before users
    std::uint64_t work = 0;      // of all steps
    std::uint64_t elements = 0;  // of all steps
  };
  Result<SamplePlan> plan(ir::ValueId value, const Sample& sample, const Lookup& given);
  // The elements of the plan's last step. Each equals the element that a computation of all intermediate
  // values as a whole gives.
  Result<SampledTensor> run(const SamplePlan& plan, const Lookup& given);

 private:
  Result<SampledTensor> evaluate_part(const ops::Expr& meaning, std::vector<ir::Poly> index, ir::DataType type, const Sample& sample,
                                      std::span<const SampledTensor* const> given);
  Result<SampledTensor> part_of(const SampledTensor& tensor, const Sample& sample);

  ir::Arena& arena_;
  const Options& options_;
};

}  // namespace xflow::eval
