// Signs of values at some elements. The source of a rule demands them, so its target may assume them
// (source_facts.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "src/verifier/algebra/normal.h"

namespace xflow::verifier {

enum class Sign : std::uint8_t { nonzero, nonnegative, positive };

// A boolean with a known value.
struct KnownBoolean {
  FactorPtr factor;
  bool value;
};
using KnownBooleans = std::vector<KnownBoolean>;
// The booleans that are known if all guards are 1: each factor f of a product f g is 1, and f is 0 in 1 - f.
KnownBooleans booleans_of(const std::vector<Expression>& guards);

// The value has the sign for all binders that satisfy the conditions, if all guards (booleans) are 1.
struct KnownSign {
  std::size_t number = 0;  // chosen by the caller
  std::vector<SymbolId> binders;
  Condition conditions;
  std::vector<Expression> guards;
  Expression value;
  Sign sign = Sign::nonzero;
};

class KnownSigns {
 public:
  // `facts` hold everywhere.
  KnownSigns(ir::Symbols& symbols, std::span<const Atom> facts) : symbols_(symbols), facts_(facts) {}

  void set(std::vector<KnownSign> signs) { signs_ = std::move(signs); }
  bool empty() const { return signs_.empty(); }

  // True only if the value has the sign wherever `context` holds and the booleans have their values.
  // Searches only for values of binders, and does not call the solver.
  bool has(Sign wanted, const Factor& value, const Condition& context, const KnownBooleans& booleans) const;
  bool has(Sign wanted, const Expression& value, const Condition& context, const KnownBooleans& booleans) const;
  // The numbers of the signs that the answers of has() used.
  const std::set<std::size_t>& used() const { return used_; }

 private:
  bool is_known(const KnownSign& sign, const Factor* factor, const Expression* value, const Condition& context,
                const KnownBooleans& booleans) const;
  std::optional<ir::Symbols::Substitution> binders_of(const KnownSign& sign, const Factor* factor, const Expression* value) const;

  ir::Symbols& symbols_;
  std::span<const Atom> facts_;
  std::vector<KnownSign> signs_;
  mutable std::set<std::size_t> used_;
};

}  // namespace xflow::verifier
