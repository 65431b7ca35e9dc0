// An e-graph for graphs of a few operations: terms and the equalities known between them (Nelson's
// congruence closure; Willsey et al., egg, 2021).
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
  static constexpr std::uint32_t kInput = 0xFFFFFFFF;  // op of an input; operands[0] is the number of the input
  std::uint32_t op = kInput;
  std::uint8_t output = 0;
  std::uint8_t count = 0;  // number of operands
  std::array<TermId, kOperands> operands{};
  friend bool operator==(const EqTerm&, const EqTerm&) = default;
};

// An equality of two terms and its reason.
struct Equality {
  TermId a = 0;
  TermId b = 0;
  std::int32_t reason = 0;  // a number of the caller, or kCongruence: the same operation on equal operands
  static constexpr std::int32_t kCongruence = -1;
};

// Terms, their classes of equal terms, and explanations of equalities.
class EGraph {
 public:
  // All memory comes from `memory`: callers create and discard an e-graph of a few dozen terms per query.
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

  // Adds input `number`.
  TermId add_input(std::size_t number, TypeRef type);
  // Adds an output of an operation, or returns its term if it is already there. At most EqTerm::kOperands
  // operands. The operands of commutative operations are sorted.
  TermId add(OpRef op, std::uint32_t output, std::span<const TermId> operands, TypeRef type);
  // The representative of the term's class.
  TermId find(TermId term) const {
    while (parents_[term] != term) term = parents_[term];
    return term;
  }
  bool equal(TermId a, TermId b) const { return find(a) == find(b); }
  // Adds a = b and what follows from it by congruence. `premises` are pairs of equal terms that the equality
  // depends on; they become part of its explanation.
  void merge(TermId a, TermId b, std::int32_t reason, std::span<const std::pair<TermId, TermId>> premises = {});

  std::size_t size() const { return terms_.size(); }
  const EqTerm& term(TermId id) const { return terms_[id]; }
  TypeRef type(TermId id) const { return types_[id]; }
  // The terms equal to `term`, itself included.
  std::span<const TermId> members(TermId term) const { return members_[find(term)]; }
  // The number that fills some term of the class of `term`; null if there is none.
  const ir::Rational* number(TermId term) const { return numbers_[find(term)]; }
  // The term that is this operation on operands equal to these. Nothing if there is none.
  std::optional<TermId> lookup(std::uint32_t op, std::uint8_t output, std::span<const TermId> operands) const;

  // Equalities that together imply a = b. The equalities that a congruence or a premise needs come before
  // it. Requires equal(a, b).
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
  std::pmr::vector<std::pmr::vector<TermId>> users_;    // by representative: terms with an operand in the class
  std::pmr::unordered_map<EqTerm, TermId, Hash> exact_;
  std::pmr::unordered_map<EqTerm, TermId, Hash> canonical_;
  std::pmr::vector<Equality> equalities_;
  std::pmr::unordered_map<std::size_t, std::pmr::vector<std::pair<TermId, TermId>>> premises_;  // by index of the equality
};

}  // namespace xflow::generator
