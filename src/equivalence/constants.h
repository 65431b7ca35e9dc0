// Constants of two models: which are the same, and which differ by rounding alone.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/ir/graph.h"

namespace xflow::equivalence {

// Constants that were rounded otherwise.
struct Rounding {
  double difference = 0;  // the largest difference of two elements
  double allowed = 0;     // the largest one that rounding explains
  double magnitude = 0;   // of the largest element
};

// One value for all constants of equal type, shape and bytes. Larger constants than ir::Constant::kSmall are
// not interned by the arena.
class Constants {
 public:
  // Both arguments must outlive this object.
  Constants(ir::Arena& arena, const eval::Options& options) : arena_(arena), options_(options) {}

  // The value of a constant or of a constant expression, computed in double and rounded once. Errors: those
  // of eval::fold, and of reading bytes.
  Result<ir::ValueId> folded(ir::ValueId value);

  // How far rounding explains that `a` and `b`, results of folded(), differ; nothing if it does not. A
  // constant expression is computed in double, and once more in float: another program that computes it in
  // float may be off by four times as much, by the root of the number of terms of its longest sum, in
  // roundings, and by one rounding. Constants that both are stored, or are no floating-point numbers, must
  // be equal.
  Result<std::optional<Rounding>> rounding(ir::ValueId a, ir::ValueId b);

  // Results of folded() from which a result of it was computed by the movement of elements alone, such as
  // the parts of a concatenation. Errors: those of folded().
  Result<std::vector<ir::ValueId>> parts(ir::ValueId value);

  // The expression of which a value is the result of folded(); nothing for a stored constant.
  std::optional<ir::ValueId> expression(ir::ValueId value) const;

  // The elements of a result of folded().
  Result<std::span<const double>> elements(ir::ValueId value);

 private:
  Result<ir::ValueId> canonical(const ir::Constant& constant);
  // The largest error of computing the constant in float; nothing if it is stored.
  Result<std::optional<double>> own_error(ir::ValueId value);

  ir::Arena& arena_;
  const eval::Options& options_;
  std::unordered_map<ir::ValueId, ir::ValueId> folded_;
  std::unordered_multimap<std::uint64_t, ir::ValueId> by_content_;
  std::unordered_map<ir::ValueId, ir::ValueId> expressions_;  // result of folded() -> the first expression of it
  std::unordered_map<ir::ValueId, std::vector<double>> elements_;
  std::unordered_map<ir::ValueId, double> own_errors_;
};

}  // namespace xflow::equivalence
