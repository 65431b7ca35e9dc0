// Integers that satisfy conditions, found by moving towards them: a quick test for "not empty" before a
// query to Z3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/ir/poly.h"
#include "src/ops/expr.h"

namespace xflow::verifier {

// Answers are hints, because elements of tensors are treated as free integers. Use them only where the
// answer "no" is safe.
class Witness {
 public:
  explicit Witness(const ir::Symbols& symbols) : symbols_(symbols) {}

  // True if integers were found that satisfy all atoms of both lists. Deterministic: depends only on earlier
  // questions. `attempts`: the number of starts, each from other values.
  bool exists(std::span<const ops::Atom> facts, std::span<const ops::Atom> condition, int attempts = 1);
  // True if the condition holds at the last witness; nullopt if a value is not defined.
  std::optional<bool> holds(std::span<const ops::Atom> condition) const;

 private:
  std::int64_t value(ir::SymbolId symbol) const;
  bool holds(const ops::Atom& atom, std::int64_t& distance) const;
  bool attempt(std::span<const ops::Atom> facts, std::span<const ops::Atom> condition);
  bool move(const ops::Atom& atom, std::int64_t distance);
  std::uint64_t next_random();

  const ir::Symbols& symbols_;
  std::unordered_map<ir::SymbolId, std::int64_t> values_;  // of the last witness: the next question is often about the same symbols
  std::uint64_t state_ = 1;
  std::uint64_t start_ = 0;  // number of the attempt
};

}  // namespace xflow::verifier
