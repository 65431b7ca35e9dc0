// Stores tensors of numbers, interned by type and content, with the cached results of operations. Private to
// the enumeration.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/generator/enumerate/assignments.h"
#include "src/generator/enumerate/enumerate.h"
#include "src/generator/enumerate/graph_signature.h"

namespace xflow::generator {

// A hash table with nonzero keys: open addressing with linear probing.
template <typename Entry>
class FlatTable {
 public:
  FlatTable() { clear(); }

  // The entry of a key, created if absent. Valid until the next call.
  Entry& at(std::uint64_t key) {
    if (2 * (count_ + 1) > entries_.size()) grow();
    Entry& found = entries_[place(key)];
    if (found.key == 0) {
      found.key = key;
      ++count_;
    }
    return found;
  }
  void clear() {
    entries_ = std::vector<Entry>(1024);
    count_ = 0;
  }
  std::size_t bytes() const { return entries_.size() * sizeof(Entry); }

 private:
  std::size_t place(std::uint64_t key) const {
    std::size_t at = mix(key) & (entries_.size() - 1);
    while (entries_[at].key != 0 && entries_[at].key != key) at = (at + 1) & (entries_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Entry> before(2 * entries_.size());
    before.swap(entries_);
    for (const Entry& e : before)
      if (e.key != 0) entries_[place(e.key)] = e;
  }

  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

// The weights of hashes into which sums and products of elements can be inserted. Pairs have none, because a
// part of a pair may be unknown.
template <typename Number>
struct HashWeights {
  using Weight = std::uint64_t;
  static constexpr bool kAreThere = false;
};
template <>
struct HashWeights<Residue> {
  using Weight = std::uint32_t;
  static constexpr bool kAreThere = true;
};
template <>
struct HashWeights<Integer> {
  using Weight = std::uint64_t;
  static constexpr bool kAreThere = true;
};

template <typename Number>
class ValueStore {
 public:
  using Id = std::uint32_t;
  // The id of a result with an element that has no value (1/0, a remainder).
  static constexpr Id kNone = 0xFFFFFFFF;

  // The seed determines the numbers of inputs. options.sizes selects an assignment of sizes.
  ValueStore(const GraphSignature& signature, const EnumerationOptions& options)
      : signature_(signature),
        seed_(options.seed),
        sizes_(options.sizes),
        most_bytes_(options.value_bytes),
        small_integers_(options.small_integers) {}

  // The value of an input of a group under a label. Each label has its own numbers.
  Id input(std::size_t leaf, std::size_t label);
  Id constant(std::size_t leaf);
  std::uint64_t hash(Id id) const { return values_[id].hash; }

  // Applies an operation to several values of its operands: out[output][k] is its result on a[k] and b[k].
  // `b` is empty for operators of one operand. Returns false if some result is kNone.
  bool apply(ChoiceId choice, std::span<const TypeId> types, std::span<const Id> a, std::span<const Id> b, std::span<Id* const> out);
  // Computes only the hashes of the results, for results that are not operands.
  bool hashes(ChoiceId choice, std::span<const TypeId> types, std::span<const Id> a, std::span<const Id> b,
              std::span<std::uint64_t* const> out);

  // Clears the store if it takes more than options.value_bytes. Ids of an earlier generation are invalid.
  // The data of operations takes at most a third of that and is cleared separately.
  void trim();
  std::uint64_t generation() const { return generation_; }

 private:
  using Weight = typename HashWeights<Number>::Weight;

  struct Value {
    const Number* numbers = nullptr;
    std::uint64_t hash = 0;
    double most = 0;  // for integers: the greatest magnitude
  };
  using Weights = std::array<std::array<std::vector<Weight>, 2>, 2>;  // weights of an operand's elements, by output and by sum of the hash
  // How the hash of an operation's result follows from its operands.
  struct Linear {
    enum class Kind : std::uint8_t { unknown, none, sums, elementwise, products };
    Kind kind = Kind::unknown;
    std::array<Weights, 2> of_operand;  // sums: weights of each operand; elementwise: weights of the products, stored for the first operand
    double most_products = 0;           // the maximum over the rows of all outputs
    double most_plain = 0;

    std::size_t bytes() const {
      std::size_t count = 0;
      for (const Weights& operand : of_operand)
        for (const auto& output : operand)
          for (const std::vector<Weight>& weights : output) count += weights.capacity();
      return count * sizeof(Weight);
    }
  };
  // The hash of products as a function of one operand with the other fixed: the weights of its elements, and
  // a constant.
  struct Functional {
    std::uint64_t key = 0;
    Weights weights;
    std::array<std::array<std::uint64_t, 2>, 2> constant{};
  };
  struct Known {
    std::uint64_t key = 0;
    Id id = 0;
  };
  struct Applied {
    std::uint64_t key = 0;
    std::array<Id, 2> out{};
  };
  struct Hashed {
    std::uint64_t key = 0;
    std::array<std::uint64_t, 2> out{};
    bool is_ready = false;
  };

  std::uint64_t key(ChoiceId choice, Id a, Id b) const {
    if (signature_.choice(choice).commutative && b < a) std::swap(a, b);
    return (static_cast<std::uint64_t>(choice) + 1) << 56 | static_cast<std::uint64_t>(a) << 28 | b;
  }
  bool hash_by_weights(const GraphSignature::Operation& operation, std::span<const ElementPlan> plans, std::span<const Id> a,
                       std::span<const Id> b, std::span<std::uint64_t* const> out);
  void find_linear(std::span<const ElementPlan> plans, Linear& linear) const;
  // The hash as a function of operand `side`, with `other` fixed.
  const Functional& functional(std::uint32_t operation, std::span<const ElementPlan> plans, std::size_t side, Id other);
  // Computes an operation on the operands selected by `asked_` into results_.
  void compute(ChoiceId choice, std::span<const TypeId> types, std::span<const Id> a, std::span<const Id> b);
  Id intern(TypeId type, const Number* numbers, std::size_t stride, std::size_t elements, std::uint64_t hash);
  Number* allocate(std::size_t elements);

  const GraphSignature& signature_;
  std::uint64_t seed_;
  std::size_t sizes_;
  std::size_t most_bytes_;
  bool small_integers_;
  std::uint64_t generation_ = 1;
  std::vector<Value> values_;
  std::vector<std::unique_ptr<Number[]>> blocks_;
  std::size_t block_left_ = 0;  // unused numbers of the last block, and its size
  std::size_t block_size_ = 0;
  std::size_t bytes_ = 0;    // bytes of blocks
  FlatTable<Known> inputs_;  // by leaf and label
  FlatTable<Known> known_;   // by type and hash
  FlatTable<Applied> applied_;
  std::vector<Hashed> hashed_;  // a direct-mapped cache of results without ids
  std::vector<Linear> linear_;  // by operation; cleared as a whole if too large
  std::size_t linear_bytes_ = 0;
  std::vector<Functional> functionals_;  // a direct-mapped cache
  std::vector<std::uint64_t> sums_;
  // The current computation: the distinct assignments to compute, and for each assignment its index among
  // them.
  std::vector<std::uint32_t> asked_;
  std::vector<std::uint32_t> which_;
  std::vector<std::array<Id, 2>> ids_;
  struct Results {
    std::vector<Number> numbers;  // [element][assignment]
    std::vector<std::uint64_t> hashes;
    std::size_t elements = 0;
    TypeId type{};
  };
  std::array<Results, 2> results_;
  std::size_t assignments_ = 0;
  std::vector<bool> has_value_;  // by assignment
  std::array<std::vector<Number>, 2> operands_;
};

extern template class ValueStore<Residue>;
extern template class ValueStore<Pair>;
extern template class ValueStore<Integer>;

}  // namespace xflow::generator
