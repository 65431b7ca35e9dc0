#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

#include "src/ir/poly.h"

namespace xflow::ir {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

namespace {

// The greatest common divisor of all coefficients.
std::int64_t content(const Poly& p) {
  std::int64_t g = p.constant_term() == std::numeric_limits<std::int64_t>::min() ? 1 : std::abs(p.constant_term());
  for (const PolyTerm& t : p.terms()) g = std::gcd(g, t.coefficient);
  return g == 0 ? 1 : g;
}

// The greatest monomial that divides every term of p; 1 if p has a constant term.
Poly common_monomial(const Poly& p) {
  if (p.constant_term() != 0 || p.terms().empty()) return Poly(1);
  Monomial common = p.terms().front().monomial;
  for (const PolyTerm& t : p.terms()) {
    Monomial next;
    for (const Power& c : common)
      for (const Power& d : t.monomial)
        if (c.symbol == d.symbol) next.push_back({c.symbol, std::min(c.power, d.power)});
    common = std::move(next);
  }
  return Poly(PolyTerm{std::move(common), 1});
}

// The greatest monomial that divides a and b. Callers must check that its symbols are at least 1.
Poly common_factor(const Poly& a, const Poly& b) {
  const Poly ma = common_monomial(a);
  const Poly mb = common_monomial(b);
  Poly result(1);
  if (ma.is_one() || mb.is_one()) return result;
  for (const Power& x : ma.terms().front().monomial)
    for (const Power& y : mb.terms().front().monomial)
      if (x.symbol == y.symbol)
        for (std::uint32_t k = 0; k < std::min(x.power, y.power); ++k) result *= Poly(x.symbol);
  return result;
}

bool is_defined(SymbolKind kind) { return kind == SymbolKind::floor_div || kind == SymbolKind::maximum || kind == SymbolKind::element; }

}  // namespace

SymbolId Symbols::named(SymbolKind kind, std::string_view name) {
  assert(!is_defined(kind));
  std::pair<SymbolKind, std::string> key(kind, std::string(name));
  if (const auto found = names_.find(key); found != names_.end()) return found->second;
  const auto id = static_cast<SymbolId>(infos_.size());
  infos_.push_back(SymbolInfo{kind, std::string(name), {}, 0});
  names_.emplace(std::move(key), id);
  return id;
}

SymbolId Symbols::fresh(SymbolKind kind, std::string_view hint) {
  assert(!is_defined(kind));
  const auto id = static_cast<SymbolId>(infos_.size());
  infos_.push_back(SymbolInfo{kind, std::string(hint.empty() ? "_" : hint) + "'" + std::to_string(++fresh_count_), {}, 0});
  return id;
}

SymbolId Symbols::define(SymbolKind kind, std::vector<Poly> arguments, std::uint32_t tensor) {
  std::size_t h = static_cast<std::size_t>(kind) * 31 + tensor;
  for (const Poly& p : arguments) h = h * 1000003 + p.hash();
  const auto [begin, end] = defined_.equal_range(h);
  for (auto it = begin; it != end; ++it) {
    const SymbolInfo& other = info(it->second);
    if (other.kind == kind && other.tensor == tensor && other.arguments == arguments) return it->second;
  }
  const auto id = static_cast<SymbolId>(infos_.size());
  infos_.push_back(SymbolInfo{kind, {}, std::move(arguments), tensor});
  defined_.emplace(h, id);
  return id;
}

Poly Symbols::floor_div(const Poly& a, const Poly& b) {
  if (a.is_poisoned() || b.is_poisoned() || b.is_zero()) return Poly::poisoned();
  if (b == Poly(-1)) return -a;
  if (a.is_constant() && b.is_constant()) return Poly(floor_divide(*a.constant(), *b.constant()));
  if (const auto exact = exact_divide(a, b)) return *exact;
  // floor((q b + r) / b) = q + floor(r / b), applied term by term. A constant b also splits coefficients.
  Poly outside;
  Poly inside;
  const auto take = [&](const Poly& term) {
    if (const auto q = exact_divide(term, b)) {
      outside += *q;
    } else {
      inside += term;
    }
  };
  if (b.is_constant()) {
    const std::int64_t d = *b.constant();
    for (const PolyTerm& t : a.terms()) {
      const Poly term = Poly(t);
      const std::int64_t q = floor_divide(t.coefficient, d);
      const Poly unit = *exact_divide(term, Poly(t.coefficient));
      outside += unit * Poly(q);
      inside += unit * Poly(t.coefficient - q * d);
    }
    const std::int64_t q = floor_divide(a.constant_term(), d);
    outside += Poly(q);
    inside += Poly(a.constant_term() - q * d);
  } else if (b.terms().size() == 1 && b.constant_term() == 0) {
    for (const PolyTerm& t : a.terms()) take(Poly(t));
    inside += Poly(a.constant_term());
  } else {
    inside = a;
    // b is a sum: subtract multiples of b that cancel a term and leave fewer terms.
    for (const PolyTerm& t : a.terms()) {
      if (b.terms().empty()) break;
      if (const auto q = exact_divide(Poly(t), Poly(b.terms().back()))) {
        const Poly next = inside - *q * b;
        if (next.terms().size() < inside.terms().size()) {
          outside += *q;
          inside = next;
        }
      }
    }
  }
  if (outside.is_poisoned() || inside.is_poisoned()) return Poly::poisoned();
  if (inside.is_zero()) return outside;
  Poly divisor = b;
  // Cancel common factors: constants, floor((g x + c) / (g y)) = floor((x + floor(c / g)) / y), and symbols
  // that are at least 1.
  std::int64_t g = content(divisor);
  for (const PolyTerm& t : inside.terms()) g = std::gcd(g, t.coefficient);
  if (g > 1) {
    const std::int64_t c = inside.constant_term();
    inside = *exact_divide(inside - Poly(c), Poly(g)) + Poly(floor_divide(c, g));
    divisor = *exact_divide(divisor, Poly(g));
    if (inside.is_zero()) return outside;
  }
  if (const Poly common = common_factor(inside, divisor); !common.is_one() && lower_bound(common).value_or(0) >= 1) {
    inside = *exact_divide(inside, common);
    divisor = *exact_divide(divisor, common);
  }
  if (divisor.is_one()) return outside + inside;
  // If the bounds show 0 <= inside < divisor, the floor is 0.
  if (inside.is_constant() && *inside.constant() >= 0) {
    if (const auto low = lower_bound(divisor); low && *low > *inside.constant()) return outside;
  }
  // floor((floor(x / y) + r) / z) = floor((x + r y) / (y z)) for y, z >= 1 and an integer r.
  for (const PolyTerm& t : inside.terms()) {
    if (t.coefficient != 1 || t.monomial.size() != 1 || t.monomial[0].power != 1) continue;
    const SymbolInfo& s = info(t.monomial[0].symbol);
    if (s.kind != SymbolKind::floor_div) continue;
    const Poly rest = inside - Poly(t.monomial[0].symbol);
    const Poly x = s.arguments[0];
    const Poly y = s.arguments[1];
    return outside + floor_div(x + rest * y, y * divisor);
  }
  return outside + Poly(define(SymbolKind::floor_div, {inside, divisor}, 0));
}

Poly Symbols::max(const Poly& a, const Poly& b) {
  if (a.is_poisoned() || b.is_poisoned()) return Poly::poisoned();
  if (a == b) return a;
  const Poly difference = a - b;
  if (difference.is_poisoned()) return Poly::poisoned();
  if (const auto low = lower_bound(difference); low && *low >= 0) return a;
  if (const auto low = lower_bound(b - a); low && *low >= 0) return b;
  // An assumption about a whole polynomial (assume_positive) does not show in the difference.
  if (const auto low = lower_bound(a); b.is_constant() && low && *low >= b.constant_term()) return a;
  if (const auto low = lower_bound(b); a.is_constant() && low && *low >= a.constant_term()) return b;
  // max(max(x, y), y) = max(x, y).
  const auto contains = [&](const Poly& outer, const Poly& inner) {
    const auto s = outer.as_symbol();
    return s && info(*s).kind == SymbolKind::maximum && (info(*s).arguments[0] == inner || info(*s).arguments[1] == inner);
  };
  if (contains(a, b)) return a;
  if (contains(b, a)) return b;
  // Canonical form: the common constant outside, arguments in order.
  const std::int64_t shift = std::min(a.constant_term(), b.constant_term());
  Poly x = a - Poly(shift);
  Poly y = b - Poly(shift);
  if (y < x) std::swap(x, y);
  return Poly(shift) + Poly(define(SymbolKind::maximum, {x, y}, 0));
}

Poly Symbols::broadcast(const Poly& a, const Poly& b) {
  if (a == b || b.is_one()) return a;
  if (a.is_one()) return b;
  // A constant size other than 1 is the result: the other size equals it or is 1.
  if (a.is_constant()) return a;
  if (b.is_constant()) return b;
  return max(a, b);
}

Poly Symbols::broadcast_index(const Poly& i, const Poly& d, const Poly& D) {
  if (d == D) return i;
  if (d.is_one()) return Poly(0);
  return min(i, d - Poly(1));
}

Poly Symbols::element(std::uint32_t tensor, std::vector<Poly> index) {
  for (const Poly& p : index)
    if (p.is_poisoned()) return Poly::poisoned();
  has_elements_ = true;
  return Poly(define(SymbolKind::element, std::move(index), tensor));
}

Poly Symbols::substitute(const Poly& p, const Substitution& substitution) {
  if (p.is_constant() || p.is_poisoned() || substitution.empty()) return p;
  // Fast path: most polynomials mention none of the symbols.
  const auto may_change = [&](const Power& power) { return is_defined(info(power.symbol).kind) || substitution.contains(power.symbol); };
  const auto speaks_of_some = [&](const PolyTerm& t) { return std::any_of(t.monomial.begin(), t.monomial.end(), may_change); };
  if (std::none_of(p.terms().begin(), p.terms().end(), speaks_of_some)) return p;
  SmallList<std::pair<SymbolId, Poly>, 2> values;  // the new values of the symbols that change
  for (const SymbolId symbol : p.symbols()) {
    if (const auto found = substitution.find(symbol); found != substitution.end()) {
      values.push_back({symbol, found->second});
    } else if (is_defined(info(symbol).kind)) {
      if (auto value = substitute_inside(info(symbol), substitution); value && !(*value == Poly(symbol))) {
        values.push_back({symbol, *std::move(value)});
      }
    }
  }
  if (values.empty()) return p;
  Poly result(p.constant_term());
  for (const PolyTerm& t : p.terms()) {
    PolyTerm same{{}, t.coefficient};
    const auto value_of = [&](SymbolId s) {
      return std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == s; });
    };
    for (const Power& power : t.monomial)
      if (value_of(power.symbol) == values.end()) same.monomial.push_back(power);
    Poly term(std::move(same));
    for (const Power& power : t.monomial) {
      const auto* const value = value_of(power.symbol);
      if (value == values.end()) continue;
      for (std::uint32_t k = 0; k < power.power; ++k) term *= value->second;
    }
    result += term;
  }
  return result;
}

std::optional<Poly> Symbols::substitute_inside(const SymbolInfo& defined, const Substitution& substitution) {
  std::vector<Poly> arguments;
  arguments.reserve(defined.arguments.size());
  bool changed = false;
  for (const Poly& a : defined.arguments) {
    arguments.push_back(substitute(a, substitution));
    changed = changed || !(arguments.back() == a);
  }
  if (!changed) return std::nullopt;
  if (defined.kind == SymbolKind::floor_div) return floor_div(arguments[0], arguments[1]);
  if (defined.kind == SymbolKind::maximum) return max(arguments[0], arguments[1]);
  return element(defined.tensor, std::move(arguments));
}

std::vector<SymbolId> Symbols::all_symbols(const Poly& p) const {
  const auto direct = p.symbols();
  std::vector<SymbolId> result(direct.begin(), direct.end());
  std::vector<SymbolId> open;
  for (const SymbolId s : result)
    if (is_defined(info(s).kind)) open.push_back(s);
  while (!open.empty()) {
    const SymbolInfo& defined = info(open.back());
    open.pop_back();
    for (const Poly& a : defined.arguments) {
      for (const PolyTerm& t : a.terms()) {
        for (const Power& power : t.monomial) {
          const auto at = std::lower_bound(result.begin(), result.end(), power.symbol);
          if (at != result.end() && *at == power.symbol) continue;
          result.insert(at, power.symbol);
          if (is_defined(info(power.symbol).kind)) open.push_back(power.symbol);
        }
      }
    }
  }
  return result;
}

bool Symbols::occurs(const Poly& p, SymbolId symbol) const {
  for (const PolyTerm& t : p.terms()) {
    for (const Power& power : t.monomial) {
      if (power.symbol == symbol) return true;
      // The symbols in the arguments of a defined symbol have lower ids than the symbol itself.
      if (power.symbol < symbol || !is_defined(info(power.symbol).kind)) continue;
      for (const Poly& a : info(power.symbol).arguments)
        if (occurs(a, symbol)) return true;
    }
  }
  return false;
}

std::optional<std::int64_t> Symbols::evaluate(const Poly& p, const Valuation& value) const {
  if (p.is_poisoned()) return std::nullopt;
  std::int64_t sum = p.constant_term();
  for (const PolyTerm& t : p.terms()) {
    std::int64_t product = t.coefficient;
    for (const Power& power : t.monomial) {
      const SymbolInfo& s = info(power.symbol);
      std::optional<std::int64_t> v;
      if (s.kind == SymbolKind::floor_div || s.kind == SymbolKind::maximum) {
        const auto a = evaluate(s.arguments[0], value);
        const auto b = evaluate(s.arguments[1], value);
        if (!a || !b) return std::nullopt;
        if (s.kind == SymbolKind::maximum) {
          v = std::max(*a, *b);
        } else {
          if (*b < 1) return std::nullopt;
          v = floor_divide(*a, *b);
        }
      } else {
        v = value(power.symbol);
      }
      if (!v) return std::nullopt;
      for (std::uint32_t k = 0; k < power.power; ++k)
        if (__builtin_mul_overflow(product, *v, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

void Symbols::assume_positive(const Poly& p) {
  if (!p.is_constant() && !p.is_poisoned() && lower_bound(p).value_or(0) < 1) positive_.insert(p);
}

std::optional<std::int64_t> Symbols::lower_bound(const Poly& p) const {
  if (p.is_poisoned()) return std::nullopt;
  if (!positive_.empty() && positive_.contains(p)) return 1;
  std::int64_t sum = p.constant_term();
  for (const PolyTerm& t : p.terms()) {
    if (t.coefficient < 0) return std::nullopt;
    std::int64_t product = t.coefficient;
    for (const Power& power : t.monomial) {
      const SymbolInfo& s = info(power.symbol);
      std::int64_t low = 0;
      switch (s.kind) {
        case SymbolKind::dimension:
          low = 1;
          break;
        case SymbolKind::index:
          low = 0;
          break;
        case SymbolKind::maximum: {
          const auto a = lower_bound(s.arguments[0]);
          const auto b = lower_bound(s.arguments[1]);
          if (!a && !b) return std::nullopt;
          low = std::max(a.value_or(b.value_or(0)), b.value_or(a.value_or(0)));
          break;
        }
        case SymbolKind::floor_div: {
          const auto a = lower_bound(s.arguments[0]);
          if (!a || *a < 0) return std::nullopt;
          const auto divisor = s.arguments[1].constant();
          low = divisor && *divisor >= 1 ? floor_divide(*a, *divisor) : 0;
          break;
        }
        default:
          return std::nullopt;
      }
      if (low < 0) return std::nullopt;
      for (std::uint32_t k = 0; k < power.power; ++k)
        if (__builtin_mul_overflow(product, low, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

std::string Symbols::to_string(const Poly& p) const {
  if (p.is_poisoned()) return "overflow";
  const auto symbol_text = [&](SymbolId id) {
    const SymbolInfo& s = info(id);
    switch (s.kind) {
      case SymbolKind::floor_div: {
        const auto wrap = [&](const Poly& a) {
          const bool atom = a.is_constant() || a.as_symbol().has_value();
          return atom ? to_string(a) : "(" + to_string(a) + ")";
        };
        return "floor(" + wrap(s.arguments[0]) + "/" + wrap(s.arguments[1]) + ")";
      }
      case SymbolKind::maximum:
        return "max(" + to_string(s.arguments[0]) + ", " + to_string(s.arguments[1]) + ")";
      case SymbolKind::element:
        return "%" + std::to_string(s.tensor) + to_string(std::span<const Poly>(s.arguments));
      default:
        return s.name;
    }
  };
  std::string text;
  const auto append = [&](std::int64_t coefficient, const std::string& factors) {
    const bool negative = coefficient < 0;
    const std::string magnitude = negative ? std::to_string(coefficient).substr(1) : std::to_string(coefficient);
    if (text.empty()) {
      text = negative ? "-" : "";
    } else {
      text += negative ? " - " : " + ";
    }
    if (factors.empty()) {
      text += magnitude;
    } else {
      text += magnitude == "1" ? factors : magnitude + "*" + factors;
    }
  };
  for (const PolyTerm& t : p.terms()) {
    std::string factors;
    for (const Power& power : t.monomial) {
      if (!factors.empty()) factors += '*';
      factors += symbol_text(power.symbol);
      if (power.power > 1) factors += "^" + std::to_string(power.power);
    }
    append(t.coefficient, factors);
  }
  if (p.constant_term() != 0 || text.empty()) append(p.constant_term(), "");
  return text;
}

std::string Symbols::to_string(std::span<const Poly> list) const {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += ", ";
    text += to_string(list[i]);
  }
  return text + "]";
}

}  // namespace xflow::ir
