// Evaluation of some elements of a graph's values, for values that have too many to compute all of them. Which elements are computed
// depends on sizes alone.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/eval/tensor.h"
#include "src/ir/graph.h"

namespace xflow::eval {

// Which positions of one dimension a tensor holds, and which of them a read of any other position gets.
struct Positions {
  std::int64_t size = 0;             // of the dimension
  std::vector<std::int64_t> chosen;  // ascending; empty: all of them
  // At least 1: the dimension is cut into intervals of so many positions, each with one chosen position, which is read in the place of all
  // of its interval. 0: only chosen positions may be read.
  std::int64_t interval = 0;

  bool all() const { return chosen.empty(); }
  std::int64_t count() const { return all() ? size : static_cast<std::int64_t>(chosen.size()); }
};
using Sample = std::vector<Positions>;  // by dimension: the product of the chosen positions

std::uint64_t count_of(const Sample& sample);
std::uint64_t size_of(const Sample& sample);  // elements of the whole tensor
bool is_whole(const Sample& sample);
Sample whole(const std::vector<std::int64_t>& dims);
// At most `most` elements of a tensor, at least one: dimensions are halved, the longest first. One position of each interval is chosen, the
// first of the first, the last of the last, and between them in a fixed order that looks random.
Sample sample_of(const std::vector<std::int64_t>& dims, std::uint64_t most);
// Takes half of the longest dimension's positions, and no more than 2^20. False if no dimension has more than one.
bool halve(Sample& sample);

struct SampledTensor {
  Tensor tensor;  // the chosen elements; its dims are the numbers of chosen positions
  Sample sample;

  static SampledTensor of(Tensor tensor);  // all of its elements
  bool all() const;
  // The whole tensor's index of a chosen element.
  std::vector<std::int64_t> index_of(std::uint64_t element) const;
};
using SampledBindings = std::unordered_map<ir::ValueId, SampledTensor>;

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
