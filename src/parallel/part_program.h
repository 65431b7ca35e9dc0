// A part of an operator as operations on parts of its operands.
#pragma once

#include <xflow/error.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/ir/graph.h"
#include "src/parallel/box.h"
#include "src/partition/part.h"
#include "src/partition/split_axes.h"
#include "src/partition/split_proof.h"
#include "src/rules/instance.h"

namespace xflow::parallel {

// A part of one operation.
struct PartStep {
  ir::NodeId node{};
  std::optional<partition::PartOperation> part;  // nothing: the whole operation
  std::vector<Box> operands;                     // what it reads; without dimensions for what has no known size

  // Whether it has an operand of the operation.
  bool reads(std::size_t operand) const {
    return !part || std::ranges::find(part->unread, static_cast<int>(operand)) == part->unread.end();
  }
};

// Operands before users.
struct PartProgram {
  std::vector<PartStep> steps;
  std::unordered_map<ir::ValueId, Box> boxes;  // what of each value is read or computed
};

// A program that computes terms of the sum of one of its operations, in two: what follows a sum is not the
// sum of what follows its terms, such as a bias.
struct SummedProgram {
  PartProgram terms;  // up to the operation
  PartProgram after;  // what follows; it reads the sum
  ir::ValueId sum;    // the result of the operation
};
SummedProgram divided_at_sum(const ir::Arena& arena, const PartProgram& program, ir::NodeId reduced);

// The terms of a reduction that a part computes.
struct PartTerms {
  std::size_t position = 0;  // of the reduced operation
  std::size_t axis = 0;      // of it
  Interval terms;
};

// The splits of single operations that are proved, and the programs of parts. What is decided for an
// operation holds for each one with the same attributes and types of operands.
class PartPrograms {
 public:
  PartPrograms(ir::Arena& arena, ir::Symbols::Valuation sizes) : arena_(arena), sizes_(std::move(sizes)) {}

  // The axes of the operation that makes a value.
  const std::vector<partition::SplitAxis>& axes(ir::ValueId value);
  // Why an axis of it is no split; empty if the verifier proves the splits along it.
  std::string obstacle(ir::ValueId value, std::size_t axis);
  std::optional<std::int64_t> number(const ir::Poly& poly) const { return arena_.symbols().evaluate(poly, sizes_); }
  // All of a value; nullopt if its sizes are not known.
  std::optional<Box> whole(ir::ValueId value) const;

  // The program that computes these boxes of results of the operations, which are in topological order.
  // nullopt if there is none.
  std::optional<PartProgram> program(std::span<const ir::NodeId> operations, std::span<const std::pair<ir::ValueId, Box>> results,
                                     const std::optional<PartTerms>& terms);

  std::size_t claims() const { return claims_; }  // that the verifier decided
  std::size_t proved() const { return proved_; }

 private:
  // The result of an operation of this kind whose operands are variables.
  ir::ValueId with_variables(ir::ValueId value);
  bool decide(ir::ValueId value, std::size_t axis);
  bool find_operands(const std::vector<partition::JoinedOperand>& joined, const Interval& part, partition::AxisPart& into) const;
  // Whether a part of several axes, or of joined operands, is proved as one.
  bool holds_together(ir::ValueId value, std::span<const partition::AxisPart> parts);
  bool claim(Result<rules::RuleInstance> instance);
  std::optional<std::vector<partition::AxisPart>> parts_of(ir::ValueId value, const Box& box, const std::optional<PartTerms>& terms);
  // The step that computes the boxes of the operation's results. Nothing if there is none.
  std::optional<PartStep> step(ir::NodeId node, const PartProgram& program, const std::optional<PartTerms>& terms);

  ir::Arena& arena_;
  const ir::Symbols::Valuation sizes_;
  std::unordered_map<ir::NodeId, ir::NodeId> with_variables_;
  std::map<std::pair<ir::NodeId, std::uint32_t>, std::vector<partition::SplitAxis>> axes_;
  std::map<std::tuple<ir::NodeId, std::uint32_t, std::size_t>, bool> decided_;
  // By value: axes with their positions, and the reduction if there is one.
  using Together = std::pair<std::vector<partition::PlacedAxis>, std::optional<std::size_t>>;
  std::map<std::pair<ir::ValueId, Together>, bool> together_;
  std::size_t claims_ = 0;
  std::size_t proved_ = 0;
};

// The attributes as numbers. Errors: unsupported, if one is not known.
Result<ir::Attributes> known_attributes(const ir::Symbols& symbols, const ir::Attributes& attributes, const ir::Symbols::Valuation& sizes);
// The operation of a step with numbers instead of sizes. Errors: as above.
Result<partition::PartOperation> known_part(const ir::Arena& arena, const PartStep& step, const ir::Symbols::Valuation& sizes);

}  // namespace xflow::parallel
