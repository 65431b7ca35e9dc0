// How a deriver keeps rules and their matches. Private to it.
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

// How many operations a term of a rule has, written as a tree, where its variables have `of_variable[k]` each.
struct Deriver::TreeSize {
  int operations = 0;
  std::vector<int> reads;  // by variable, how often

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

// One way to use a rule: its pattern, the order in which its operations are looked for, and what it made before.
struct Deriver::Direction {
  // An operation is looked for among the terms equal to what stands in `slot`, as their output `output`; without a slot anywhere.
  struct Item {
    int node = 0;
    std::uint32_t output = 0;
    std::optional<std::size_t> slot;
    std::uint64_t operator_bit = 0;
  };
  std::size_t rule = 0;
  std::shared_ptr<const rules::Pattern> pattern;
  std::vector<Item> items;
  std::uint64_t operators = 0;       // bits of all
  std::vector<std::size_t> outputs;  // slots, in the order of the rule's outputs
  std::vector<TreeSize> made;        // by output: of what the target makes
  // By what was matched: operations, types of variables.
  mutable std::unordered_map<std::uint64_t, std::unique_ptr<FlatGraph>> targets;
};

// What stands where in the e-graph.
struct Deriver::Match {
  static constexpr std::size_t kSlots = 20;
  static constexpr std::size_t kNodes = 8;
  static constexpr TermId kNone = 0xFFFFFFFF;

  std::uint32_t direction = 0;
  std::uint32_t swapped = 0;  // by pattern node, one bit
  std::array<TermId, kSlots> slots;
  std::array<TermId, kNodes> nodes;  // by pattern node: one of its terms

  bool is_swapped(std::size_t node) const { return (swapped >> node & 1) != 0; }
};

// One of 64 bits: whether a set of operators may hold an operator is asked of its bits.
inline std::uint64_t bit_of(ir::OperatorId op) { return std::uint64_t{1} << (static_cast<unsigned>(op) % 64); }

}  // namespace xflow::generator
