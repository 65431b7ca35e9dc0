// Walks through a second model, operands before users, and replaces what it computes by equal values of the
// first one.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/equivalence/constants.h"
#include "src/equivalence/part.h"
#include "src/equivalence/rebuild.h"
#include "src/equivalence/values.h"

namespace xflow::equivalence {

// An opaque node with its operands.
struct OpaqueUse {
  std::uint32_t serial = 0;
  std::span<const ir::ValueId> operands;
};

// Tells whether two opaque nodes have equal results. Equal operands are the same value.
class SameFunction {
 public:
  SameFunction() = default;
  virtual ~SameFunction() = default;
  SameFunction(const SameFunction&) = delete;
  SameFunction& operator=(const SameFunction&) = delete;
  virtual bool operator()(const OpaqueUse& of_a, const OpaqueUse& of_b) const = 0;
};

struct SweepOptions {
  double part_seconds = 5;
  verifier::Deadline deadline = {};  // of the whole sweep
  // Called once, before the first proof; false: no proof is tried, because the models differ.
  std::function<bool()> may_be_equal = {};
  // Called with the number of operations of the second model that were visited. Null: never.
  std::function<void(std::size_t)> progress = {};
};

// A value of the second model that the first one computes otherwise.
struct SweptPart {
  ir::ValueId a;
  ir::ValueId b;  // of the graph that is rebuilt
  PartDecision decision;
  double seconds = 0;
};

struct SweptConstant {
  ir::ValueId a;
  ir::ValueId b;  // of the graph that is rebuilt
  Rounding rounding;
};

class Sweep final : public Rebuild {
 public:
  // `first`: the graph of the first model. The arguments must outlive this object.
  Sweep(ir::Arena& arena, const ir::Graph& first, Constants& constants, Values& values, const SameFunction& same_function,
        SweepOptions options);

  // In the order of the second model.
  const std::vector<SweptPart>& parts() const { return parts_; }
  const std::vector<SweptConstant>& constants() const { return rounded_; }
  // Serial numbers of the opaque nodes of the first model that were taken for nodes of the second one.
  const std::vector<std::uint32_t>& assumed() const { return assumed_; }

 protected:
  Result<ir::ValueId> constant(ir::ValueId value) override;
  Result<ir::NodeId> opaque(ir::NodeId node, std::vector<ir::ValueId> operands) override;
  Result<void> rebuilt(ir::NodeId node, ir::NodeId now) override;

 private:
  bool is_known(ir::ValueId value) const { return known_.contains(value.node); }
  Result<ir::ValueId> with_shape_of(ir::ValueId other, ir::ValueId constant);
  bool swapped(ir::NodeId node, ir::NodeId now);
  std::vector<ir::ValueId> candidates_for(ir::ValueId value, const eval::Tensor& tensor, const ValueIndex& known);
  Result<ir::ValueId> range_of(ir::ValueId whole, const Range& range, const ir::Shape& shape);
  void prove(ir::ValueId from, ir::ValueId value);
  const ValueIndex& index();

  Constants& constants_;
  Values& values_;
  const SameFunction& same_function_;
  SweepOptions options_;
  std::vector<ir::NodeId> order_;  // of the first model
  // Operations, inputs and opaque nodes of the first model, and operations on them that are values of the
  // second one.
  std::unordered_set<ir::NodeId> known_;
  std::vector<ir::ValueId> constants_of_a_;  // in the order of the first model
  PartProver prover_;
  std::optional<bool> may_be_equal_;  // once it was asked for
  std::size_t visited_ = 0;           // operations of the second model
  bool indexed_ = false;
  ValueIndex index_;
  std::vector<SweptPart> parts_;
  std::vector<SweptConstant> rounded_;
  std::vector<std::uint32_t> assumed_;
};

}  // namespace xflow::equivalence
