// The values of a growing graph for several labels of its used inputs. Private to the enumeration.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "src/egraph/numbers.h"
#include "src/generator/enumerate/graph_signature.h"
#include "src/generator/enumerate/structure.h"
#include "src/generator/enumerate/values.h"

namespace xflow::generator {

// The number of used inputs per group. A graph uses the first inputs of each group.
class Used {
 public:
  std::size_t operator[](std::size_t group) const { return packed_ >> (kBits * group) & kMost; }
  void set(std::size_t group, std::size_t count) {
    packed_ = (packed_ & ~(kMost << (kBits * group))) | static_cast<std::uint64_t>(count) << (kBits * group);
  }
  std::uint64_t packed() const { return packed_; }
  static constexpr std::size_t kGroups = 10;
  static constexpr std::uint64_t kMost = 63;

 private:
  static constexpr std::size_t kBits = 6;
  std::uint64_t packed_ = 0;
};

// An assignment is a label for each used input. Inputs of a group with one label have the same numbers. In
// the first assignments the inputs of a group are all alike, or alike except one.
template <typename Number>
class AssignmentSet {
 public:
  using Store = ValueStore<Number>;
  using Assignment = std::uint32_t;
  // Alike inputs are not used for numbers with quotients and roots, because x / (y - z) has no value for
  // them.
  static constexpr bool kHasAlike = !std::is_same_v<Number, Pair>;

  // An operation that needs `most_operators` operations, itself included, is no operand of another one.
  AssignmentSet(const GraphSignature& signature, Store& store, Used used, std::size_t most_operators, std::size_t max_values)
      : signature_(signature), store_(store), most_operators_(most_operators), ids_(max_values), hashes_(max_values) {
    std::vector<std::uint8_t> local;
    for (std::size_t g = 0; g < signature_.group_begins().size(); ++g) {
      for (std::size_t k = 0; k < used[g]; ++k) {
        inputs_.push_back(static_cast<std::uint8_t>(signature_.group_begins()[g] + k));
        local.push_back(static_cast<std::uint8_t>(k));
        fresh_.push_back(static_cast<std::uint8_t>(used[g]));
      }
    }
    if (kHasAlike) {
      std::vector<std::uint8_t> labels(inputs_.size(), 0);
      alike_.push_back(assignment(labels));
      for (std::uint8_t& label : labels) {
        label = 1;
        alike_.push_back(assignment(labels));
        label = 0;
      }
    }
    identity_ = assignment(local);
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      std::vector<std::uint8_t> labels = local;
      labels[k] = fresh_[k];
      without_.push_back(assignment(labels));
    }
  }

  // The leaves that are used inputs, ascending.
  std::span<const std::uint8_t> inputs() const { return inputs_; }
  std::size_t group(std::size_t input) const { return signature_.leaves()[inputs_[input]].group; }
  // Finds or creates the assignment with a label for each used input.
  Assignment assignment(std::span<const std::uint8_t> labels) {
    std::uint64_t key = 0;
    for (const std::uint8_t label : labels) key = mix(key ^ (label + 1U));
    const auto [found, added] = assignments_.try_emplace(key, static_cast<Assignment>(labels_.size()));
    if (added) {
      labels_.emplace_back(labels.begin(), labels.end());
      stamps_.resize(labels_.size() * most_operators_, 0);
      if (generation_ == store_.generation()) make_leaves(found->second);
    }
    return found->second;
  }
  std::span<const std::uint8_t> labels(Assignment assignment) const { return labels_[assignment]; }
  // The assignment with all inputs of a group alike; then, for each input, the one in which only that input
  // differs. Empty if kHasAlike is false.
  std::span<const Assignment> alike() const { return alike_; }
  // The assignment in which each input has its own numbers.
  Assignment identity() const { return identity_; }
  // For each input, the identity with other numbers for that input.
  std::span<const Assignment> without() const { return without_; }

  // Computes the missing values of the graph in some assignments. Returns false if an element has no value.
  bool compute(std::span<const Assignment> assignments, std::span<const GrownNode> nodes, std::span<const TypeId> types) {
    store_.trim();
    if (generation_ != store_.generation()) {
      generation_ = store_.generation();
      std::fill(stamps_.begin(), stamps_.end(), 0);
      for (Assignment l = 0; l < labels_.size(); ++l) make_leaves(l);
    }
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      missing_.clear();
      for (const Assignment l : assignments)
        if (stamps_[l * most_operators_ + k] != nodes[k].stamp) missing_.push_back(l);
      if (missing_.empty()) continue;
      if (!compute(nodes[k], types)) return false;
      for (const Assignment l : missing_) stamps_[l * most_operators_ + k] = nodes[k].stamp;
    }
    return true;
  }
  // The hash of a computed value.
  std::uint64_t hash(std::size_t value, Assignment assignment) const { return hashes_[value][assignment]; }

 private:
  using Id = typename Store::Id;

  void make_leaves(Assignment assignment) {
    for (std::size_t k = 0; k < inputs_.size(); ++k) set(inputs_[k], assignment, store_.input(inputs_[k], labels_[assignment][k]));
    for (std::size_t leaf = signature_.inputs(); leaf < signature_.leaves().size(); ++leaf) set(leaf, assignment, store_.constant(leaf));
  }

  void make_room(std::size_t value) {
    if (hashes_[value].size() >= labels_.size()) return;
    ids_[value].resize(labels_.size());
    hashes_[value].resize(labels_.size());
  }
  void set(std::size_t value, Assignment assignment, Id id) {
    make_room(value);
    ids_[value][assignment] = id;
    hashes_[value][assignment] = store_.hash(id);
  }

  // Computes an operation in the assignments that lack it.
  bool compute(const GrownNode& node, std::span<const TypeId> types) {
    const std::size_t a = node.operands[0];
    const std::size_t b = node.operands[1];
    const std::array<TypeId, 2> operand_types = {types[a], types[b]};
    const auto operands = std::span(operand_types).first(node.operand_count);
    const std::size_t count = missing_.size();
    for (std::size_t n = 0; n < node.operand_count; ++n) {
      operand_ids_[n].resize(count);
      const std::vector<Id>& from = ids_[node.operands[n]];
      for (std::size_t k = 0; k < count; ++k) operand_ids_[n][k] = from[missing_[k]];
    }
    const std::span<const Id> first = operand_ids_[0];
    const std::span<const Id> second = node.operand_count > 1 ? std::span<const Id>(operand_ids_[1]) : std::span<const Id>();
    for (std::size_t output = 0; output < node.outputs; ++output) make_room(node.first_value + output);
    if (static_cast<std::size_t>(__builtin_popcount(node.cone)) == most_operators_) {
      std::array<std::uint64_t*, 2> out{};
      for (std::size_t output = 0; output < node.outputs; ++output) {
        result_hashes_[output].resize(count);
        out[output] = result_hashes_[output].data();
      }
      if (!store_.hashes(node.choice, operands, first, second, std::span(out).first(node.outputs))) return false;
      for (std::size_t output = 0; output < node.outputs; ++output)
        for (std::size_t k = 0; k < count; ++k) hashes_[node.first_value + output][missing_[k]] = result_hashes_[output][k];
      return true;
    }
    std::array<Id*, 2> out{};
    for (std::size_t output = 0; output < node.outputs; ++output) {
      result_ids_[output].resize(count);
      out[output] = result_ids_[output].data();
    }
    if (!store_.apply(node.choice, operands, first, second, std::span(out).first(node.outputs))) return false;
    for (std::size_t output = 0; output < node.outputs; ++output) {
      for (std::size_t k = 0; k < count; ++k) {
        const Id id = result_ids_[output][k];
        ids_[node.first_value + output][missing_[k]] = id;
        hashes_[node.first_value + output][missing_[k]] = store_.hash(id);
      }
    }
    return true;
  }

  const GraphSignature& signature_;
  Store& store_;
  std::size_t most_operators_;
  std::uint64_t generation_ = 0;
  std::vector<std::uint8_t> inputs_;
  std::vector<std::uint8_t> fresh_;                            // by input: a label that no other input has
  std::vector<std::vector<std::uint8_t>> labels_;              // by assignment
  std::unordered_map<std::uint64_t, Assignment> assignments_;  // by hash of the labels
  std::vector<Assignment> alike_;
  Assignment identity_ = 0;
  std::vector<Assignment> without_;
  std::vector<std::vector<Id>> ids_;  // by value, then by assignment; only for values that are operands
  std::vector<std::vector<std::uint64_t>> hashes_;
  std::vector<std::uint64_t> stamps_;  // by assignment and node: the stamp of the computed node
  std::vector<Assignment> missing_;
  std::array<std::vector<Id>, 2> operand_ids_;
  std::array<std::vector<Id>, 2> result_ids_;
  std::array<std::vector<std::uint64_t>, 2> result_hashes_;
};

}  // namespace xflow::generator
