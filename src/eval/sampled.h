// Evaluation of some elements of a graph's values, for values that have too many to compute all of them. Which elements are computed
// depends on sizes alone.
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

// Values of a graph one after the other. `options` as for evaluate; its `symbols` give all sizes.
class SampledEvaluation {
 public:
  // A value that is known; null for one that is not.
  using Lookup = std::function<const SampledTensor*(ir::ValueId)>;

  SampledEvaluation(ir::Arena& arena, const Options& options) : arena_(arena), options_(options) {}

  Result<std::vector<std::int64_t>> dims_of(ir::ValueId value) const;
  // How many evaluations of an element these elements of a value take, with all terms of its sums. Errors: those of evaluate.
  Result<std::uint64_t> work(ir::ValueId value, const Sample& sample);
  // The elements of a value: from a tensor that is given, or from its operands, which are given or constants. Errors: those of evaluate.
  Result<SampledTensor> compute(ir::ValueId value, const Sample& sample, const Lookup& given);

  // What these elements of a value need of everything between it and what is given.
  struct Plan {
    struct Step {
      ir::ValueId value;
      Sample sample;
    };
    std::vector<Step> steps;     // operands before users
    std::uint64_t work = 0;      // of all steps
    std::uint64_t elements = 0;  // likewise
  };
  Result<Plan> plan(ir::ValueId value, const Sample& sample, const Lookup& given);
  // The elements of the plan's last step, each as it would be if all values between were computed as a whole.
  Result<SampledTensor> run(const Plan& plan, const Lookup& given);

 private:
  Result<SampledTensor> evaluate_part(const ops::Expr& meaning, std::vector<ir::Poly> index, ir::DataType type, const Sample& sample,
                                      std::span<const SampledTensor* const> given);
  Result<SampledTensor> part_of(const SampledTensor& tensor, const Sample& sample);

  ir::Arena& arena_;
  const Options& options_;
};

}  // namespace xflow::eval
