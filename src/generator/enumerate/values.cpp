#include "src/generator/enumerate/values.h"

#include <algorithm>
#include <cassert>
#include <type_traits>

namespace xflow::generator {
namespace {

constexpr std::uint32_t kPending = 0xFFFFFFFE;
constexpr std::size_t kHashed = std::size_t{1} << 14;
constexpr std::size_t kFunctionals = std::size_t{1} << 12;

// Terms of the sums of hashes: residues modulo the first prime, integers modulo 2^64.
std::uint32_t weight_of(Residue /*kind*/, std::size_t sum, std::size_t element, const ElementPlan& plan) {
  const std::uint32_t weight = residue_weight(sum, element);
  return plan.scale ? multiply(weight, plan.scale->residues.first) : weight;
}
std::uint64_t weight_of(Integer /*kind*/, std::size_t sum, std::size_t element, const ElementPlan& /*plan*/) {
  return integer_weight(sum, element);
}
void add_to(std::uint32_t& total, std::uint32_t by) { total = reduce(static_cast<std::uint64_t>(total) + by); }
void add_to(std::uint64_t& total, std::uint64_t by) { total += by; }
// Products to be summed. For residues the sum of many stays below 2^62.
std::uint64_t product(std::uint32_t a, Residue b) { return fold(static_cast<std::uint64_t>(a) * b); }
std::uint64_t product(std::uint64_t a, Integer b) { return a * static_cast<std::uint64_t>(b); }
std::uint32_t whole(Residue /*kind*/, std::uint64_t sum) { return reduce(sum); }
std::uint64_t whole(Integer /*kind*/, std::uint64_t sum) { return sum; }
std::uint64_t finish(Residue /*kind*/, std::array<std::uint64_t, 2> sums, std::uint64_t salt) {
  return residue_hash(reduce(sums[0] + salt % kFirstPrime), reduce(sums[1] + salt % kFirstPrime));
}
std::uint64_t finish(Integer /*kind*/, std::array<std::uint64_t, 2> sums, std::uint64_t salt) {
  return integer_hash(sums[0] + salt, sums[1] + salt);
}
double magnitude(Integer v) { return v < 0 ? -static_cast<double>(v) : static_cast<double>(v); }
double magnitude(Residue /*v*/) { return 0; }
double magnitude(Pair /*v*/) { return 0; }

bool is_none(Residue v) { return v == kUndefined; }
bool is_none(Pair v) { return v.first == kUndefined; }
bool is_none(Integer v) { return v == integer::kNone; }

// Makes the number of an input from 64 random bits.
void set(std::uint64_t random, Residue& out) { out = static_cast<Residue>(random % kFirstPrime); }
void set(std::uint64_t random, Pair& out) {
  out = {static_cast<std::uint32_t>(random % kFirstPrime), static_cast<std::uint32_t>(mix(random) % kSecondPrime)};
}
// Integers are small, of both signs, and sometimes 0; otherwise z + x * x would never be negative. They are
// multiples of 5832 = 2^3 * 3^6, so that means of windows and halves stay integers.
void set(std::uint64_t random, Integer& out) { out = mix(random) % 6 == 0 ? 0 : (static_cast<Integer>(random % 61) - 30) * 5832; }
// Small integers, which means do not divide.
void set_small(std::uint64_t random, Integer& out) { out = static_cast<Integer>(random % 9) - 4; }
void set_small(std::uint64_t /*random*/, Residue& /*out*/) {}
void set_small(std::uint64_t /*random*/, Pair& /*out*/) {}
// Makes a number not positive. Some rows and planes have no positive number; otherwise laws that hold only
// for maxima of both signs would seem true.
void lower(Integer& value) { value = value > 0 ? -value : value; }
void lower(Residue& /*value*/) {}
void lower(Pair& /*value*/) {}

}  // namespace

template <typename Number>
auto ValueStore<Number>::input(std::size_t leaf, std::size_t label) -> Id {
  Known& known = inputs_.at(1 + (leaf << 8 | label));
  if (known.id != 0) return known.id;
  const TypeId type = signature_.leaves()[leaf].type;
  const std::vector<std::int64_t> shape = signature_.shape(type, sizes_);
  // A plane is the last two dimensions of an image, or the last dimension of a matrix.
  std::size_t plane = 1;
  for (std::size_t axis = shape.size() > 2 ? shape.size() - 2 : shape.size() - 1; axis < shape.size(); ++axis)
    plane *= static_cast<std::size_t>(shape[axis]);
  const std::size_t elements = signature_.elements(type, sizes_);
  const std::uint64_t group = mix(seed_) ^ signature_.salt(type);
  std::vector<Number> numbers(elements * kAssignments);
  for (std::size_t e = 0; e < elements; ++e) {
    Number number;
    set(mix(mix(group + label) + e), number);
    if (small_integers_) set_small(mix(mix(group + label) + e), number);
    if (mix(mix(group + label + 91) + e / plane) % 3 == 0) lower(number);
    std::fill_n(numbers.begin() + static_cast<std::ptrdiff_t>(e * kAssignments), kAssignments, number);
  }
  std::array<std::uint64_t, kAssignments> hashes{};
  hash_assignments(numbers.data(), elements, kAssignments, signature_.salt(type), hashes.data());
  return known.id = intern(type, numbers.data(), kAssignments, elements, hashes[0]);
}

template <typename Number>
auto ValueStore<Number>::constant(std::size_t leaf) -> Id {
  const Leaf& constant = signature_.leaves()[leaf];
  const auto plans = ElementPlan::make(signature_.op(constant), signature_.attributes(constant, sizes_), {});
  const TypeId type = constant.type;
  const std::size_t elements = signature_.elements(type, sizes_);
  std::vector<Number> numbers(elements * kAssignments);
  evaluate(plans.value().front(), {}, kAssignments, numbers.data());
  std::array<std::uint64_t, kAssignments> hashes{};
  hash_assignments(numbers.data(), elements, kAssignments, signature_.salt(type), hashes.data());
  return intern(type, numbers.data(), kAssignments, elements, hashes[0]);
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
    for (std::size_t assignment = 0; assignment < asked_.size(); ++assignment) {
      if (has_value_[assignment])
        for (std::size_t o = 0; o < out.size(); ++o)
          ids_[assignment][o] = intern(results_[o].type, results_[o].numbers.data() + assignment, assignments_, results_[o].elements,
                                       results_[o].hashes[assignment]);
      const std::uint32_t k = asked_[assignment];
      applied_.at(key(choice, a[k], b.empty() ? 0 : b[k])).out = ids_[assignment];
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
  const std::vector<ElementPlan>& plans = signature_.plans(choice, types, sizes_);
  const GraphSignature::Operation& operation = signature_.operation(choice, types[0], types.size() > 1 ? types[1] : TypeId{});
  if (hash_by_weights(operation, plans, a, b, out)) return true;
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
  for (std::size_t assignment = 0; assignment < asked_.size(); ++assignment) {
    const std::uint32_t k = asked_[assignment];
    const std::uint64_t wanted = key(choice, a[k], b.empty() ? 0 : b[k]);
    Hashed& known = place(wanted);
    all = all && has_value_[assignment];
    if (known.key != wanted) continue;  // another result replaced it
    if (has_value_[assignment]) {
      known.is_ready = true;
      for (std::size_t o = 0; o < out.size(); ++o) known.out[o] = results_[o].hashes[assignment];
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
void ValueStore<Number>::find_linear(std::span<const ElementPlan> plans, Linear& linear) const {
  using Kind = typename Linear::Kind;
  linear.kind = Kind::none;
  if constexpr (HashWeights<Number>::kAreThere) {
    bool has_products = false;
    bool is_elementwise = true;
    for (const ElementPlan& p : plans) {
      if (!p.is_sum || !p.scaled.empty() || (p.scale && !std::is_same_v<Number, Residue>)) return;
      has_products = has_products || !p.products.empty();
      is_elementwise = is_elementwise && p.patterns.size() == 1 && p.plain.empty() && p.products.size() == 1;
      for (const ElementPlan::Product& t : p.products)
        if (t.a.operand == t.b.operand) return;
      for (std::size_t e = 0; e < p.rows.size() && is_elementwise; ++e)
        is_elementwise = p.place(p.rows[e], p.products[0].a) == e && p.place(p.rows[e], p.products[0].b) == e;
      linear.most_products = std::max<double>(linear.most_products, p.most_products);
      linear.most_plain = std::max<double>(linear.most_plain, p.most_plain);
    }
    linear.kind = !has_products ? Kind::sums : is_elementwise ? Kind::elementwise : Kind::products;
    if (linear.kind == Kind::products) return;
    for (std::size_t o = 0; o < plans.size(); ++o) {
      const ElementPlan& p = plans[o];
      for (std::size_t s = 0; s < 2; ++s) {
        const std::size_t sides = linear.kind == Kind::elementwise ? 1 : p.operand_elements.size();
        for (std::size_t side = 0; side < sides; ++side) linear.of_operand[side][o][s].assign(p.operand_elements[side], 0);
        for (std::size_t element = 0; element < p.rows.size(); ++element) {
          const Weight weight = weight_of(Number{}, s, element, p);
          if (linear.kind == Kind::elementwise) linear.of_operand[0][o][s][element] = weight;
          const ElementPlan::Row& row = p.rows[element];
          const ElementPlan::Pattern& pattern = p.patterns[row.pattern];
          for (std::uint32_t k = pattern.begin.plain; k < pattern.end.plain; ++k)
            add_to(linear.of_operand[p.plain[k].operand][o][s][p.place(row, p.plain[k])], weight);
        }
      }
    }
  }
}

template <typename Number>
bool ValueStore<Number>::hash_by_weights(const GraphSignature::Operation& operation, std::span<const ElementPlan> plans,
                                         std::span<const Id> a, std::span<const Id> b, std::span<std::uint64_t* const> out) {
  if constexpr (HashWeights<Number>::kAreThere) {
    using Kind = typename Linear::Kind;
    if (linear_bytes_ > most_bytes_ / 3) {
      linear_.clear();
      linear_bytes_ = 0;
    }
    if (operation.number >= linear_.size()) linear_.resize(operation.number + 1);
    Linear& linear = linear_[operation.number];
    if (linear.kind == Kind::unknown) {
      find_linear(plans, linear);
      linear_bytes_ += linear.bytes();
    }
    if (linear.kind == Kind::none) return false;
    // Integers that may exceed 63 bits are computed one by one.
    double most_a = 0;
    double most_b = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      most_a = std::max(most_a, values_[a[k]].most);
      if (!b.empty()) most_b = std::max(most_b, values_[b[k]].most);
    }
    if (linear.most_products * most_a * most_b + linear.most_plain * std::max(most_a, most_b) >= 4e18) return false;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const Number* const first = values_[a[k]].numbers;
      const Number* const second = b.empty() ? nullptr : values_[b[k]].numbers;
      const Functional* f = nullptr;
      // The operand with the lower id is fixed, because values that were met first recur most often.
      const bool of_second = !b.empty() && a[k] < b[k];
      if (linear.kind == Kind::products)
        f = &functional(operation.number, plans, of_second ? 1 : 0, b.empty() ? 0 : of_second ? a[k] : b[k]);
      for (std::size_t o = 0; o < out.size(); ++o) {
        std::array<std::uint64_t, 2> sums{};
        if (f != nullptr) {
          sums = weighted_sums(f->weights[o], of_second ? second : first);
          for (std::size_t s = 0; s < 2; ++s) sums[s] += f->constant[o][s];
        } else if (linear.kind == Kind::elementwise) {
          sums = weighted_products(linear.of_operand[0][o], first, second);
        } else {
          sums = weighted_sums(linear.of_operand[0][o], first);
          if (second != nullptr) {
            const std::array<std::uint64_t, 2> more = weighted_sums(linear.of_operand[1][o], second);
            for (std::size_t s = 0; s < 2; ++s) sums[s] += more[s];
          }
        }
        out[o][k] = finish(Number{}, sums, signature_.salt(operation.types[o]));
      }
    }
    return true;
  }
  return false;
}

template <typename Number>
auto ValueStore<Number>::functional(std::uint32_t operation, std::span<const ElementPlan> plans, std::size_t side, Id other)
    -> const Functional& {
  if (functionals_.empty()) functionals_.resize(kFunctionals);
  const std::uint64_t key = 1 + (static_cast<std::uint64_t>(operation) << 30 | static_cast<std::uint64_t>(side) << 29 | other);
  Functional& f = functionals_[mix(key) & (kFunctionals - 1)];
  if (f.key == key) return f;
  f.key = key;
  if constexpr (HashWeights<Number>::kAreThere) {
    const Number* const fixed = values_[other].numbers;
    for (std::size_t o = 0; o < plans.size(); ++o) {
      const ElementPlan& plan = plans[o];
      for (std::size_t s = 0; s < 2; ++s) {
        sums_.assign(plan.operand_elements[side], 0);
        std::uint64_t constant = 0;
        for (std::size_t element = 0; element < plan.rows.size(); ++element) {
          const ElementPlan::Row& row = plan.rows[element];
          const ElementPlan::Terms begin = plan.patterns[row.pattern].begin;
          const ElementPlan::Terms end = plan.patterns[row.pattern].end;
          const Weight weight = weight_of(Number{}, s, element, plan);
          for (std::uint32_t k = begin.products; k < end.products; ++k) {
            const bool first = plan.products[k].a.operand == side;
            const ElementPlace& mine = first ? plan.products[k].a : plan.products[k].b;
            const ElementPlace& others = first ? plan.products[k].b : plan.products[k].a;
            sums_[plan.place(row, mine)] += product(weight, fixed[plan.place(row, others)]);
          }
          for (std::uint32_t k = begin.plain; k < end.plain; ++k) {
            const ElementPlace& place = plan.plain[k];
            if (place.operand == side) {
              sums_[plan.place(row, place)] += weight;
            } else {
              constant += product(weight, fixed[plan.place(row, place)]);
            }
          }
        }
        std::vector<Weight>& weights = f.weights[o][s];
        weights.resize(sums_.size());
        for (std::size_t e = 0; e < weights.size(); ++e) weights[e] = whole(Number{}, sums_[e]);
        f.constant[o][s] = whole(Number{}, constant);
      }
    }
  }
  return f;
}

template <typename Number>
void ValueStore<Number>::compute(ChoiceId choice, std::span<const TypeId> types, std::span<const Id> a, std::span<const Id> b) {
  assignments_ = padded(asked_.size());
  std::array<const Number*, 2> operands{};
  for (std::size_t n = 0; n < types.size(); ++n) {
    if (assignments_ == 1) {
      operands[n] = values_[(n == 0 ? a : b)[asked_[0]]].numbers;
      continue;
    }
    const std::size_t elements = signature_.elements(types[n], sizes_);
    std::vector<Number>& numbers = operands_[n];
    if (numbers.size() < elements * assignments_) numbers.resize(elements * assignments_);
    for (std::size_t assignment = 0; assignment < assignments_; ++assignment) {
      // Pad the last block with the last assignment.
      const std::uint32_t k = asked_[std::min(assignment, asked_.size() - 1)];
      const Number* const from = values_[(n == 0 ? a : b)[k]].numbers;
      Number* const to = numbers.data() + assignment;
      for (std::size_t e = 0; e < elements; ++e) to[e * assignments_] = from[e];
    }
    operands[n] = numbers.data();
  }
  const std::vector<ElementPlan>& plans = signature_.plans(choice, types, sizes_);
  const std::span<const TypeId> outputs = signature_.type(choice, types);
  has_value_.assign(assignments_, true);
  for (std::size_t o = 0; o < plans.size(); ++o) {
    Results& r = results_[o];
    r.elements = plans[o].elements();
    if (r.numbers.size() < r.elements * assignments_) r.numbers.resize(r.elements * assignments_);
    if (r.hashes.size() < assignments_) r.hashes.resize(assignments_);
    if (!evaluate(plans[o], std::span(operands.data(), types.size()), assignments_, r.numbers.data())) {
      for (std::size_t e = 0; e < r.elements; ++e)
        for (std::size_t assignment = 0; assignment < assignments_; ++assignment)
          if (is_none(r.numbers[e * assignments_ + assignment])) has_value_[assignment] = false;
    }
    r.type = outputs[o];
    hash_assignments(r.numbers.data(), r.elements, assignments_, signature_.salt(r.type), r.hashes.data());
  }
}

template <typename Number>
auto ValueStore<Number>::intern(TypeId type, const Number* numbers, std::size_t stride, std::size_t elements, std::uint64_t hash) -> Id {
  // The key includes the type. Tensors of different types, with dimensions joined in different ways, can
  // have equal numbers and equal hashes.
  Known& known = known_.at(mix(hash ^ static_cast<std::uint64_t>(type) << 48) | 1);
  if (known.id != 0) return known.id;
  if (values_.empty()) values_.emplace_back();  // 0 is not an id
  known.id = static_cast<Id>(values_.size());
  assert(values_.size() < std::size_t{1} << 28);
  Number* const to = allocate(elements);
  double most = 0;
  for (std::size_t e = 0; e < elements; ++e) {
    to[e] = numbers[e * stride];
    most = std::max(most, magnitude(to[e]));
  }
  values_.push_back({to, hash, most});
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
  functionals_.clear();
  ++generation_;
}

template class ValueStore<Residue>;
template class ValueStore<Pair>;
template class ValueStore<Integer>;

}  // namespace xflow::generator
