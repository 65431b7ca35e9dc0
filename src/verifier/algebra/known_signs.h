// Signs of values at some elements: what the source of a rule asks for, and its target may therefore assume (source_facts.h).
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

// A boolean of which it is known whether it is 1 or 0.
struct KnownBoolean {
  FactorPtr factor;
  bool value;
};
using KnownBooleans = std::vector<KnownBoolean>;
// What is known where all of the guards are 1: of factors f in a product f g, and in 1 - f.
KnownBooleans booleans_of(const std::vector<Expression>& guards);

// For all binders that satisfy the conditions the value has the sign, if all guards (booleans) are 1.
struct KnownSign {
  std::size_t number = 0;  // of the caller
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

  // True only if the value has the sign wherever `context` holds and the booleans have their values. No search but for the values of
  // binders, and no solver.
  bool has(Sign wanted, const Factor& value, const Condition& context, const KnownBooleans& booleans) const;
  bool has(Sign wanted, const Expression& value, const Condition& context, const KnownBooleans& booleans) const;
  // The numbers of the signs that an answer was found with.
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
