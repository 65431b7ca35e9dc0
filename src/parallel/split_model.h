// The operators of a model, and what a part of one of them reads and costs.
//
// An operator is a node of the document. It may consist of several operations of the graph; a part of it is
// found from the part of its result, backwards through its operations. Parts exist only where the
// verifier proves that each operation can be split so (src/partition).
#pragma once

#include <xflow/error.h>

#include <boost/container_hash/hash.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/cost/kernel_costs.h"
#include "src/ir/graph.h"
#include "src/parallel/box.h"
#include "src/parallel/part_copies.h"
#include "src/parallel/part_program.h"
#include "src/partition/split_axes.h"

namespace xflow::parallel {

constexpr std::uint32_t kNoOperator = UINT32_MAX;

// A tensor that operators read.
struct SplitValue {
  ir::ValueId id;
  std::uint32_t maker = kNoOperator;  // the operator; none of constants and inputs
  bool is_constant = false;
  bool is_floating = false;
  bool is_output = false;  // of the model
  bool is_sized = false;   // its sizes are known; otherwise it counts as empty and `whole` has no dimensions
  double element_bytes = 0;
  Box whole;
  // Of weights that several operators read: the operators. A device has a range of tied weights once, and
  // their gradients are added before they are sent.
  std::vector<std::uint32_t> tied;

  bool is_weight() const { return is_constant && is_floating && is_sized; }
};

// The elements that a part reads of a value: none if the box has no dimensions and the value has some.
inline double elements_read(const SplitValue& value, const Box& box) { return box.empty() && !value.whole.empty() ? 0 : elements(box); }

// A dimension of the result of an operator, or its reduction.
struct OperatorAxis {
  std::int64_t block = 1;   // a part has a multiple of so many elements
  std::int64_t blocks = 0;  // in the whole axis; 0: it cannot be split
  std::string obstacle;     // why it cannot
  bool is_joined = false;   // parts of it are ranges of operands that are one after the other
  // Dimensions of operands of which a part reads a part: position in `reads`, dimension.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> follows;
  friend bool operator==(const OperatorAxis&, const OperatorAxis&) = default;
};

struct SplitOperator {
  std::string type;                    // "Conv"
  std::vector<ir::NodeId> operations;  // of the graph, operands before users
  std::vector<std::uint32_t> outputs;  // values that others read
  std::vector<std::uint32_t> reads;    // values
  std::uint32_t kind = 0;              // operators of one kind have the same structure and sizes
  bool is_product = false;             // has a matrix product or a convolution
  bool keeps_operands = false;         // its gradients read them: an operation of it is not linear
};

// What all operators of a kind have in common.
struct OperatorKind {
  std::uint32_t first = 0;         // operator
  std::vector<OperatorAxis> axes;  // of outputs[0]; empty if it stays whole
  OperatorAxis reduction;          // blocks: its terms
  std::size_t reduced = 0;         // position of the operation that is reduced
  std::size_t reduced_axis = 0;    // of that operation
  partition::AxisKind reduction_kind = partition::AxisKind::sum;
};

// A part of an operator.
struct PartWork {
  std::vector<Box> reads;        // by SplitOperator::reads; without dimensions if nothing is read
  std::vector<Box> outputs;      // by SplitOperator::outputs
  std::vector<double> seconds;   // by source of costs; of terms of a reduction: up to the sum
  std::vector<double> after;     // by source of costs: of what follows the sum, such as a bias; 0 without terms
  std::uint32_t kernels = 0;     // that take time
  std::vector<double> backward;  // seconds: of the gradients of what it reads
};

// An operator as it is in the model.
struct OperatorSource {
  std::string type;                    // "Conv"
  std::string place;                   // for messages: "node 'conv1' (Conv)"
  std::vector<ir::NodeId> operations;  // of the graph that it consists of, operands before users
  bool is_kept = false;                // it stays as it is, and whole
};

// The parts of a model's operators. Not thread-safe: parts are computed when they are first asked for.
class SplitModel {
 public:
  // A graph at these sizes. `operators` have all operations of it that run, operands before users. `costs`
  // has the kernel costs of each device; several devices may share one. The arena and the costs must outlive
  // the model. `programs`: those of another model of this arena at these sizes, whose proofs hold here;
  // null: none. Errors: unsupported if a device has no time for an operator.
  static Result<std::unique_ptr<SplitModel>> of(ir::Arena& arena, const ir::Graph& graph, std::vector<OperatorSource> operators,
                                                const ir::Symbols::Valuation& sizes, std::span<cost::KernelCosts* const> costs,
                                                std::shared_ptr<PartPrograms> programs = nullptr);

  std::span<const SplitOperator> operators() const { return operators_; }  // operands before users
  std::span<const SplitValue> values() const { return values_; }
  // The constants that several operators read.
  std::span<const std::uint32_t> tied_values() const { return tied_values_; }
  const ir::Shape& shape(std::uint32_t value) const { return arena_.type(values_[value].id).shape; }
  const OperatorKind& kind(const SplitOperator& op) const { return kinds_[op.kind]; }
  std::size_t kinds() const { return kinds_.size(); }
  ir::Arena& arena() { return arena_; }
  const ir::Arena& arena() const { return arena_; }
  const ir::Symbols::Valuation& sizes() const { return sizes_; }
  std::uint32_t source_of(std::uint32_t device) const { return source_of_[device]; }
  // Operators of which a time is an estimate, with the reason.
  const std::vector<std::pair<std::uint32_t, std::string>>& estimated() const { return estimated_; }

  // The part of an operator that computes `output` of outputs[0], from the terms `terms` of its reduction.
  // Null if there is no such part.
  const PartWork* part(std::uint32_t op, const Box& output, const std::optional<Interval>& terms);
  // The same as operations; nullopt if there is no such part.
  std::optional<PartProgram> program(std::uint32_t op, const Box& output, const std::optional<Interval>& terms);
  // Seconds to update so many elements of weights with their gradients.
  double update_seconds(std::uint32_t source, double elements);
  // Those of CopyTimes.
  double copy_seconds(std::uint32_t source, double bytes) { return copies_.seconds(*sources_[source], bytes); }
  double sum_seconds(std::uint32_t source, double bytes, std::uint32_t ranks) {
    return copies_.seconds_of_sum(*sources_[source], bytes, ranks);
  }

  // Whether plans with unequal parts are possible; they are by default.
  void require_equal_parts() {
    has_only_equal_parts_ = true;
    possible_.clear();
  }
  bool has_only_equal_parts() const { return has_only_equal_parts_; }
  // From now on parts consist of operators that this version of ONNX's operator set has; by default of any.
  // Called before the first part is asked for.
  void require_opset(int opset) { opset_ = opset; }

  // What `find` said of plans with this key (split_plan.h) when it was first asked for.
  template <typename Find>
  bool remember(std::vector<std::uint32_t> key, const Find& find) {
    const auto known = possible_.find(key);
    if (known != possible_.end()) return known->second;
    const bool found = find();
    possible_.emplace(std::move(key), found);
    return found;
  }

  // The number of claims that the verifier has decided, and of those that it has proved: for all models with
  // the same programs.
  std::size_t claims() const { return programs_->claims(); }
  std::size_t proved() const { return programs_->proved(); }

 private:
  class Builder;
  SplitModel(ir::Arena& arena, ir::Symbols::Valuation sizes, std::shared_ptr<PartPrograms> programs);

  std::optional<PartWork> make_part(const SplitOperator& op, const Box& output, const std::optional<Interval>& terms);
  // Whether the version of the operator set has what makes the result of a reduction from its parts.
  bool can_combine(const SplitOperator& op) const;
  // Adds the times of a step; false if a device has none.
  bool add_times(const SplitOperator& op, const PartStep& step, PartWork& work);
  bool divide_times(const SplitOperator& op, const PartProgram& program, PartWork& work);
  bool add_time(std::uint32_t op, const ops::KernelSpec& spec, bool is_product, PartWork& work);
  void note_estimate(std::uint32_t op, const std::string& reason);
  double seconds_of(cost::KernelCosts& costs, const ops::KernelSpec& spec, std::uint32_t op);

  ir::Arena& arena_;
  const ir::Symbols::Valuation sizes_;
  std::vector<SplitOperator> operators_;
  std::vector<SplitValue> values_;
  std::vector<std::uint32_t> tied_values_;
  std::vector<OperatorKind> kinds_;
  std::vector<cost::KernelCosts*> sources_;
  std::vector<std::uint32_t> source_of_;  // by device
  std::vector<std::pair<std::uint32_t, std::string>> estimated_;
  bool has_only_equal_parts_ = false;
  std::optional<int> opset_;
  std::shared_ptr<PartPrograms> programs_;
  std::unordered_map<ir::ValueId, std::uint32_t> numbers_;  // of values
  std::map<std::vector<std::int64_t>, std::optional<PartWork>> parts_;
  std::map<std::pair<std::uint32_t, std::int64_t>, double> updates_;
  CopyTimes copies_;
  std::unordered_map<std::vector<std::uint32_t>, bool, boost::hash<std::vector<std::uint32_t>>> possible_;  // by key of a plan
};

}  // namespace xflow::parallel
