// Translates symbols and polynomials of an instance into expressions of its rule. Private to guards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/expr.h"
#include "src/rules/instance.h"
#include "src/verifier/guards/guard_formulas.h"

namespace xflow::verifier {

// How symbols and polynomials of an instance are written. elements: element by element, p[2], for the choice
// of guards; relations of all elements are joined later. any_rank: as expressions that mean the same at
// every rank, ends(p)[0], [S..][1], product(r), for the text of a record.
enum class Wording : std::uint8_t { elements, any_rank };

class FormulaTranslator {
 public:
  FormulaTranslator(const rules::Rule& rule, const rules::RuleInstance& instance, Wording wording);

  // The number of elements of a list or a sequence; for the name "x." the number of dimensions of variable
  // x.
  std::size_t length(const std::string& list) const;

  // The dimensions of a variable as the rule names them; empty if the rule has no names for them.
  std::vector<Formula> dimensions_of(const std::string& variable, std::size_t rank) const;

  // True if a dimension still has its name of the rule, N or dim(x, 2). Agrees with poly(), without making a
  // formula.
  bool is_called(const ir::Poly& dimension, const std::string& variable, const Formula& own, std::size_t d) const;

  // The size of a list that is written as element() writes it: p, begins(p), [S..].
  std::size_t size_of(const Formula& list) const;

  // Element k of a list. Pads are written as begins and ends, so that an element means the same at every
  // rank.
  Formula element(const std::string& list, std::int64_t k) const;

  std::optional<Formula> symbol(ir::SymbolId s) const;

  // product(r) for r[0] * r[1], elements(x) for x.0 * x.1. Requires all elements, and at least two.
  std::optional<Formula> whole(const ir::PolyTerm& t) const;

  std::optional<Formula> poly(const ir::Poly& p) const;

  // Writes positive terms on the left and negative terms on the right.
  std::optional<rules::Guard> atom(const ops::Atom& a) const;

 private:
  const rules::Rule& rule_;
  const ir::Symbols& symbols_;
  Wording wording_;
  std::map<std::string, std::size_t> lengths_;  // empty for Wording::elements
  std::set<std::string> pads_;
};

// The attributes of operators that the rule's attribute variables stand for: "strides" for s in conv(x, w,
// strides: s).
std::map<std::string, std::string> roles_of(const rules::Rule& rule);

// 12 for "p[12]" or "x.12"; nullopt if the text does not end in an integer of this form.
std::optional<std::int64_t> integer(std::string_view text);

}  // namespace xflow::verifier
