#include "src/generator/values.h"

#include <algorithm>
#include <cassert>

namespace xflow::generator {
namespace {

constexpr std::uint32_t kPending = 0xFFFFFFFE;
constexpr std::size_t kHashed = std::size_t{1} << 14;

bool is_none(Residue v) { return v == kUndefined; }
bool is_none(Pair v) { return v.first == kUndefined; }
bool is_none(Integer v) { return v == integer::kNone; }

// The number of an input, of 64 random bits.
void set(std::uint64_t random, Residue& out) { out = static_cast<Residue>(random % kFirstPrime); }
void set(std::uint64_t random, Pair& out) {
  out = {static_cast<std::uint32_t>(random % kFirstPrime), static_cast<std::uint32_t>(mix(random) % kSecondPrime)};
}
// Small, of both signs, and divisible as often as means of windows and halves can ask for.
void set(std::uint64_t random, Integer& out) { out = (static_cast<Integer>(random % 61) - 30) * 5832; }
// Some rows and planes have no positive number, or what is true of maxima of both signs alone would seem true.
void lower(Integer& value) { value = value > 0 ? -value : value; }
void lower(Residue& /*value*/) {}
void lower(Pair& /*value*/) {}

}  // namespace

template <typename Number>
auto ValueStore<Number>::input(std::size_t leaf, std::size_t label) -> Id {
  Known& known = inputs_.at(1 + (leaf << 8 | label));
  if (known.id != 0) return known.id;
  const TypeId type = universe_.leaves()[leaf].type;
  const std::vector<std::int64_t> shape = universe_.shape(type, sizes_);
  // The last two dimensions of an image, the last of a matrix.
  std::size_t plane = 1;
  for (std::size_t axis = shape.size() > 2 ? shape.size() - 2 : shape.size() - 1; axis < shape.size(); ++axis)
    plane *= static_cast<std::size_t>(shape[axis]);
  const std::size_t elements = universe_.elements(type, sizes_);
  const std::uint64_t group = mix(seed_) ^ universe_.salt(type);
  std::vector<Number> numbers(elements * kLanes);
  for (std::size_t e = 0; e < elements; ++e) {
    Number number;
    set(mix(mix(group + label) + e), number);
    if (mix(mix(group + label + 91) + e / plane) % 3 == 0) lower(number);
    std::fill_n(numbers.begin() + static_cast<std::ptrdiff_t>(e * kLanes), kLanes, number);
  }
  std::array<std::uint64_t, kLanes> hashes{};
  hash_lanes(numbers.data(), elements, kLanes, universe_.salt(type), hashes.data());
  return known.id = intern(type, numbers.data(), kLanes, elements, hashes[0]);
}

template <typename Number>
auto ValueStore<Number>::constant(std::size_t leaf) -> Id {
  const Leaf& constant = universe_.leaves()[leaf];
  const auto plans = Plan::make(universe_.op(constant), universe_.attributes(constant, sizes_), {});
  const TypeId type = constant.type;
  const std::size_t elements = universe_.elements(type, sizes_);
  std::vector<Number> numbers(elements * kLanes);
  evaluate(plans.value().front(), {}, kLanes, numbers.data());
  std::array<std::uint64_t, kLanes> hashes{};
  hash_lanes(numbers.data(), elements, kLanes, universe_.salt(type), hashes.data());
  return intern(type, numbers.data(), kLanes, elements, hashes[0]);
}

template <typename Number>
bool ValueStore<Number>::apply(ChoiceId choice, std::span<const TypeId> types, std::span<const Id> a, std::span<const Id> b,
                               std::span<Id* const> out) {
  asked_.clear();
  which_.resize(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    Applied& known = applied_.at(key(choice, a[k], b.empty() ? 0 : b[k]));
    if (known.out[0] == 0) {
      known.out = {kPending, static_cast<Id>(asked_.size())};
      asked_.push_back(static_cast<std::uint32_t>(k));
    }
    which_[k] = known.out[0] == kPending ? known.out[1] : UINT32_MAX;
    for (std::size_t o = 0; o < out.size(); ++o) out[o][k] = known.out[o];
  }
  if (!asked_.empty()) {
    compute(choice, types, a, b);
    ids_.assign(asked_.size(), {kNone, kNone});
    for (std::size_t lane = 0; lane < asked_.size(); ++lane) {
      if (has_value_[lane])
        for (std::size_t o = 0; o < out.size(); ++o)
          ids_[lane][o] =
              intern(results_[o].type, results_[o].numbers.data() + lane, lanes_, results_[o].elements, results_[o].hashes[lane]);
      const std::uint32_t k = asked_[lane];
      applied_.at(key(choice, a[k], b.empty() ? 0 : b[k])).out = ids_[lane];
    }
    for (std::size_t k = 0; k < a.size(); ++k)
      if (which_[k] != UINT32_MAX)
        for (std::size_t o = 0; o < out.size(); ++o) out[o][k] = ids_[which_[k]][o];
  }
  return std::find(out[0], out[0] + a.size(), kNone) == out[0] + a.size();
}

template <typename Number>
bool ValueStore<Number>::hashes(ChoiceId choice, std::span<const TypeId> types, std::span<const Id> a, std::span<const Id> b,
                                std::span<std::uint64_t* const> out) {
  if (hashed_.empty()) hashed_.resize(kHashed);
  asked_.clear();
  which_.assign(a.size(), UINT32_MAX);
  const auto place = [&](std::uint64_t key) -> Hashed& { return hashed_[mix(key) & (kHashed - 1)]; };
  for (std::size_t k = 0; k < a.size(); ++k) {
    const std::uint64_t wanted = key(choice, a[k], b.empty() ? 0 : b[k]);
    Hashed& known = place(wanted);
    if (known.key != wanted) {
      known = {wanted, {asked_.size(), 0}, false};
      asked_.push_back(static_cast<std::uint32_t>(k));
    }
    if (!known.is_ready) which_[k] = static_cast<std::uint32_t>(known.out[0]);
    for (std::size_t o = 0; o < out.size(); ++o) out[o][k] = known.out[o];
  }
  if (asked_.empty()) return true;
  compute(choice, types, a, b);
  bool all = true;
  for (std::size_t lane = 0; lane < asked_.size(); ++lane) {
    const std::uint32_t k = asked_[lane];
    const std::uint64_t wanted = key(choice, a[k], b.empty() ? 0 : b[k]);
    Hashed& known = place(wanted);
    all = all && has_value_[lane];
    if (known.key != wanted) continue;  // another took its place
    if (has_value_[lane]) {
      known.is_ready = true;
      for (std::size_t o = 0; o < out.size(); ++o) known.out[o] = results_[o].hashes[lane];
    } else {
      known = {};
    }
  }
  for (std::size_t k = 0; k < a.size(); ++k)
    if (which_[k] != UINT32_MAX)
      for (std::size_t o = 0; o < out.size(); ++o) out[o][k] = results_[o].hashes[which_[k]];
  return all;
}

template <typename Number>
void ValueStore<Number>::compute(ChoiceId choice, std::span<const TypeId> types, std::span<const Id> a, std::span<const Id> b) {
  lanes_ = padded(asked_.size());
  std::array<const Number*, 2> operands{};
  for (std::size_t n = 0; n < types.size(); ++n) {
    const std::size_t elements = universe_.elements(types[n], sizes_);
    std::vector<Number>& numbers = operands_[n];
    if (numbers.size() < elements * lanes_) numbers.resize(elements * lanes_);
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      // What fills up the last lanes is some number.
      const std::uint32_t k = asked_[std::min(lane, asked_.size() - 1)];
      const Number* const from = values_[(n == 0 ? a : b)[k]].numbers;
      Number* const to = numbers.data() + lane;
      for (std::size_t e = 0; e < elements; ++e) to[e * lanes_] = from[e];
    }
    operands[n] = numbers.data();
  }
  const std::vector<Plan>& plans = universe_.plans(choice, types, sizes_);
  const std::span<const TypeId> outputs = universe_.type(choice, types);
  has_value_.assign(lanes_, true);
  for (std::size_t o = 0; o < plans.size(); ++o) {
    Results& r = results_[o];
    r.elements = plans[o].elements();
    if (r.numbers.size() < r.elements * lanes_) r.numbers.resize(r.elements * lanes_);
    if (r.hashes.size() < lanes_) r.hashes.resize(lanes_);
    if (!evaluate(plans[o], std::span(operands.data(), types.size()), lanes_, r.numbers.data())) {
      for (std::size_t e = 0; e < r.elements; ++e)
        for (std::size_t lane = 0; lane < lanes_; ++lane)
          if (is_none(r.numbers[e * lanes_ + lane])) has_value_[lane] = false;
    }
    r.type = outputs[o];
    hash_lanes(r.numbers.data(), r.elements, lanes_, universe_.salt(r.type), r.hashes.data());
  }
}

template <typename Number>
auto ValueStore<Number>::intern(TypeId type, const Number* numbers, std::size_t stride, std::size_t elements, std::uint64_t hash) -> Id {
  // Tensors of different types can have the same numbers and the same hash: dimensions that were put together in other ways.
  Known& known = known_.at(mix(hash ^ static_cast<std::uint64_t>(type) << 48) | 1);
  if (known.id != 0) return known.id;
  if (values_.empty()) values_.emplace_back();  // 0 is no id
  known.id = static_cast<Id>(values_.size());
  assert(values_.size() < std::size_t{1} << 28);
  Number* const to = allocate(elements);
  for (std::size_t e = 0; e < elements; ++e) to[e] = numbers[e * stride];
  values_.push_back({to, hash});
  return known.id;
}

template <typename Number>
Number* ValueStore<Number>::allocate(std::size_t elements) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  if (block_left_ < elements) {
    block_left_ = std::max(kBlock, elements);
    blocks_.push_back(std::make_unique_for_overwrite<Number[]>(block_left_));
    block_size_ = block_left_;
    bytes_ += block_left_ * sizeof(Number);
  }
  Number* const result = blocks_.back().get() + (block_size_ - block_left_);
  block_left_ -= elements;
  return result;
}

template <typename Number>
void ValueStore<Number>::trim() {
  if (bytes_ + known_.bytes() + applied_.bytes() + values_.size() * sizeof(Value) <= most_bytes_) return;
  values_ = {};
  blocks_.clear();
  block_left_ = block_size_ = bytes_ = 0;
  inputs_.clear();
  known_.clear();
  applied_.clear();
  hashed_.clear();
  ++generation_;
}

template class ValueStore<Residue>;
template class ValueStore<Pair>;
template class ValueStore<Integer>;

}  // namespace xflow::generator
