// Canonical integer polynomials over symbols, for dimensions, indices and integer attributes.
//
// Two polynomials with equal canonical forms are equal. Otherwise the answer is *unknown*, not *different*,
// unless their difference is a non-zero constant. A symbol is one of:
//   - a name: a dynamic dimension or an attribute variable of a rule,
//   - an index: an output index or the binder of a sum,
//   - defined by a function of polynomials: floor division, maximum, or the element of an integer tensor.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/ir/small_list.h"

namespace xflow::ir {

enum class SymbolId : std::uint32_t {};

// symbol^power, power >= 1.
struct Power {
  SymbolId symbol;
  std::uint32_t power;
  friend auto operator<=>(const Power&, const Power&) = default;
};
using Monomial = SmallList<Power, 2>;  // sorted by symbol, each symbol once; empty: 1

// coefficient * monomial.
struct PolyTerm {
  Monomial monomial;  // never empty in a polynomial
  std::int64_t coefficient;
  friend bool operator==(const PolyTerm&, const PolyTerm&) = default;
};

// A canonical integer polynomial with 64-bit coefficients. An operation that overflows yields a poisoned
// polynomial. A poisoned polynomial equals nothing, not even itself, and every result computed from it is
// poisoned.
class Poly {
 public:
  Poly() = default;
  Poly(std::int64_t constant) : constant_(constant) {}  // NOLINT(google-explicit-constructor): integers are polynomials
  Poly(SymbolId symbol);                                // NOLINT(google-explicit-constructor): symbols are polynomials
  explicit Poly(PolyTerm term);
  static Poly poisoned();

  bool is_poisoned() const { return poisoned_; }
  bool is_constant() const { return terms_.empty() && !poisoned_; }
  // The value if the polynomial is a constant; nothing otherwise.
  std::optional<std::int64_t> constant() const { return is_constant() ? std::optional(constant_) : std::nullopt; }
  std::int64_t constant_term() const { return constant_; }
  std::span<const PolyTerm> terms() const { return {terms_.data(), terms_.size()}; }  // the non-constant terms in canonical order
  bool is_zero() const { return is_constant() && constant_ == 0; }
  bool is_one() const { return is_constant() && constant_ == 1; }
  // The symbol if the polynomial is exactly one symbol; nothing otherwise.
  std::optional<SymbolId> as_symbol() const;
  // The symbols that occur, each once, in ascending order, without those inside defined symbols.
  SmallList<SymbolId, 4> symbols() const;
  bool mentions(SymbolId symbol) const;  // directly, not inside a defined symbol
  // (first, second) with this = first * symbol + second, if the polynomial is linear in `symbol`.
  std::optional<std::pair<Poly, Poly>> linear_in(SymbolId symbol) const;

  Poly& operator+=(const Poly& other);
  Poly& operator-=(const Poly& other);
  Poly& operator*=(const Poly& other);
  friend Poly operator+(Poly a, const Poly& b) { return a += b; }
  friend Poly operator-(Poly a, const Poly& b) { return a -= b; }
  friend Poly operator*(Poly a, const Poly& b) { return a *= b; }
  friend Poly operator-(Poly a) { return a.poisoned_ ? a : a.scale(-1); }

  friend bool operator==(const Poly& a, const Poly& b);
  // A total order for canonical sorting (not by value).
  friend bool operator<(const Poly& a, const Poly& b);
  std::size_t hash() const;

  friend std::optional<Poly> exact_divide(const Poly& a, const Poly& b);

 private:
  void add_term(const Monomial& monomial, std::int64_t coefficient);
  Poly& scale(std::int64_t by);  // requires that the polynomial is not poisoned

  std::int64_t constant_ = 0;
  SmallList<PolyTerm, 2> terms_;  // sorted by monomial, no zero coefficient
  bool poisoned_ = false;
};

struct PolyHash {
  std::size_t operator()(const Poly& p) const { return p.hash(); }
};

// a / b if the polynomial division leaves no remainder. Nothing otherwise, which does not imply that the
// value of b never divides that of a.
std::optional<Poly> exact_divide(const Poly& a, const Poly& b);
std::int64_t floor_divide(std::int64_t a, std::int64_t b);  // rounded down; b is neither 0 nor -1

enum class SymbolKind : std::uint8_t {
  dimension,  // a size: at least 1
  parameter,  // an integer attribute of a rule: no bound
  index,      // an output index or a binder: at least 0
  floor_div,  // floor(arguments[0] / arguments[1]), arguments[1] >= 1
  maximum,    // max(arguments[0], arguments[1])
  element,    // the element of integer tensor `tensor` at index `arguments`
};

struct SymbolInfo {
  SymbolKind kind;
  std::string name;             // for printing; unique among the named symbols of one kind
  std::vector<Poly> arguments;  // defined symbols
  std::uint32_t tensor = 0;     // element: the operand number in semantics, a number of the caller elsewhere
};

// The symbols of one context. Defined symbols are interned by their normalised arguments: equal arguments
// give the same symbol.
class Symbols {
 public:
  Symbols() = default;
  Symbols& operator=(const Symbols&) = delete;
  // The same symbols with the same ids, for another thread, which may make new ones of its own.
  std::shared_ptr<Symbols> copy() const { return std::shared_ptr<Symbols>(new Symbols(*this)); }

  // The symbol of this kind and name, created by the first call. kind: dimension, parameter or index.
  SymbolId named(SymbolKind kind, std::string_view name);
  // A new symbol, different from all others. `hint` is the prefix of its printed name.
  SymbolId fresh(SymbolKind kind, std::string_view hint = {});
  const SymbolInfo& info(SymbolId id) const { return infos_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return infos_.size(); }

  // floor(a / b). b must be at least 1 wherever the result is used. Moves multiples of b out of the floor,
  // cancels common factors, and joins nested divisions: floor(floor(a / b) / c) = floor(a / (b c)). Poisoned
  // for b = 0.
  Poly floor_div(const Poly& a, const Poly& b);
  Poly ceil_div(const Poly& a, const Poly& b) { return -floor_div(-a, b); }
  Poly mod(const Poly& a, const Poly& b) { return a - b * floor_div(a, b); }  // in [0, b)
  Poly max(const Poly& a, const Poly& b);
  Poly min(const Poly& a, const Poly& b) { return -max(-a, -b); }
  // The size of two dimensions broadcast together (ONNX: they are equal or one is 1): max(a, b), or the
  // constant if one of them is a constant other than 1.
  Poly broadcast(const Poly& a, const Poly& b);
  // The index at which an operand dimension of size d is read for index i of a broadcast dimension of size
  // D: i if d = D, 0 if d = 1, else min(i, d - 1).
  Poly broadcast_index(const Poly& i, const Poly& d, const Poly& D);
  // The symbol of the element of integer tensor `tensor` at `index`.
  Poly element(std::uint32_t tensor, std::vector<Poly> index);
  bool has_elements() const { return has_elements_; }  // whether element() has made a symbol

  using Substitution = std::unordered_map<SymbolId, Poly>;
  // Replaces symbols simultaneously, also inside defined symbols, and normalises these again.
  Poly substitute(const Poly& p, const Substitution& substitution);
  // The symbols that occur in p, including defined symbols and the symbols inside them.
  std::vector<SymbolId> all_symbols(const Poly& p) const;
  // Whether all_symbols(p) contains `symbol`.
  bool occurs(const Poly& p, SymbolId symbol) const;

  // The value of p. `value` gives the values of named symbols, indices and elements. Nothing on a missing
  // value, division by less than 1, or overflow.
  using Valuation = std::function<std::optional<std::int64_t>(SymbolId)>;
  std::optional<std::int64_t> evaluate(const Poly& p, const Valuation& value) const;
  // Records that p is at least 1. For example, a dimension of a model's tensor: no tensor is empty. The fact
  // must hold wherever the symbols are used.
  void assume_positive(const Poly& p);
  // A constant lower bound of p, from the bounds of its symbols and the assumptions; nothing if none is
  // known.
  std::optional<std::int64_t> lower_bound(const Poly& p) const;

  std::string to_string(const Poly& p) const;               // "2*N + floor((H - 1)/2) + 1"
  std::string to_string(std::span<const Poly> list) const;  // "[N, 3, 2*H]"

 private:
  Symbols(const Symbols&) = default;
  SymbolId define(SymbolKind kind, std::vector<Poly> arguments, std::uint32_t tensor);
  // The value of a defined symbol after a substitution in its arguments; nothing if the arguments do not
  // change.
  std::optional<Poly> substitute_inside(const SymbolInfo& defined, const Substitution& substitution);

  std::deque<SymbolInfo> infos_;  // a deque keeps references from info() valid
  std::map<std::pair<SymbolKind, std::string>, SymbolId, std::less<>> names_;
  std::unordered_multimap<std::size_t, SymbolId> defined_;
  std::unordered_set<Poly, PolyHash> positive_;
  std::uint32_t fresh_count_ = 0;
  bool has_elements_ = false;
};

}  // namespace xflow::ir

template <>
struct std::hash<xflow::ir::SymbolId> {
  std::size_t operator()(xflow::ir::SymbolId id) const noexcept { return static_cast<std::size_t>(id) * 0x9E3779B97F4A7C15ULL; }
};
