// The operators of a model, and what a part of one of them reads and costs.
//
// An operator is a node of the document. It may consist of several operations of the graph; a part of it is
// found from the part of its result, backwards through its operations. Parts exist only where the
// verifier proves that each operation can be split so (src/partition).
#pragma once

#include <xflow/error.h>

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
#include "src/parallel/part_program.h"

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

// A dimension of the result of an operator, or its reduction.
struct OperatorAxis {
  std::int64_t block = 1;   // a part has a multiple of so many elements
  std::int64_t blocks = 0;  // in the whole axis; 0: it cannot be split
  std::string obstacle;     // why it cannot
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
};

// What all operators of a kind have in common.
struct OperatorKind {
  std::uint32_t first = 0;         // operator
  std::vector<OperatorAxis> axes;  // of outputs[0]; empty if it stays whole
  OperatorAxis reduction;          // blocks: terms of the sum
  std::size_t reduced = 0;         // position of the operation that is a sum
};

// A part of an operator.
struct PartWork {
  std::vector<Box> reads;        // by SplitOperator::reads; without dimensions if nothing is read
  std::vector<Box> outputs;      // by SplitOperator::outputs
  std::vector<double> seconds;   // by source of costs
  std::uint32_t kernels = 0;     // that take time
  std::vector<double> backward;  // seconds: of the gradients of what it reads
};

// An operator as it is in the model.
struct OperatorSource {
  std::string type;                    // "Conv"
  std::string place;                   // for messages: "node 'conv1' (Conv)"
  std::vector<ir::NodeId> operations;  // of the graph that it consists of, operands before users
};

// The parts of a model's operators. Not thread-safe: parts are computed when they are first asked for.
class SplitModel {
 public:
  // A graph at these sizes. `operators` have all operations of it that run, operands before users. `costs`
  // has the kernel costs of each device; several devices may share one. The arena and the costs must outlive
  // the model. Errors: unsupported if a device has no time for an operator.
  static Result<std::unique_ptr<SplitModel>> of(ir::Arena& arena, const ir::Graph& graph, std::vector<OperatorSource> operators,
                                                const ir::Symbols::Valuation& sizes, std::span<cost::KernelCosts* const> costs);

  std::span<const SplitOperator> operators() const { return operators_; }  // operands before users
  std::span<const SplitValue> values() const { return values_; }
  // The constants that several operators read.
  std::span<const std::uint32_t> tied_values() const { return tied_values_; }
  const ir::Shape& shape(std::uint32_t value) const { return arena_.type(values_[value].id).shape; }
  const OperatorKind& kind(const SplitOperator& op) const { return kinds_[op.kind]; }
  std::size_t kinds() const { return kinds_.size(); }
  ir::Arena& arena() { return arena_; }
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

  // Whether plans with unequal parts are possible; they are by default.
  void require_equal_parts() { has_only_equal_parts_ = true; }
  bool has_only_equal_parts() const { return has_only_equal_parts_; }

  // The number of claims that the verifier has decided, and of those that it has proved.
  std::size_t claims() const { return programs_.claims(); }
  std::size_t proved() const { return programs_.proved(); }

 private:
  class Builder;
  SplitModel(ir::Arena& arena, ir::Symbols::Valuation sizes);

  std::optional<PartWork> make_part(const SplitOperator& op, const Box& output, const std::optional<Interval>& terms);
  // Adds the times of a step; false if a device has none.
  bool add_times(const SplitOperator& op, const PartStep& step, PartWork& work);
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
  PartPrograms programs_;
  std::unordered_map<ir::ValueId, std::uint32_t> numbers_;  // of values
  std::map<std::vector<std::int64_t>, std::optional<PartWork>> parts_;
  std::map<std::pair<std::uint32_t, std::int64_t>, double> updates_;
};

}  // namespace xflow::parallel
