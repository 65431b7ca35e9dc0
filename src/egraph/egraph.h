// Terms and what is known to be equal among them (an e-graph: Nelson's congruence closure; Willsey et al., egg, 2021), for graphs of a few
// operations.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/egraph/vocabulary.h"

namespace xflow::generator {

using TermId = std::uint32_t;

// One output of an operation on terms, or an input.
struct EqTerm {
  static constexpr std::size_t kOperands = 4;
  static constexpr std::uint32_t kInput = 0xFFFFFFFF;  // op of an input; its number is operands[0]
  std::uint32_t op = kInput;
  std::uint8_t output = 0;
  std::uint8_t count = 0;  // of operands
  std::array<TermId, kOperands> operands{};
  friend bool operator==(const EqTerm&, const EqTerm&) = default;
};

// Why two terms are equal.
struct Equality {
  TermId a = 0;
  TermId b = 0;
  std::int32_t reason = 0;  // a number of the caller, or kCongruence: the same operation on operands that are equal
  static constexpr std::int32_t kCongruence = -1;
};

class EGraph {
 public:
  // What it keeps is taken from `memory`; a graph of some dozen terms is made and thrown away for each question.
  explicit EGraph(const Vocabulary& vocabulary, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : vocabulary_(vocabulary),
        terms_(memory),
        types_(memory),
        parents_(memory),
        members_(memory),
        numbers_(memory),
        users_(memory),
        exact_(memory),
        canonical_(memory),
        equalities_(memory),
        premises_(memory) {}

  TermId add_input(std::size_t number, TypeRef type);
  // At most EqTerm::kOperands operands. Operands of commutative operations are sorted.
  TermId add(OpRef op, std::uint32_t output, std::span<const TermId> operands, TypeRef type);
  TermId find(TermId term) const {
    while (parents_[term] != term) term = parents_[term];
    return term;
  }
  bool equal(TermId a, TermId b) const { return find(a) == find(b); }
  // States a = b and what follows from it by congruence. `premises`: pairs of equal terms without which it would not be stated; they are
  // part of its explanation.
  void merge(TermId a, TermId b, std::int32_t reason, std::span<const std::pair<TermId, TermId>> premises = {});

  std::size_t size() const { return terms_.size(); }
  const EqTerm& term(TermId id) const { return terms_[id]; }
  TypeRef type(TermId id) const { return types_[id]; }
  // The terms that are equal to one.
  std::span<const TermId> members(TermId term) const { return members_[find(term)]; }
  // The number with which one of the terms that are equal to this one is filled everywhere; null where none is.
  const ir::Rational* number(TermId term) const { return numbers_[find(term)]; }
  // The term that is this operation on operands equal to these; nothing if there is none.
  std::optional<TermId> lookup(std::uint32_t op, std::uint8_t output, std::span<const TermId> operands) const;

  // Equalities that together say a = b, those that congruence and premises need before it. Requires equal(a, b).
  std::vector<Equality> explain(TermId a, TermId b) const;

 private:
  struct Hash {
    std::size_t operator()(const EqTerm& t) const;
  };
  EqTerm canonical(EqTerm term) const;
  void explain(TermId a, TermId b, std::vector<Equality>& steps, std::vector<std::pair<TermId, TermId>>& open) const;

  const Vocabulary& vocabulary_;
  std::pmr::vector<EqTerm> terms_;
  std::pmr::vector<TypeRef> types_;
  std::pmr::vector<TermId> parents_;
  std::pmr::vector<std::pmr::vector<TermId>> members_;  // by representative
  std::pmr::vector<const ir::Rational*> numbers_;       // by representative
  std::pmr::vector<std::pmr::vector<TermId>> users_;    // by representative: terms that have a member as an operand
  std::pmr::unordered_map<EqTerm, TermId, Hash> exact_;
  std::pmr::unordered_map<EqTerm, TermId, Hash> canonical_;
  std::pmr::vector<Equality> equalities_;
  std::pmr::unordered_map<std::size_t, std::pmr::vector<std::pair<TermId, TermId>>> premises_;  // by number of the equality
};

}  // namespace xflow::generator
