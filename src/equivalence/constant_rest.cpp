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
using verifier::NormalTerm;
using verifier::Relation;

constexpr double kMostProducts = 64e6;
constexpr double kMostPositions = 1e6;
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

struct KnownTerm {
  double coefficient = 1;
  std::vector<std::size_t> binders;  // slots
  std::vector<IndexBounds> bounds;   // of the binders
  std::vector<LinearAtom> conditions;
  std::vector<Read> reads;
  std::vector<Linear> position;  // in binders and free symbols
  bool is_element = false;       // 1 or -1 times a single element
};

// A coefficient: the sum of the terms at one position.
struct Coefficient {
  double sum = 0;
  double mass = 0;  // the sum of magnitudes
  std::uint32_t count = 0;
  bool is_computed = false;  // not of elements alone
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
  bool add(const RestGroup& group, const Condition& context) {
    double products = 0;
    for (const KnownPart& part : group.terms) {
      if (!add(part)) return false;
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
    if (!std::ranges::all_of(terms_, [&](const KnownTerm& term) { return reads_own_binders(term); })) return false;
    return products <= kMostProducts && lay_out();
  }

  std::optional<Rounding> run() {
    const bool explained = for_points(free_, bounds_, values_, [&] {
      if (deadline_.is_over()) return false;
      return !std::ranges::all_of(context_, [&](const LinearAtom& atom) { return atom.holds(values_); }) || point();
    });
    return explained ? std::optional(result_) : std::nullopt;
  }

 private:
  bool add(const KnownPart& part) {
    const NormalTerm& term = part.term;
    KnownTerm made;
    made.coefficient = term.coefficient.to_double();
    for (const SymbolId binder : term.binders) {
      const auto bounds = bounds_of(symbols_, binder, term.conditions);
      if (!bounds) return false;
      made.binders.push_back(slots_.of(binder));
      made.bounds.push_back(*bounds);
      binders_.push_back(made.binders.back());
    }
    for (const Atom& atom : part.conditions) {
      const auto linear = linear_of(atom.poly, slots_);
      if (!linear) return false;
      made.conditions.push_back({*linear, atom.relation});
    }
    for (const Poly& position : part.position) {
      const auto linear = linear_of(position, slots_);
      if (!linear) return false;
      made.position.push_back(*linear);
    }
    for (const auto& [factor, power] : term.factors) {
      const auto variable = known_.find(factor->variable);
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
    made.is_element = made.reads.size() == 1 && made.reads[0].power == 1 && std::abs(made.coefficient) == 1;
    terms_.push_back(std::move(made));
    return true;
  }

  // Whether no term has a binder of another term, where it would be another symbol.
  bool reads_own_binders(const KnownTerm& term) const {
    const auto is_own = [&](const Linear& linear) {
      return std::ranges::all_of(linear.terms, [&](const auto& part) {
        return std::ranges::find(term.binders, part.first) != term.binders.end() ||
               std::ranges::find(binders_, part.first) == binders_.end();
      });
    };
    return std::ranges::all_of(term.conditions, is_own, &LinearAtom::linear) && std::ranges::all_of(term.position, is_own) &&
           std::ranges::all_of(term.reads, [&](const Read& read) { return std::ranges::all_of(read.indices, is_own); });
  }

  // Numbers the positions.
  bool lay_out() {
    double count = 1;
    for (std::size_t k = 0; k < terms_[0].position.size(); ++k) {
      IndexBounds range{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
      for (const KnownTerm& term : terms_) {
        std::int64_t low = term.position[k].constant;
        std::int64_t high = low;
        for (const auto& [slot, coefficient] : term.position[k].terms) {
          const IndexBounds* bounds = bounds_at(term, slot);
          if (bounds == nullptr || bounds->count() <= 0) return false;
          low += coefficient * (coefficient > 0 ? bounds->low : bounds->high);
          high += coefficient * (coefficient > 0 ? bounds->high : bounds->low);
        }
        range = {std::min(range.low, low), std::max(range.high, high)};
      }
      count *= std::max(range.count(), 1.0);
      if (count > kMostPositions) return false;
      ranges_.push_back(range);
    }
    coefficients_.resize(static_cast<std::size_t>(count));
    return true;
  }

  // The bounds of a binder of the term, or of a free symbol; null for a binder of another term.
  const IndexBounds* bounds_at(const KnownTerm& term, std::size_t slot) const {
    const auto binder = std::ranges::find(term.binders, slot);
    if (binder != term.binders.end()) return &term.bounds[static_cast<std::size_t>(binder - term.binders.begin())];
    const auto free = std::ranges::find(free_, slot);
    return free == free_.end() ? nullptr : &bounds_[static_cast<std::size_t>(free - free_.begin())];
  }

  std::size_t position_of(const KnownTerm& term) const {
    std::size_t at = 0;
    for (std::size_t k = 0; k < ranges_.size(); ++k)
      at = at * static_cast<std::size_t>(ranges_[k].count()) + static_cast<std::size_t>(term.position[k].at(values_) - ranges_[k].low);
    return at;
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

  // The coefficients at the current point of the free symbols. False if rounding does not explain them.
  bool point() {
    touched_.clear();
    bool is_known = true;
    for (const KnownTerm& term : terms_) is_known = is_known && add_products(term);
    for (const std::size_t at : touched_) {
      Coefficient& found = coefficients_[at];
      const bool is_computed = found.is_computed || found.count > 2;
      const double allowed = is_computed ? kRoundings * unit_ * std::sqrt(static_cast<double>(found.count)) * found.mass : 0;
      result_.difference = std::max(result_.difference, std::abs(found.sum));
      result_.allowed = std::max(result_.allowed, allowed);
      is_known = is_known && std::abs(found.sum) <= allowed;
      found = {};
    }
    return is_known;
  }

  // Adds the products of a term at the current point. False if one is not known.
  bool add_products(const KnownTerm& term) {
    return for_points(term.binders, term.bounds, values_, [&] {
      if (!std::ranges::all_of(term.conditions, [&](const LinearAtom& atom) { return atom.holds(values_); })) return true;
      double product = term.coefficient;
      for (const Read& read : term.reads) {
        const auto factor = element(read);
        if (!factor) return false;
        product *= *factor;
      }
      const std::size_t at = position_of(term);
      Coefficient& coefficient = coefficients_[at];
      if (coefficient.count == 0) touched_.push_back(at);
      coefficient.sum += product;
      coefficient.mass += std::abs(product);
      ++coefficient.count;
      coefficient.is_computed = coefficient.is_computed || !term.is_element;
      result_.magnitude = std::max(result_.magnitude, std::abs(product));
      return std::isfinite(product);
    });
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
  std::vector<std::int64_t> values_;       // by slot
  double unit_ = 0;                        // the largest unit roundoff of the variables
  std::vector<IndexBounds> ranges_;        // of positions
  std::vector<Coefficient> coefficients_;  // by position
  std::vector<std::size_t> touched_;       // positions at the current point
  Rounding result_;
};

}  // namespace

std::optional<Rounding> rounding_of_rest(const ir::Symbols& symbols, std::span<const NormalTerm> terms, const Condition& context,
                                         const KnownVariables& known, const verifier::Deadline& deadline) {
  const auto groups = group_rest(symbols, terms, context, known);
  if (!groups) return std::nullopt;
  Rounding result;
  for (const RestGroup& group : *groups) {
    Rest rest(symbols, known, deadline);
    const auto found = rest.add(group, context) ? rest.run() : std::nullopt;
    if (!found) return std::nullopt;
    result.difference = std::max(result.difference, found->difference);
    result.allowed = std::max(result.allowed, found->allowed);
    result.magnitude = std::max(result.magnitude, found->magnitude);
  }
  return result;
}

}  // namespace xflow::equivalence
