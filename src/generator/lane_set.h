// The values of a growing graph under all renamings of the inputs that it uses. Private to enumeration.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "src/generator/lanes.h"
#include "src/generator/universe.h"

namespace xflow::generator {

// How many inputs of each group a graph uses; they are the first of the group.
using Used = std::vector<std::uint8_t>;

// An operation of the growing graph.
struct GrownNode {
  ChoiceId choice{};
  std::uint8_t operands[2] = {0, 0};
  std::uint8_t operand_count = 1;
  std::uint8_t outputs = 1;
  std::uint8_t first_value = 0;
  std::uint8_t level = 1;
  std::uint64_t stamp = 0;  // tells apart what stands at one place of the graph at different times
};

// A hash of a type that does not depend on when the type was met: the names of which its dimensions are the sums.
std::uint64_t type_salt(const Universe& universe, TypeId type);

// Hashes of terms: of input `number` of its group, of a constant, of an output of an operation.
inline std::uint64_t input_structure(const Universe& universe, TypeId type, std::size_t number) {
  return mix(type_salt(universe, type) ^ mix(number));
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
  LaneSet(const Universe& universe, Used used, std::uint64_t seed, std::size_t sizes, std::size_t max_values)
      : universe_(universe),
        used_(std::move(used)),
        sizes_(sizes),
        values_(max_values),
        hashes_(max_values),
        structures_(max_values),
        stamps_(max_values, 0) {
    make_renamings();
    make_leaves(seed);
  }

  std::size_t renamings() const { return renamings_.size(); }
  // Which value of its group stands for used input `input` (numbered over all groups) in a renaming.
  std::uint8_t renamed(std::size_t renaming, std::size_t input) const { return renamings_[renaming][input]; }
  std::size_t used_inputs() const { return inputs_.size(); }
  std::size_t used_input(std::size_t k) const { return inputs_[k]; }
  std::uint64_t hash(std::size_t value, std::size_t lane) const { return hashes_[value][lane]; }
  std::uint64_t structure(std::size_t value, std::size_t lane) const { return structures_[value][lane]; }
  std::size_t lane_without(std::size_t k) const { return renamings_.size() + k; }

  // Computes what is not yet computed of the graph. False where an element has no value.
  bool compute(std::span<const GrownNode> nodes, std::span<const TypeId> types) {
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
  void make_renamings() {
    for (std::size_t g = 0; g < used_.size(); ++g)
      for (std::size_t k = 0; k < used_[g]; ++k) {
        inputs_.push_back(universe_.group_begins()[g] + k);
        local_.push_back(static_cast<std::uint8_t>(k));
      }
    renamings_ = {std::vector<std::uint8_t>(inputs_.size())};
    std::size_t at = 0;
    for (const std::uint8_t count : used_) {
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
    lanes_ = padded(renamings_.size() + inputs_.size());
  }

  // The number of value `which` of a group, at an element.
  static void set(std::uint64_t random, Residue& out) { out = static_cast<Residue>(random % kFirstPrime); }
  static void set(std::uint64_t random, Pair& out) {
    out = {static_cast<std::uint32_t>(random % kFirstPrime), static_cast<std::uint32_t>(mix(random) % kSecondPrime)};
  }
  // Small, of both signs, and divisible as often as means of windows and halves can ask for.
  static void set(std::uint64_t random, Integer& out) { out = (static_cast<Integer>(random % 61) - 30) * 5832; }
  // Some rows and planes have no positive number, or what is true of maxima of both signs alone would seem true.
  static void lower(Integer& value) { value = value > 0 ? -value : value; }
  static void lower(Residue& /*value*/) {}
  static void lower(Pair& /*value*/) {}

  void make_leaves(std::uint64_t seed) {
    constexpr std::uint8_t kOther = 200;  // the value that no renaming uses
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      const Leaf& leaf = universe_.leaves()[inputs_[k]];
      const std::size_t elements = elements_of(leaf.type);
      std::vector<Number>& v = values_[inputs_[k]];
      v.resize(elements * lanes_);
      // The last two dimensions of an image, the last of a matrix.
      std::size_t plane = 1;
      const std::vector<std::int64_t> shape = universe_.shape(leaf.type, sizes_);
      for (std::size_t axis = shape.size() > 2 ? shape.size() - 2 : shape.size() - 1; axis < shape.size(); ++axis)
        plane *= static_cast<std::size_t>(shape[axis]);
      const std::uint64_t group = mix(seed) ^ type_salt(universe_, leaf.type);
      structures_[inputs_[k]].resize(renamings_.size());
      for (std::size_t lane = 0; lane < lanes_; ++lane) {
        const bool is_renaming = lane < renamings_.size();
        const std::uint8_t which = is_renaming ? renamings_[lane][k] : lane == renamings_.size() + k ? kOther : local_[k];
        for (std::size_t e = 0; e < elements; ++e) {
          Number& number = v[e * lanes_ + lane];
          set(mix(mix(group + which) + e), number);
          if (mix(mix(group + which + 91) + e / plane) % 3 == 0) lower(number);
        }
        if (is_renaming) structures_[inputs_[k]][lane] = input_structure(universe_, leaf.type, which);
      }
      hash(inputs_[k], leaf.type);
    }
    for (std::size_t k = universe_.inputs(); k < universe_.leaves().size(); ++k) {
      const Leaf& leaf = universe_.leaves()[k];
      const auto plans = Plan::make(universe_.op(leaf), universe_.attributes(leaf, sizes_), {});
      values_[k].resize(elements_of(leaf.type) * lanes_);
      evaluate(plans.value().front(), {}, lanes_, values_[k].data());
      structures_[k].assign(renamings_.size(), constant_structure(k));
      hash(k, leaf.type);
    }
  }

  std::size_t elements_of(TypeId type) const {
    std::size_t elements = 1;
    for (const std::int64_t d : universe_.shape(type, sizes_)) elements *= static_cast<std::size_t>(d);
    return elements;
  }
  void hash(std::size_t value, TypeId type) {
    hashes_[value].resize(lanes_);
    hash_lanes(values_[value].data(), values_[value].size() / lanes_, lanes_, type_salt(universe_, type), hashes_[value].data());
  }

  bool compute(const GrownNode& node, std::span<const TypeId> types) {
    const Number* operands[2] = {};
    TypeId operand_types[2] = {};
    for (std::size_t k = 0; k < node.operand_count; ++k) {
      operands[k] = values_[node.operands[k]].data();
      operand_types[k] = types[node.operands[k]];
    }
    const std::vector<Plan>& plans = universe_.plans(node.choice, std::span(operand_types, node.operand_count), sizes_);
    for (std::size_t output = 0; output < plans.size(); ++output) {
      const std::size_t value = node.first_value + output;
      values_[value].resize(plans[output].elements() * lanes_);
      if (!evaluate(plans[output], std::span(operands, node.operand_count), lanes_, values_[value].data())) return false;
      hash(value, types[value]);
      structures_[value].resize(renamings_.size());
      for (std::size_t lane = 0; lane < renamings_.size(); ++lane) {
        const std::uint64_t b = node.operand_count > 1 ? structures_[node.operands[1]][lane] : 0;
        structures_[value][lane] =
            node_structure(universe_, node.choice, output, structures_[node.operands[0]][lane], b, node.operand_count);
      }
    }
    return true;
  }

  const Universe& universe_;
  Used used_;
  std::size_t sizes_;
  std::size_t lanes_ = 0;
  std::vector<std::size_t> inputs_;  // the leaves that are used inputs
  std::vector<std::uint8_t> local_;  // their numbers in their groups
  std::vector<std::vector<std::uint8_t>> renamings_;
  std::vector<std::vector<Number>> values_;  // by value: [element][lane]
  std::vector<std::vector<std::uint64_t>> hashes_;
  std::vector<std::vector<std::uint64_t>> structures_;
  std::vector<std::uint64_t> stamps_;  // by node: which was computed
};

}  // namespace xflow::generator
