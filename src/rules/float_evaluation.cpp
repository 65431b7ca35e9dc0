// Evaluates elements for ordinary and for special numbers.
#include <algorithm>
#include <array>

#include "src/rules/float_elements.h"

namespace xflow::rules {
namespace {

using ops::FloatError;
using ops::ZeroSign;

constexpr std::size_t kTuples = 12;  // tuples of ordinary numbers that are tried
constexpr std::size_t kMostAssignments = 1500;

// A result, and how it may differ between runtimes or orders of operations.
struct Number {
  double value = 0;
  bool either = false;  // it is a 0 whose sign is open
  bool loose = false;   // undefined: infinities of opposite sign have met, or an infinity and 0
};

// What the results of comparisons of integers are.
enum class Truths : std::uint8_t {
  computed,  // what the operands give
  given,     // leaves: at one position they may always be the same, whatever the operands
};

class Evaluation {
 public:
  Evaluation(const Elements& elements, std::span<const ElementId> roots, Strictness strictness, Truths truths = Truths::computed)
      : elements_(elements),
        order_(truths == Truths::given ? evaluated(elements, roots) : elements.below(roots, false)),
        strictness_(strictness),
        numbers_(elements.size()) {
    for (const ElementId id : order_) {
      const Element& e = elements[id];
      if (truths == Truths::given && elements.compares_integers(id)) {
        truths_.push_back(leaves_.size());
        leaves_.push_back(id);
        continue;
      }
      if (e.kind == Element::Kind::variable || (e.kind == Element::Kind::application && !e.evaluable)) leaves_.push_back(id);
      if (e.kind == Element::Kind::number) literals_.push_back(e.number);
      if (e.kind != Element::Kind::application || !e.evaluable) continue;
      for (const double a : e.attributes)
        if (std::isfinite(a)) literals_.push_back(a);
    }
    std::sort(literals_.begin(), literals_.end());
    literals_.erase(std::unique(literals_.begin(), literals_.end()), literals_.end());
  }

  const std::vector<ElementId>& leaves() const { return leaves_; }
  const std::vector<double>& literals() const { return literals_; }
  // The positions among the leaves of comparisons of integers, if these are given.
  const std::vector<std::size_t>& truths() const { return truths_; }

  void run(std::span<const double> values) {
    std::size_t leaf = 0;
    for (const ElementId id : order_) {
      const Element& e = elements_[id];
      Number& n = numbers_[static_cast<std::size_t>(id)];
      if (leaf < leaves_.size() && leaves_[leaf] == id) {
        n = {values[leaf++], false, false};
      } else {
        n = e.kind == Element::Kind::number ? Number{e.number, false, false} : applied(e);
      }
    }
  }
  const Number& operator[](ElementId id) const { return numbers_[static_cast<std::size_t>(id)]; }

 private:
  // The elements below the roots, in the order of ids, but not those below comparisons of integers.
  static std::vector<ElementId> evaluated(const Elements& elements, std::span<const ElementId> roots) {
    std::vector<ElementId> all = elements.below(roots, false);
    std::vector<bool> is_read(elements.size(), false);
    for (const ElementId root : roots) is_read[static_cast<std::size_t>(root)] = true;
    for (auto id = all.rbegin(); id != all.rend(); ++id) {
      const Element& e = elements[*id];
      if (!is_read[static_cast<std::size_t>(*id)] || elements.compares_integers(*id)) continue;
      if (e.kind == Element::Kind::application && e.evaluable)
        for (const ElementId operand : e.operands) is_read[static_cast<std::size_t>(operand)] = true;
    }
    std::erase_if(all, [&](ElementId id) { return !is_read[static_cast<std::size_t>(id)]; });
    return all;
  }

  Number applied(const Element& e) const {
    std::array<double, 3> v{};
    Number result;
    bool nan = false;
    bool infinite = false;
    bool either = false;
    for (std::size_t k = 0; k < e.operands.size(); ++k) {
      const Number& n = (*this)[e.operands[k]];
      v[k] = n.value;
      nan = nan || std::isnan(n.value);
      infinite = infinite || std::isinf(n.value);
      either = either || (n.either && n.value == 0);
      result.loose = result.loose || n.loose;
    }
    result.value = e.effect->scalar({v.data(), e.operands.size()}, e.attributes);
    if (std::isnan(result.value) && !nan && infinite) result.loose = true;
    if (std::isinf(result.value) && either) result.loose = true;
    if (result.value == 0) result.either = either || open_sign(e, v);
    return result;
  }

  // True if the sign of a result of 0 may differ.
  bool open_sign(const Element& e, const std::array<double, 3>& v) const {
    const bool mixed = e.operands.size() == 2 && v[0] == 0 && v[1] == 0 && std::signbit(v[0]) != std::signbit(v[1]);
    if (e.effect->zero == ZeroSign::either && (mixed || strictness_ == Strictness::rounding)) return true;
    if (e.effect->zero == ZeroSign::by_runtime && strictness_ == Strictness::rounding) return true;
    if (e.effect->error != FloatError::adds) return false;
    if (v[0] != 0) return true;  // the terms cancel
    const bool difference = subtracts(*e.effect);
    const bool written = std::ranges::any_of(e.operands, [&](ElementId o) { return elements_.literal(o).has_value(); });
    return !written && (std::signbit(v[0]) == std::signbit(v[1])) == difference;
  }

  const Elements& elements_;
  std::vector<ElementId> order_;
  Strictness strictness_;
  std::vector<Number> numbers_;
  std::vector<ElementId> leaves_;
  std::vector<std::size_t> truths_;
  std::vector<double> literals_;
};

// True for an element that is 0 or 1.
bool is_truth(const Elements& elements, ElementId id) { return elements[id].boolean || elements.compares_integers(id); }

// Tuple `k` of ordinary numbers that the rule's guards allow for the leaves. The first tuples are positive.
std::vector<double> ordinary(const Elements& elements, const Evaluation& evaluation, std::size_t k) {
  static constexpr std::array<double, 12> kNumbers = {0.6, 1.3, 2.2, 3.7, 0.25, 5.1, -0.45, -1.7, -2.9, -0.2, 7.3, -6.4};
  std::vector<double> result;
  for (std::size_t i = 0; i < evaluation.leaves().size(); ++i) {
    const ElementId leaf = evaluation.leaves()[i];
    const std::size_t among = k < 3 ? 6 : kNumbers.size();
    double value = kNumbers[(i * 5 + k * 7 + i * k * 3 + k * k) % among];
    if (k % 4 == 3 && !evaluation.literals().empty()) value += evaluation.literals()[(i + k) % evaluation.literals().size()];
    if (elements.guarded(leaf, Guard::Kind::is_nonnegative) || elements.guarded(leaf, Guard::Kind::is_positive)) value = std::abs(value);
    if (elements[leaf].integer) value = std::round(value);
    value = elements.literal(leaf).value_or(value);
    result.push_back(is_truth(elements, leaf) ? static_cast<double>((k >> (i % 3)) & 1U) : value);
  }
  return result;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max({1.0, std::abs(a), std::abs(b)}); }

// The special numbers that the rule's guards allow for leaf `id`.
std::vector<double> specials(const Elements& elements, const Evaluation& evaluation, ElementId id, bool few) {
  const Element& e = elements[id];
  if (is_truth(elements, id)) return {0, 1};
  if (e.integer) return {0, 1, -1, 2, 3};
  std::vector<double> all = {kNan, kInfinity, -kInfinity, 0.0, -0.0, 1.25, -1.25};
  if (!few) {
    all.insert(all.end(), {2.5, -3.5, 0.3, -0.3});
    for (const double l : evaluation.literals())
      if (l != 0 && all.size() < 24) all.insert(all.end(), {l, -l, l + 0.25, l - 0.25});
  }
  const auto drop = [&](auto when) { all.erase(std::remove_if(all.begin(), all.end(), when), all.end()); };
  if (const auto value = elements.literal(id)) all = {*value};
  if (elements.guarded(id, Guard::Kind::is_nonzero)) drop([](double v) { return v == 0; });
  if (elements.guarded(id, Guard::Kind::is_positive)) drop([](double v) { return !(v > 0); });
  if (elements.guarded(id, Guard::Kind::is_nonnegative)) drop([](double v) { return !(v >= 0); });  // keeps -0
  if (elements.guarded(id, Guard::Kind::is_finite)) drop([](double v) { return !std::isfinite(v); });
  if (all.empty()) all = {1.25};
  return all;
}

SpecialChange change(const Number& a, const Number& b, Strictness strictness) {
  const bool strict = strictness == Strictness::bits;
  if (!strict && (a.loose || b.loose)) return SpecialChange::none;
  if (std::isnan(a.value) != std::isnan(b.value)) return SpecialChange::nan;
  if (std::isnan(a.value)) return SpecialChange::none;
  if (std::isinf(a.value) || std::isinf(b.value)) return a.value == b.value ? SpecialChange::none : SpecialChange::infinity;
  if (strict ? a.value != b.value : !close(a.value, b.value)) return SpecialChange::infinity;
  if (a.value != 0 || b.value != 0) return SpecialChange::none;
  const bool same = std::signbit(a.value) == std::signbit(b.value);
  if (strict) return same && !a.either && !b.either ? SpecialChange::none : SpecialChange::zero_sign;
  return same || a.either || b.either ? SpecialChange::none : SpecialChange::zero_sign;
}

// Calls `visit` with every assignment of numbers to the leaves. If there are more than kMostAssignments,
// calls it with the assignments in which at most two leaves differ from `usual`. Stops when `visit` returns
// false.
template <typename Visit>
void for_assignments(const std::vector<std::vector<double>>& numbers, const std::vector<double>& usual, Visit visit) {
  std::size_t count = 1;
  for (const auto& list : numbers) count = std::min(count * list.size(), kMostAssignments + 1);
  std::vector<double> values = usual;
  if (count <= kMostAssignments) {
    for (std::size_t n = 0; n < count; ++n) {
      std::size_t rest = n;
      for (std::size_t k = 0; k < numbers.size(); ++k) {
        values[k] = numbers[k][rest % numbers[k].size()];
        rest /= numbers[k].size();
      }
      if (!visit(values)) return;
    }
    return;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t j = i + 1; j < numbers.size(); ++j)
      for (const double a : numbers[i])
        for (const double b : numbers[j]) {
          values = usual;
          values[i] = a;
          values[j] = b;
          if (!visit(values)) return;
        }
}

}  // namespace

namespace {

constexpr int kPoints = std::numeric_limits<PointSet>::digits;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

// The value of a variable at a point: of both signs, between 0.01 and 1000, if the guards allow it.
double value_at(const Elements& elements, ElementId leaf, int point) {
  const std::uint64_t bits = mixed(static_cast<std::uint64_t>(leaf + 1) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(point));
  if (is_truth(elements, leaf)) return static_cast<double>(bits & 1U);
  if (const auto value = elements.literal(leaf)) return *value;
  double size = std::pow(10.0, -2 + 5 * static_cast<double>(bits >> 11U) / static_cast<double>(std::uint64_t{1} << 53U));
  if (elements[leaf].integer) size = std::round(size);
  const bool positive = elements.guarded(leaf, Guard::Kind::is_nonnegative) || elements.guarded(leaf, Guard::Kind::is_positive);
  return positive || (bits & 1U) == 0 ? size : -size;
}

}  // namespace

PointSet region_of(const Elements& elements, ElementId id, std::size_t operand) {
  const ElementId roots[] = {id};
  Evaluation evaluation(elements, roots, Strictness::rounding);
  const Element& e = elements[id];
  if (std::ranges::any_of(evaluation.leaves(), [&](ElementId leaf) { return elements[leaf].kind == Element::Kind::application; })) {
    std::string key = e.name;
    const ElementId of_operand[] = {e.operands[operand]};
    for (const std::string& name : elements.variables(of_operand)) key += ' ' + name;
    for (const double a : e.attributes) key += ' ' + std::to_string(a);
    for (const ElementId o : e.operands)
      if (elements[o].boolean) key += ' ' + std::to_string(o) + (operand == 1 ? '+' : '-');
    return mixed(std::hash<std::string>{}(key));
  }
  PointSet region = 0;
  for (int point = 0; point < kPoints; ++point) {
    std::vector<double> values;
    for (const ElementId leaf : evaluation.leaves()) values.push_back(value_at(elements, leaf, point));
    evaluation.run(values);
    std::vector<double> operands;
    operands.reserve(e.operands.size());
    for (const ElementId o : e.operands) operands.push_back(evaluation[o].value);
    const double before = e.effect->scalar(operands, e.attributes);
    operands[operand] += 1e-6 * (1 + std::abs(operands[operand]));
    if (e.effect->scalar(operands, e.attributes) != before) region |= PointSet{1} << static_cast<unsigned>(point);
  }
  return region;
}

namespace {

// The number of ways in which the given comparisons of integers come out, a bit for each; 0 if they are too
// many.
std::size_t ways_of(const Evaluation& evaluation) {
  constexpr std::size_t kMostTruths = 6;
  return evaluation.truths().size() > kMostTruths ? 0 : std::size_t{1} << evaluation.truths().size();
}

// Whether two elements are equal for ordinary numbers, where these comparisons come out in this way.
bool are_equal_where(const Elements& elements, Evaluation& evaluation, ElementId a, ElementId b, std::size_t way) {
  for (std::size_t k = 0; k < kTuples; ++k) {
    std::vector<double> values = ordinary(elements, evaluation, k);
    for (std::size_t n = 0; n < evaluation.truths().size(); ++n) values[evaluation.truths()[n]] = static_cast<double>((way >> n) & 1U);
    evaluation.run(values);
    const double x = evaluation[a].value;
    const double y = evaluation[b].value;
    if (std::isfinite(x) && std::isfinite(y) && !close(x, y)) return false;
  }
  return true;
}

}  // namespace

bool may_be_equal(const Elements& elements, ElementId a, ElementId b) {
  if (a == b) return true;
  const ElementId roots[] = {a, b};
  Evaluation evaluation(elements, roots, Strictness::rounding);
  return are_equal_where(elements, evaluation, a, b, 0);
}

bool may_meet(const Elements& elements, ElementId a, ElementId b) {
  if (a == b || !elements.moves()) return true;
  const ElementId roots[] = {a, b};
  Evaluation evaluation(elements, roots, Strictness::rounding, Truths::given);
  const std::size_t ways = ways_of(evaluation);
  for (std::size_t way = 0; way < ways; ++way)
    if (are_equal_where(elements, evaluation, a, b, way)) return true;
  return ways == 0;
}

namespace {

// True if element `id` changes with leaf number `leaf`, for some ordinary numbers.
bool depends_on_leaf(const Elements& elements, Evaluation& evaluation, ElementId id, std::size_t leaf) {
  for (std::size_t k = 0; k < kTuples; ++k) {
    std::vector<double> values = ordinary(elements, evaluation, k);
    evaluation.run(values);
    const double before = evaluation[id].value;
    for (const double other : {0.0, 1.0, 9.5, -9.5}) {
      if (is_truth(elements, evaluation.leaves()[leaf]) && std::abs(other) > 1) continue;
      values[leaf] = other;
      evaluation.run(values);
      if (!close(evaluation[id].value, before)) return true;
    }
  }
  return false;
}

}  // namespace

bool depends_on_all(const Elements& elements, ElementId id) {
  const ElementId roots[] = {id};
  Evaluation evaluation(elements, roots, Strictness::bits);
  for (std::size_t leaf = 0; leaf < evaluation.leaves().size(); ++leaf)
    if (!depends_on_leaf(elements, evaluation, id, leaf)) return false;
  return true;
}

namespace {

// True if no variable is read by two of the leaves of `a` and `b`, unless the two are elements of it at
// different places. `but_for_truths` leaves out comparisons of integers.
bool are_independent(const Elements& elements, ElementId a, ElementId b, bool but_for_truths = false) {
  const ElementId roots[] = {a, b};
  const Evaluation evaluation(elements, roots, Strictness::bits);
  std::map<std::string, bool> seen;  // with whether an opaque function reads it
  for (const ElementId leaf : evaluation.leaves()) {
    if (but_for_truths && elements.compares_integers(leaf)) continue;
    const ElementId of_leaf[] = {leaf};
    const bool opaque = elements[leaf].kind == Element::Kind::application;
    for (const std::string& name : elements.variables(of_leaf)) {
      const auto [before, fresh] = seen.emplace(name, opaque);
      if (!fresh && (opaque || before->second)) return false;
    }
  }
  return true;
}

// True if `id` surely changes with variable `name`: it occurs in one leaf, on which the element depends.
bool depends_on(const Elements& elements, ElementId id, const std::string& name) {
  const ElementId roots[] = {id};
  Evaluation evaluation(elements, roots, Strictness::bits);
  const auto reads = [&](ElementId of) {
    const ElementId one[] = {of};
    return elements.variables(one).contains(name);
  };
  if (std::ranges::count_if(evaluation.leaves(), reads) != 1) return false;
  const std::size_t leaf = static_cast<std::size_t>(std::ranges::find_if(evaluation.leaves(), reads) - evaluation.leaves().begin());
  if (!depends_on_leaf(elements, evaluation, id, leaf)) return false;
  // An opaque function of one element of each operand depends on each of them. Terms of sums can cancel.
  const Element& e = elements[evaluation.leaves()[leaf]];
  if (e.kind == Element::Kind::application && e.effect->work == ops::FloatWork::accumulates) return false;
  return e.kind == Element::Kind::variable ||
         (std::ranges::count_if(e.operands, reads) == 1 && depends_on(elements, *std::ranges::find_if(e.operands, reads), name));
}

}  // namespace

bool never_meet(const Elements& elements, ElementId a, ElementId b) {
  if (a == b) return false;
  if (are_independent(elements, a, b) && !may_be_equal(elements, a, b)) return true;
  const ElementId only_a[] = {a};
  const ElementId only_b[] = {b};
  const std::set<std::string> of_a = elements.variables(only_a);
  const std::set<std::string> of_b = elements.variables(only_b);
  return std::ranges::any_of(
             of_a, [&](const std::string& v) { return !of_b.contains(v) && elements.is_free(v) && depends_on(elements, a, v); }) ||
         std::ranges::any_of(of_b,
                             [&](const std::string& v) { return !of_a.contains(v) && elements.is_free(v) && depends_on(elements, b, v); });
}

bool reads_once(const Elements& elements, ElementId id) {
  std::set<ElementId> seen;
  std::vector<ElementId> open = {id};
  while (!open.empty()) {
    const ElementId at = open.back();
    open.pop_back();
    const Element& e = elements[at];
    if (e.kind == Element::Kind::variable && !seen.insert(at).second) return false;
    open.insert(open.end(), e.operands.begin(), e.operands.end());
  }
  return true;
}

SpecialChange special_change(const Elements& elements, ElementId a, ElementId b, Strictness strictness) {
  if (a == b) return SpecialChange::none;
  const ElementId roots[] = {a, b};
  Evaluation evaluation(elements, roots, strictness, elements.moves() ? Truths::given : Truths::computed);
  std::vector<std::vector<double>> numbers;
  for (const ElementId leaf : evaluation.leaves()) numbers.push_back(specials(elements, evaluation, leaf, evaluation.leaves().size() > 2));
  // The ways in which the comparisons of integers cannot come out at a position of both elements.
  std::vector<bool> differs(ways_of(evaluation), false);
  if (!evaluation.truths().empty() && are_independent(elements, a, b, true))
    for (std::size_t way = 0; way < differs.size(); ++way) differs[way] = !are_equal_where(elements, evaluation, a, b, way);
  SpecialChange found = SpecialChange::none;
  for_assignments(numbers, ordinary(elements, evaluation, 1), [&](const std::vector<double>& values) {
    std::size_t way = 0;
    for (std::size_t n = 0; n < evaluation.truths().size(); ++n) way |= std::size_t{values[evaluation.truths()[n]] != 0} << n;
    if (way < differs.size() && differs[way]) return true;
    evaluation.run(values);
    found = change(evaluation[a], evaluation[b], strictness);
    return found == SpecialChange::none;
  });
  return found;
}

}  // namespace xflow::rules
