// The values of a growing graph under all renamings of the inputs that it uses. Private to enumeration.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "src/generator/universe.h"
#include "src/generator/values.h"

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

// An operation of the growing graph.
struct GrownNode {
  ChoiceId choice{};
  std::uint8_t operands[2] = {0, 0};
  std::uint8_t operand_count = 1;
  std::uint8_t outputs = 1;
  std::uint8_t first_value = 0;
  std::uint8_t level = 1;
  std::uint32_t cone = 0;   // a bit for each operation that it needs, itself among them
  std::uint64_t stamp = 0;  // tells apart what stands at one place of the graph at different times
};

// Hashes of terms: of input `number` of its group, of a constant, of an output of an operation.
inline std::uint64_t input_structure(const Universe& universe, TypeId type, std::size_t number) {
  return mix(universe.salt(type) ^ mix(number));
}
inline std::uint64_t constant_structure(std::size_t leaf) { return mix(0xC0 + leaf); }
inline std::uint64_t node_structure(const Universe& universe, ChoiceId choice, std::size_t output, std::uint64_t a, std::uint64_t b,
                                    std::size_t operands) {
  const std::uint64_t salt = mix(static_cast<std::uint64_t>(choice) << 8 | output);
  if (operands == 1) return mix(salt ^ mix(a));
  return mix(salt ^ (universe.choice(choice).commutative ? mix(a) + mix(b) : mix(a) + 3 * mix(b + 1)));
}

// Lanes: first every renaming of the used inputs among themselves, lane 0 being the identity; then, for each used input, the identity with
// that input's values replaced by others, which tells whether anything depends on it.
template <typename Number>
class LaneSet {
 public:
  using Store = ValueStore<Number>;

  // Operations that need `most_operators` of them are no operands of others.
  LaneSet(const Universe& universe, Store& store, Used used, std::size_t most_operators, std::size_t max_values, bool only_identity)
      : universe_(universe),
        store_(store),
        most_operators_(most_operators),
        ids_(max_values),
        hashes_(max_values),
        structures_(max_values),
        stamps_(max_values, 0) {
    make_renamings(used, only_identity);
  }

  std::size_t renamings() const { return renamings_.size(); }
  // Which value of its group stands for used input `input` (numbered over all groups) in a renaming.
  std::uint8_t renamed(std::size_t renaming, std::size_t input) const { return renamings_[renaming][input]; }
  std::size_t used_inputs() const { return inputs_.size(); }
  std::size_t used_input(std::size_t k) const { return inputs_[k]; }
  std::span<const std::uint64_t> hashes(std::size_t value) const { return hashes_[value]; }          // by lane
  std::span<const std::uint64_t> structures(std::size_t value) const { return structures_[value]; }  // by renaming
  std::size_t lane_without(std::size_t k) const { return renamings_.size() + k; }

  // Computes what is not yet computed of the graph. False where an element has no value.
  bool compute(std::span<const GrownNode> nodes, std::span<const TypeId> types) {
    store_.trim();
    if (generation_ != store_.generation()) {
      generation_ = store_.generation();
      std::fill(stamps_.begin(), stamps_.end(), 0);
      make_leaves();
    }
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (stamps_[k] == nodes[k].stamp) continue;
      // What follows was of another graph.
      std::fill(stamps_.begin() + static_cast<std::ptrdiff_t>(k), stamps_.end(), 0);
      if (!compute(nodes[k], types)) return false;
      stamps_[k] = nodes[k].stamp;
    }
    return true;
  }

 private:
  void make_renamings(Used used, bool only_identity) {
    std::vector<std::size_t> counts;
    for (std::size_t g = 0; g < universe_.group_begins().size(); ++g) {
      counts.push_back(used[g]);
      for (std::size_t k = 0; k < used[g]; ++k) {
        inputs_.push_back(universe_.group_begins()[g] + k);
        local_.push_back(static_cast<std::uint8_t>(k));
        others_.push_back(static_cast<std::uint8_t>(used[g]));
      }
    }
    if (only_identity) {
      renamings_ = {local_};
      lanes_ = 1;
      return;
    }
    renamings_ = {std::vector<std::uint8_t>(inputs_.size())};
    std::size_t at = 0;
    for (const std::size_t count : counts) {
      std::vector<std::uint8_t> order(count);
      std::iota(order.begin(), order.end(), std::uint8_t{0});
      std::vector<std::vector<std::uint8_t>> next;
      do {
        for (std::vector<std::uint8_t> r : renamings_) {
          std::copy(order.begin(), order.end(), r.begin() + static_cast<std::ptrdiff_t>(at));
          next.push_back(std::move(r));
        }
      } while (std::next_permutation(order.begin(), order.end()));
      renamings_ = std::move(next);
      at += count;
    }
    lanes_ = renamings_.size() + inputs_.size();
  }

  void make_leaves() {
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      const std::size_t leaf = inputs_[k];
      resize(leaf);
      for (std::size_t lane = 0; lane < lanes_; ++lane) {
        // A label that no renaming uses replaces an input.
        const bool is_renaming = lane < renamings_.size();
        const std::uint8_t label = is_renaming ? renamings_[lane][k] : lane == lane_without(k) ? others_[k] : local_[k];
        set(leaf, lane, store_.input(leaf, label));
        if (is_renaming) structures_[leaf][lane] = input_structure(universe_, universe_.leaves()[leaf].type, label);
      }
    }
    for (std::size_t leaf = universe_.inputs(); leaf < universe_.leaves().size(); ++leaf) {
      resize(leaf);
      const auto id = store_.constant(leaf);
      for (std::size_t lane = 0; lane < lanes_; ++lane) set(leaf, lane, id);
      std::fill(structures_[leaf].begin(), structures_[leaf].end(), constant_structure(leaf));
    }
  }

  void resize(std::size_t value) {
    ids_[value].resize(lanes_);
    hashes_[value].resize(lanes_);
    structures_[value].resize(renamings_.size());
  }
  void set(std::size_t value, std::size_t lane, typename Store::Id id) {
    ids_[value][lane] = id;
    hashes_[value][lane] = store_.hash(id);
  }

  bool compute(const GrownNode& node, std::span<const TypeId> types) {
    const std::size_t a = node.operands[0];
    const std::size_t b = node.operands[1];
    const std::array<TypeId, 2> operand_types = {types[a], types[b]};
    const auto operands = std::span(operand_types).first(node.operand_count);
    using Id = typename Store::Id;
    const std::span<const Id> first = ids_[a];
    const std::span<const Id> second = node.operand_count > 1 ? std::span<const Id>(ids_[b]) : std::span<const Id>();
    for (std::size_t output = 0; output < node.outputs; ++output) resize(node.first_value + output);
    if (static_cast<std::size_t>(__builtin_popcount(node.cone)) == most_operators_) {
      std::array<std::uint64_t*, 2> out{};
      for (std::size_t output = 0; output < node.outputs; ++output) out[output] = hashes_[node.first_value + output].data();
      if (!store_.hashes(node.choice, operands, first, second, std::span(out).first(node.outputs))) return false;
    } else {
      std::array<Id*, 2> out{};
      for (std::size_t output = 0; output < node.outputs; ++output) out[output] = ids_[node.first_value + output].data();
      if (!store_.apply(node.choice, operands, first, second, std::span(out).first(node.outputs))) return false;
      for (std::size_t output = 0; output < node.outputs; ++output)
        for (std::size_t lane = 0; lane < lanes_; ++lane)
          hashes_[node.first_value + output][lane] = store_.hash(ids_[node.first_value + output][lane]);
    }
    for (std::size_t output = 0; output < node.outputs; ++output) {
      std::uint64_t* const structures = structures_[node.first_value + output].data();
      for (std::size_t lane = 0; lane < renamings_.size(); ++lane) {
        structures[lane] = node_structure(universe_, node.choice, output, structures_[a][lane],
                                          node.operand_count > 1 ? structures_[b][lane] : 0, node.operand_count);
      }
    }
    return true;
  }

  const Universe& universe_;
  Store& store_;
  std::size_t most_operators_;
  std::uint64_t generation_ = 0;
  std::size_t lanes_ = 0;
  std::vector<std::size_t> inputs_;   // the leaves that are used inputs
  std::vector<std::uint8_t> local_;   // their numbers in their groups
  std::vector<std::uint8_t> others_;  // a label that no renaming gives them
  std::vector<std::vector<std::uint8_t>> renamings_;
  std::vector<std::vector<typename Store::Id>> ids_;  // by value, then by lane; of values that are operands
  std::vector<std::vector<std::uint64_t>> hashes_;
  std::vector<std::vector<std::uint64_t>> structures_;
  std::vector<std::uint64_t> stamps_;  // by node: which was computed
};

}  // namespace xflow::generator
