// The values of a growing graph under several labels of the inputs that it uses. Private to enumeration.
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
#include "src/generator/enumerate/structure.h"
#include "src/generator/enumerate/universe.h"
#include "src/generator/enumerate/values.h"

namespace xflow::generator {

// How many inputs of each group a graph uses; they are the first of the group.
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

// A lane is a label for each used input: inputs of a group with one label have the same numbers. The first lanes are those in which the
// inputs of a group are alike, and alike but for one.
template <typename Number>
class LaneSet {
 public:
  using Store = ValueStore<Number>;
  using Lane = std::uint32_t;
  // What takes quotients and roots has no value for inputs that are alike: x / (y - z).
  static constexpr bool kHasAlike = !std::is_same_v<Number, Pair>;

  // Operations that need `most_operators` of them are no operands of others.
  LaneSet(const Universe& universe, Store& store, Used used, std::size_t most_operators, std::size_t max_values)
      : universe_(universe), store_(store), most_operators_(most_operators), ids_(max_values), hashes_(max_values) {
    std::vector<std::uint8_t> local;
    for (std::size_t g = 0; g < universe_.group_begins().size(); ++g) {
      for (std::size_t k = 0; k < used[g]; ++k) {
        inputs_.push_back(static_cast<std::uint8_t>(universe_.group_begins()[g] + k));
        local.push_back(static_cast<std::uint8_t>(k));
        fresh_.push_back(static_cast<std::uint8_t>(used[g]));
      }
    }
    if (kHasAlike) {
      std::vector<std::uint8_t> labels(inputs_.size(), 0);
      alike_.push_back(lane(labels));
      for (std::uint8_t& label : labels) {
        label = 1;
        alike_.push_back(lane(labels));
        label = 0;
      }
    }
    identity_ = lane(local);
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      std::vector<std::uint8_t> labels = local;
      labels[k] = fresh_[k];
      without_.push_back(lane(labels));
    }
  }

  // The leaves that are used inputs, ascending.
  std::span<const std::uint8_t> inputs() const { return inputs_; }
  std::size_t group(std::size_t input) const { return universe_.leaves()[inputs_[input]].group; }
  // The lane with a label for each used input.
  Lane lane(std::span<const std::uint8_t> labels) {
    std::uint64_t key = 0;
    for (const std::uint8_t label : labels) key = mix(key ^ (label + 1U));
    const auto [found, added] = lanes_.try_emplace(key, static_cast<Lane>(labels_.size()));
    if (added) {
      labels_.emplace_back(labels.begin(), labels.end());
      stamps_.resize(labels_.size() * most_operators_, 0);
      if (generation_ == store_.generation()) make_leaves(found->second);
    }
    return found->second;
  }
  std::span<const std::uint8_t> labels(Lane lane) const { return labels_[lane]; }
  // All inputs of a group alike; then, for each input, that one other than the rest. Empty where kHasAlike says so.
  std::span<const Lane> alike() const { return alike_; }
  // Each input with numbers of its own, as it stands.
  Lane identity() const { return identity_; }
  // For each input, the identity with others in its place.
  std::span<const Lane> without() const { return without_; }

  // Computes what is not yet computed of the graph in some lanes. False where an element has no value.
  bool compute(std::span<const Lane> lanes, std::span<const GrownNode> nodes, std::span<const TypeId> types) {
    store_.trim();
    if (generation_ != store_.generation()) {
      generation_ = store_.generation();
      std::fill(stamps_.begin(), stamps_.end(), 0);
      for (Lane l = 0; l < labels_.size(); ++l) make_leaves(l);
    }
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      missing_.clear();
      for (const Lane l : lanes)
        if (stamps_[l * most_operators_ + k] != nodes[k].stamp) missing_.push_back(l);
      if (missing_.empty()) continue;
      if (!compute(nodes[k], types)) return false;
      for (const Lane l : missing_) stamps_[l * most_operators_ + k] = nodes[k].stamp;
    }
    return true;
  }
  // Of what is computed.
  std::uint64_t hash(std::size_t value, Lane lane) const { return hashes_[value][lane]; }

 private:
  using Id = typename Store::Id;

  void make_leaves(Lane lane) {
    for (std::size_t k = 0; k < inputs_.size(); ++k) set(inputs_[k], lane, store_.input(inputs_[k], labels_[lane][k]));
    for (std::size_t leaf = universe_.inputs(); leaf < universe_.leaves().size(); ++leaf) set(leaf, lane, store_.constant(leaf));
  }

  void make_room(std::size_t value) {
    if (hashes_[value].size() >= labels_.size()) return;
    ids_[value].resize(labels_.size());
    hashes_[value].resize(labels_.size());
  }
  void set(std::size_t value, Lane lane, Id id) {
    make_room(value);
    ids_[value][lane] = id;
    hashes_[value][lane] = store_.hash(id);
  }

  // An operation in the lanes that miss it.
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

  const Universe& universe_;
  Store& store_;
  std::size_t most_operators_;
  std::uint64_t generation_ = 0;
  std::vector<std::uint8_t> inputs_;
  std::vector<std::uint8_t> fresh_;                // a label that no other input has
  std::vector<std::vector<std::uint8_t>> labels_;  // by lane
  std::unordered_map<std::uint64_t, Lane> lanes_;  // by a hash of their labels
  std::vector<Lane> alike_;
  Lane identity_ = 0;
  std::vector<Lane> without_;
  std::vector<std::vector<Id>> ids_;  // by value, then by lane; of values that are operands
  std::vector<std::vector<std::uint64_t>> hashes_;
  std::vector<std::uint64_t> stamps_;  // by lane and node: which was computed
  std::vector<Lane> missing_;
  std::array<std::vector<Id>, 2> operand_ids_;
  std::array<std::vector<Id>, 2> result_ids_;
  std::array<std::vector<std::uint64_t>, 2> result_hashes_;
};

}  // namespace xflow::generator
