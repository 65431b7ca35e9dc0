#include "src/equivalence/constant_rest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

namespace xflow::equivalence {
namespace {

using ir::Poly;
using ir::SymbolId;
using verifier::Atom;
using verifier::Condition;
using verifier::FactorKind;
using verifier::NormalTerm;
using verifier::Relation;

constexpr double kMostProducts = 4e6;
constexpr double kRoundings = 4;

// constant + sum of coefficient * value of a slot
struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> terms;

  std::int64_t at(std::span<const std::int64_t> values) const {
    std::int64_t sum = constant;
    for (const auto& [slot, coefficient] : terms) sum += coefficient * values[slot];
    return sum;
  }
};

struct LinearAtom {
  Linear linear;
  Relation relation{};

  bool holds(std::span<const std::int64_t> values) const {
    const std::int64_t value = linear.at(values);
    return relation == Relation::at_least_zero ? value >= 0 : (relation == Relation::zero) == (value == 0);
  }
};

// An element of a known variable, to a power.
struct Read {
  const KnownVariable* variable = nullptr;
  std::vector<Linear> indices;
  int power = 1;
};

// The least and the greatest value of a symbol.
struct IndexBounds {
  std::int64_t low = 0;
  std::int64_t high = -1;

  double count() const { return high < low ? 0.0 : static_cast<double>(high - low) + 1; }
};

struct KnownTerm {
  double coefficient = 1;
  std::vector<std::size_t> binders;  // slots
  std::vector<IndexBounds> bounds;   // of the binders
  std::vector<LinearAtom> conditions;
  std::vector<Read> reads;
};

// Slots of symbols.
class Slots {
 public:
  std::size_t of(SymbolId symbol) {
    const auto found = std::ranges::find(symbols_, symbol);
    if (found != symbols_.end()) return static_cast<std::size_t>(found - symbols_.begin());
    symbols_.push_back(symbol);
    return symbols_.size() - 1;
  }
  std::size_t size() const { return symbols_.size(); }
  const std::vector<SymbolId>& symbols() const { return symbols_; }

 private:
  std::vector<SymbolId> symbols_;
};

std::optional<Linear> linear_of(Poly poly, Slots& slots) {
  Linear linear;
  if (poly.is_poisoned()) return std::nullopt;
  for (const SymbolId symbol : poly.symbols()) {
    const auto split = poly.linear_in(symbol);
    const auto coefficient = split ? split->first.constant() : std::nullopt;
    if (!coefficient) return std::nullopt;
    linear.terms.emplace_back(slots.of(symbol), *coefficient);
    poly = split->second;
  }
  linear.constant = poly.constant_term();
  return linear;
}

// The bounds that conditions on this symbol alone give. Indices and binders are at least 0.
std::optional<IndexBounds> bounds_of(const ir::Symbols& symbols, SymbolId symbol, const Condition& conditions) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  if (symbols.info(symbol).kind != ir::SymbolKind::index) return std::nullopt;
  IndexBounds bounds{0, kNone};
  for (const Atom& atom : conditions) {
    const auto split = atom.poly.is_poisoned() ? std::nullopt : atom.poly.linear_in(symbol);
    if (!split) continue;
    const auto coefficient = split->first.constant();
    const auto rest = split->second.constant();
    if (!coefficient || *coefficient == 0 || !rest || atom.relation == Relation::not_zero) continue;
    // coefficient * symbol + rest >= 0, or = 0
    const std::int64_t bound = ir::floor_divide(*rest, std::abs(*coefficient));
    if (*coefficient > 0) bounds.low = std::max(bounds.low, -bound);
    if (*coefficient < 0) bounds.high = std::min(bounds.high, bound);
    if (atom.relation == Relation::zero && *coefficient > 0) bounds.high = std::min(bounds.high, ir::floor_divide(-*rest, *coefficient));
    if (atom.relation == Relation::zero && *coefficient < 0) bounds.low = std::max(bounds.low, -ir::floor_divide(-*rest, -*coefficient));
  }
  return bounds.high == kNone ? std::nullopt : std::optional(bounds);
}

// Calls `visit` at each point within the bounds of the slots, until it returns false.
template <typename Visit>
bool for_points(std::span<const std::size_t> slots, std::span<const IndexBounds> bounds, std::vector<std::int64_t>& values,
                const Visit& visit) {
  for (std::size_t k = 0; k < slots.size(); ++k) {
    if (bounds[k].count() <= 0) return true;
    values[slots[k]] = bounds[k].low;
  }
  for (;;) {
    if (!visit()) return false;
    std::size_t k = slots.size();
    while (k > 0 && values[slots[k - 1]] == bounds[k - 1].high) {
      values[slots[k - 1]] = bounds[k - 1].low;
      --k;
    }
    if (k == 0) return true;
    ++values[slots[k - 1]];
  }
}

class Rest {
 public:
  Rest(const ir::Symbols& symbols, const KnownVariables& known, const verifier::Deadline& deadline)
      : symbols_(symbols), known_(known), deadline_(deadline) {}

  // False if a term or the context cannot be evaluated.
  bool add(std::span<const NormalTerm> terms, const Condition& context) {
    double products = 0;
    for (const NormalTerm& term : terms) {
      if (!add(term)) return false;
      double own = 1;
      for (const IndexBounds& bounds : terms_.back().bounds) own *= bounds.count();
      products += own;
    }
    for (const SymbolId symbol : slots_.symbols()) {
      const std::size_t slot = slots_.of(symbol);
      if (std::ranges::find(binders_, slot) != binders_.end()) continue;
      const auto bounds = bounds_of(symbols_, symbol, context);
      if (!bounds) return false;
      free_.push_back(slot);
      bounds_.push_back(*bounds);
      products *= std::max(bounds->count(), 1.0);
    }
    // Conditions that say more than bounds leave points out. One that mentions a symbol that no term has is
    // ignored, so that more points are looked at.
    const std::size_t count = slots_.size();
    for (const Atom& atom : context) {
      const auto linear = linear_of(atom.poly, slots_);
      const bool is_ours = linear && std::ranges::all_of(linear->terms, [&](const auto& term) { return term.first < count; });
      if (is_ours) context_.push_back({*linear, atom.relation});
    }
    values_.resize(slots_.size());
    computes_ = terms_.size() > 2 || std::ranges::any_of(terms_, [](const KnownTerm& term) {
                  return term.reads.size() != 1 || term.reads[0].power != 1 || !term.binders.empty() || std::abs(term.coefficient) != 1;
                });
    return products <= kMostProducts;
  }

  std::optional<Rounding> run() {
    const bool explained = for_points(free_, bounds_, values_, [&] {
      if (deadline_.is_over()) return false;
      return !std::ranges::all_of(context_, [&](const LinearAtom& atom) { return atom.holds(values_); }) || point();
    });
    return explained ? std::optional(result_) : std::nullopt;
  }

 private:
  bool add(const NormalTerm& term) {
    if (!term.dimensions.empty()) return false;
    KnownTerm made;
    made.coefficient = term.coefficient.to_double();
    for (const SymbolId binder : term.binders) {
      const auto bounds = bounds_of(symbols_, binder, term.conditions);
      if (!bounds) return false;
      made.binders.push_back(slots_.of(binder));
      made.bounds.push_back(*bounds);
      binders_.push_back(made.binders.back());
    }
    for (const Atom& atom : term.conditions) {
      const auto linear = linear_of(atom.poly, slots_);
      if (!linear) return false;
      made.conditions.push_back({*linear, atom.relation});
    }
    for (const auto& [factor, power] : term.factors) {
      const auto variable = factor->kind == FactorKind::read ? known_.find(factor->variable) : known_.end();
      if (variable == known_.end() || factor->indices.size() != variable->second.dims.size()) return false;
      Read read{&variable->second, {}, power};
      for (const Poly& index : factor->indices) {
        const auto linear = linear_of(index, slots_);
        if (!linear) return false;
        read.indices.push_back(*linear);
      }
      const int bits = ir::mantissa_bits(read.variable->data_type);
      if (bits == 0) return false;
      unit_ = std::max(unit_, std::ldexp(1.0, -bits));
      made.reads.push_back(std::move(read));
    }
    terms_.push_back(std::move(made));
    return true;
  }

  // The element that a read has at the current point; nothing if it is none, or not finite.
  std::optional<double> element(const Read& read) const {
    std::size_t at = 0;
    for (std::size_t k = 0; k < read.indices.size(); ++k) {
      const std::int64_t index = read.indices[k].at(values_);
      if (index < 0 || index >= read.variable->dims[k]) return std::nullopt;
      at = at * static_cast<std::size_t>(read.variable->dims[k]) + static_cast<std::size_t>(index);
    }
    const double element = read.variable->elements[at];
    if (!std::isfinite(element) || (read.power < 0 && element == 0)) return std::nullopt;
    return read.power == 1 ? element : std::pow(element, read.power);
  }

  // The sum at the current point of the free symbols. False if rounding does not explain it.
  bool point() {
    double sum = 0;
    double mass = 0;
    std::uint64_t count = 0;
    for (const KnownTerm& term : terms_) {
      const bool is_known = for_points(term.binders, term.bounds, values_, [&] {
        if (!std::ranges::all_of(term.conditions, [&](const LinearAtom& atom) { return atom.holds(values_); })) return true;
        double product = term.coefficient;
        for (const Read& read : term.reads) {
          const auto factor = element(read);
          if (!factor) return false;
          product *= *factor;
        }
        sum += product;
        mass += std::abs(product);
        ++count;
        result_.magnitude = std::max(result_.magnitude, std::abs(product));
        return std::isfinite(product);
      });
      if (!is_known) return false;
    }
    const double allowed = computes_ ? kRoundings * unit_ * std::sqrt(static_cast<double>(count)) * mass : 0;
    result_.difference = std::max(result_.difference, std::abs(sum));
    result_.allowed = std::max(result_.allowed, allowed);
    return std::abs(sum) <= allowed;
  }

  const ir::Symbols& symbols_;
  const KnownVariables& known_;
  const verifier::Deadline& deadline_;
  Slots slots_;
  std::vector<KnownTerm> terms_;
  std::vector<std::size_t> binders_;  // slots, of all terms
  std::vector<std::size_t> free_;     // slots of the other symbols
  std::vector<IndexBounds> bounds_;   // by free symbol
  std::vector<LinearAtom> context_;
  std::vector<std::int64_t> values_;  // by slot
  double unit_ = 0;                   // the largest unit roundoff of the variables
  bool computes_ = false;             // not only two single elements
  Rounding result_;
};

}  // namespace

std::optional<Rounding> rounding_of_rest(const ir::Symbols& symbols, std::span<const NormalTerm> terms, const Condition& context,
                                         const KnownVariables& known, const verifier::Deadline& deadline) {
  Rest rest(symbols, known, deadline);
  if (!rest.add(terms, context)) return std::nullopt;
  return rest.run();
}

}  // namespace xflow::equivalence
