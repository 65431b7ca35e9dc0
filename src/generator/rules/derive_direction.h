// The deriver's representation of rules and matches. Private to the deriver.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/generator/rules/derive.h"
#include "src/rules/match.h"

namespace xflow::generator {

// The number of operations of a rule's term, written as a tree. Variable k contributes `of_variable[k]`
// operations.
struct Deriver::TreeSize {
  int operations = 0;
  std::vector<int> reads;  // number of reads, by variable

  int with(const std::vector<int>& of_variable) const {
    int size = operations;
    for (std::size_t k = 0; k < reads.size(); ++k) size += reads[k] * of_variable[k];
    return size;
  }
  TreeSize& operator+=(const TreeSize& other) {
    operations += other.operations;
    for (std::size_t k = 0; k < reads.size(); ++k) reads[k] += other.reads[k];
    return *this;
  }
};

// One direction of a rule: its pattern, the order in which its operations are matched, and a cache of its
// targets.
struct Deriver::Direction {
  // Matches output `output` of an operation among the terms equal to the value of `slot`; without a slot,
  // among all terms.
  struct Item {
    int node = 0;
    std::uint32_t output = 0;
    std::optional<std::size_t> slot;
    std::uint64_t operator_bit = 0;
  };
  std::size_t rule = 0;
  std::shared_ptr<const rules::Pattern> pattern;
  std::vector<Item> items;
  std::uint64_t operators = 0;       // bits of all operators
  std::vector<std::size_t> outputs;  // slots in the order of the rule's outputs
  std::vector<TreeSize> made;        // by output: size of the target's term
  // By a hash of the matched operations and the types of variables.
  mutable std::unordered_map<std::uint64_t, std::unique_ptr<FlatGraph>> targets;
};

// A match of a direction in the e-graph.
struct Deriver::Match {
  static constexpr std::size_t kSlots = 20;
  static constexpr std::size_t kNodes = 8;
  static constexpr TermId kNone = 0xFFFFFFFF;

  std::uint32_t direction = 0;
  std::uint32_t swapped = 0;  // one bit per pattern node
  std::array<TermId, kSlots> slots;
  std::array<TermId, kNodes> nodes;  // by pattern node: a term of the operation

  bool is_swapped(std::size_t node) const { return (swapped >> node & 1) != 0; }
};

// The operator's bit of a 64-bit filter: a set of operators can contain an operator only if its bit is set.
inline std::uint64_t bit_of(ir::OperatorId op) { return std::uint64_t{1} << (static_cast<unsigned>(op) % 64); }

}  // namespace xflow::generator
