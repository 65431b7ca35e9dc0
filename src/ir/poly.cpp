#include "src/ir/poly.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace xflow::ir {
namespace {

// Products beyond these limits are poisoned. Sizes do not have thousands of terms, and the number of terms
// can double with each product.
constexpr std::size_t kMostProducts = 4096;  // products of two terms
constexpr std::uint32_t kMostDegree = 1U << 16U;

std::size_t mix_seed(std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9E3779B97F4A7C15ULL + (seed >> 29); }

Monomial multiply(const Monomial& a, const Monomial& b) {
  Monomial result;
  result.reserve(a.size() + b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].symbol < b[j].symbol)) {
      result.push_back(a[i++]);
    } else if (i == a.size() || b[j].symbol < a[i].symbol) {
      result.push_back(b[j++]);
    } else {
      result.push_back({a[i].symbol, a[i].power + b[j].power});
      ++i;
      ++j;
    }
  }
  return result;
}

// a / b if b divides a; nothing otherwise.
std::optional<Monomial> divide(const Monomial& a, const Monomial& b) {
  Monomial result;
  std::size_t j = 0;
  for (const Power& p : a) {
    if (j < b.size() && b[j].symbol < p.symbol) return std::nullopt;
    if (j < b.size() && b[j].symbol == p.symbol) {
      if (b[j].power > p.power) return std::nullopt;
      if (p.power > b[j].power) result.push_back({p.symbol, p.power - b[j].power});
      ++j;
    } else {
      result.push_back(p);
    }
  }
  if (j < b.size()) return std::nullopt;
  return result;
}

std::uint32_t degree(const Monomial& m) {
  std::uint32_t sum = 0;
  for (const Power& p : m) sum += p.power;
  return sum;
}

// A monomial order that is compatible with multiplication (graded, then lexicographic on powers), as exact
// division needs it.
bool leads(const Monomial& a, const Monomial& b) {
  const auto da = degree(a);
  const auto db = degree(b);
  if (da != db) return da > db;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].symbol != b[i].symbol) return a[i].symbol < b[i].symbol;
    if (a[i].power != b[i].power) return a[i].power > b[i].power;
  }
  return false;
}

}  // namespace

Poly::Poly(SymbolId symbol) {
  PolyTerm& term = terms_.emplace_back();
  term.monomial.push_back({symbol, 1});
  term.coefficient = 1;
}

Poly::Poly(PolyTerm term) {
  if (term.monomial.empty()) {
    constant_ = term.coefficient;
  } else if (term.coefficient != 0) {
    terms_.push_back(std::move(term));
  }
}

Poly Poly::poisoned() {
  Poly p;
  p.poisoned_ = true;
  return p;
}

std::optional<SymbolId> Poly::as_symbol() const {
  if (poisoned_ || constant_ != 0 || terms_.size() != 1 || terms_[0].coefficient != 1) return std::nullopt;
  const Monomial& m = terms_[0].monomial;
  if (m.size() != 1 || m[0].power != 1) return std::nullopt;
  return m[0].symbol;
}

SmallList<SymbolId, 4> Poly::symbols() const {
  SmallList<SymbolId, 4> result;
  for (const PolyTerm& t : terms_) {
    for (const Power& p : t.monomial) {
      const auto* const at = std::lower_bound(result.begin(), result.end(), p.symbol);
      if (at == result.end() || *at != p.symbol) result.insert(at, p.symbol);
    }
  }
  return result;
}

bool Poly::mentions(SymbolId symbol) const {
  for (const PolyTerm& t : terms_)
    for (const Power& p : t.monomial)
      if (p.symbol == symbol) return true;
  return false;
}

std::optional<std::pair<Poly, Poly>> Poly::linear_in(SymbolId symbol) const {
  if (poisoned_) return std::nullopt;
  std::pair<Poly, Poly> result;
  result.second.constant_ = constant_;
  for (const PolyTerm& t : terms_) {
    const auto found = std::find_if(t.monomial.begin(), t.monomial.end(), [&](const Power& p) { return p.symbol == symbol; });
    if (found == t.monomial.end()) {
      result.second.terms_.push_back(t);
      continue;
    }
    if (found->power != 1) return std::nullopt;
    Monomial rest = t.monomial;
    rest.erase(rest.begin() + (found - t.monomial.begin()));
    if (rest.empty()) {
      result.first.constant_ = t.coefficient;
    } else {
      result.first.add_term(rest, t.coefficient);
    }
  }
  return result;
}

void Poly::add_term(const Monomial& monomial, std::int64_t coefficient) {
  if (coefficient == 0) return;
  if (terms_.empty() || terms_.back().monomial < monomial) {
    terms_.push_back(PolyTerm{monomial, coefficient});
    return;
  }
  const auto at =
      std::lower_bound(terms_.begin(), terms_.end(), monomial, [](const PolyTerm& t, const Monomial& m) { return t.monomial < m; });
  if (at != terms_.end() && at->monomial == monomial) {
    if (__builtin_add_overflow(at->coefficient, coefficient, &at->coefficient)) {
      *this = poisoned();
      return;
    }
    if (at->coefficient == 0) terms_.erase(at);
    return;
  }
  terms_.insert(at, PolyTerm{monomial, coefficient});
}

Poly& Poly::operator+=(const Poly& other) {
  if (poisoned_ || other.poisoned_) return *this = poisoned();
  if (this == &other) return *this *= Poly(2);
  if (__builtin_add_overflow(constant_, other.constant_, &constant_)) return *this = poisoned();
  if (terms_.empty()) {
    terms_ = other.terms_;
    return *this;
  }
  for (const PolyTerm& t : other.terms_) {
    add_term(t.monomial, t.coefficient);
    if (poisoned_) break;
  }
  return *this;
}

Poly& Poly::operator-=(const Poly& other) {
  if (poisoned_ || other.poisoned_) return *this = poisoned();
  if (this == &other) return *this = Poly(0);
  if (__builtin_sub_overflow(constant_, other.constant_, &constant_)) return *this = poisoned();
  for (const PolyTerm& t : other.terms_) {
    std::int64_t negative = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, t.coefficient, &negative)) return *this = poisoned();
    add_term(t.monomial, negative);
    if (poisoned_) break;
  }
  return *this;
}

Poly& Poly::scale(std::int64_t by) {
  if (by == 0) return *this = Poly(0);
  bool overflow = __builtin_mul_overflow(constant_, by, &constant_);
  for (PolyTerm& t : terms_) overflow = __builtin_mul_overflow(t.coefficient, by, &t.coefficient) || overflow;
  return overflow ? *this = poisoned() : *this;
}

Poly& Poly::operator*=(const Poly& other) {
  if (poisoned_ || other.poisoned_) return *this = poisoned();
  if (other.terms_.empty()) return other.constant_ == 1 ? *this : scale(other.constant_);
  if (terms_.empty()) {
    const std::int64_t by = constant_;
    *this = other;
    return by == 1 ? *this : scale(by);
  }
  Poly result;
  if (__builtin_mul_overflow(constant_, other.constant_, &result.constant_)) return *this = poisoned();
  if (terms_.size() * other.terms_.size() > kMostProducts) return *this = poisoned();
  const auto add_product = [&](const Monomial& m, std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (degree(m) > kMostDegree || __builtin_mul_overflow(a, b, &product)) {
      result = poisoned();
    } else if (!result.poisoned_) {
      result.add_term(m, product);
    }
  };
  for (const PolyTerm& t : terms_) add_product(t.monomial, t.coefficient, other.constant_);
  for (const PolyTerm& t : other.terms_) add_product(t.monomial, t.coefficient, constant_);
  for (const PolyTerm& t : terms_)
    for (const PolyTerm& u : other.terms_) add_product(multiply(t.monomial, u.monomial), t.coefficient, u.coefficient);
  return *this = std::move(result);
}

bool operator==(const Poly& a, const Poly& b) { return !a.poisoned_ && !b.poisoned_ && a.constant_ == b.constant_ && a.terms_ == b.terms_; }

bool operator<(const Poly& a, const Poly& b) {
  if (a.poisoned_ != b.poisoned_) return b.poisoned_;
  const auto before = [](const PolyTerm& x, const PolyTerm& y) {
    return x.monomial != y.monomial ? x.monomial < y.monomial : x.coefficient < y.coefficient;
  };
  if (!(a.terms_ == b.terms_))
    return std::lexicographical_compare(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end(), before);
  return a.constant_ < b.constant_;
}

std::size_t Poly::hash() const {
  std::size_t h = mix_seed(poisoned_ ? 1 : 0, static_cast<std::size_t>(constant_));
  for (const PolyTerm& t : terms_) {
    for (const Power& p : t.monomial) h = mix_seed(mix_seed(h, static_cast<std::size_t>(p.symbol)), p.power);
    h = mix_seed(h, static_cast<std::size_t>(t.coefficient));
  }
  return h;
}

namespace {

// a / b if that is a 64-bit integer. The negative of the smallest 64-bit integer is not.
std::optional<std::int64_t> exact_quotient(std::int64_t a, std::int64_t b) {
  if (b == -1) return a == std::numeric_limits<std::int64_t>::min() ? std::nullopt : std::optional(-a);
  return a % b == 0 ? std::optional(a / b) : std::nullopt;
}

}  // namespace

std::optional<Poly> exact_divide(const Poly& a, const Poly& b) {
  if (a.is_poisoned() || b.is_poisoned() || b.is_zero()) return std::nullopt;
  if (b.is_one()) return a;
  if (a == b) return Poly(1);
  // Division by a single term: divide each term of a.
  if (b.terms_.size() + (b.constant_ == 0 ? 0 : 1) == 1) {
    const Monomial none;
    const Monomial& by = b.constant_ == 0 ? b.terms_.front().monomial : none;
    const std::int64_t coefficient = b.constant_ == 0 ? b.terms_.front().coefficient : b.constant_;
    Poly quotient;
    if (a.constant_ != 0) {
      const auto constant = exact_quotient(a.constant_, coefficient);
      if (!by.empty() || !constant) return std::nullopt;
      quotient.constant_ = *constant;
    }
    for (const PolyTerm& t : a.terms_) {
      const auto factor = exact_quotient(t.coefficient, coefficient);
      const auto rest = factor ? divide(t.monomial, by) : std::nullopt;
      if (!rest) return std::nullopt;
      if (rest->empty()) {
        quotient.constant_ = *factor;
      } else {
        quotient.add_term(*rest, *factor);
      }
    }
    return quotient;
  }
  // Division by leading terms. The constant is the last in the order.
  struct Leading {
    Monomial monomial;
    std::int64_t coefficient;
  };
  const auto leading = [](const Poly& p) {
    const PolyTerm* best = nullptr;
    for (const PolyTerm& t : p.terms())
      if (best == nullptr || leads(t.monomial, best->monomial)) best = &t;
    return best != nullptr ? Leading{best->monomial, best->coefficient} : Leading{{}, p.constant_term()};
  };
  const Leading divisor = leading(b);
  Poly rest = a;
  Poly quotient;
  while (!rest.is_zero()) {
    if (rest.is_poisoned()) return std::nullopt;
    const Leading top = leading(rest);
    const auto monomial = divide(top.monomial, divisor.monomial);
    const auto factor = exact_quotient(top.coefficient, divisor.coefficient);
    if (!monomial || !factor) return std::nullopt;
    const Poly term(PolyTerm{*monomial, *factor});
    quotient += term;
    rest -= term * b;
  }
  if (quotient.is_poisoned()) return std::nullopt;
  return quotient;
}

}  // namespace xflow::ir
