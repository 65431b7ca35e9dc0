// Symbols and polynomials of an instance in the words of its rule. Private to guards.
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

// Symbols and polynomials of an instance as expressions of its rule: for the choice of guards element by element, p[2] (relations of all
// elements are joined later); for the text of a record as what means the same at every rank, ends(p)[0], [S..][1], product(r).
enum class Wording : std::uint8_t { elements, any_rank };

class FormulaTranslator {
 public:
  FormulaTranslator(const rules::Rule& rule, const rules::RuleInstance& instance, Wording wording);

  // The number of elements of a list or a sequence, of the dimensions of "x." of variable x.
  std::size_t length(const std::string& list) const;

  // The dimensions of a variable as the rule names them; empty where it has no names for them.
  std::vector<Formula> dimensions_of(const std::string& variable, std::size_t rank) const;

  // Whether a dimension still has the name that it has in the rule, N or dim(x, 2): what poly() would say, without making it.
  bool is_called(const ir::Poly& dimension, const std::string& variable, const Formula& own, std::size_t d) const;

  // Of a list as element() writes it: p, begins(p), [S..].
  std::size_t size_of(const Formula& list) const;

  // Pads are begins and ends, so that an element means the same at every rank.
  Formula element(const std::string& list, std::int64_t k) const;

  std::optional<Formula> symbol(ir::SymbolId s) const;

  // product(r) for r[0] * r[1], elements(x) for x.0 * x.1: all of two or more.
  std::optional<Formula> whole(const ir::Poly::Term& t) const;

  std::optional<Formula> poly(const ir::Poly& p) const;

  // Positive terms on the left, negative ones on the right.
  std::optional<rules::Guard> atom(const ops::Atom& a) const;

 private:
  const rules::Rule& rule_;
  const ir::Symbols& symbols_;
  Wording wording_;
  std::map<std::string, std::size_t> lengths_;  // nothing in the wording of elements
  std::set<std::string> pads_;
};

// What the rule's attribute variables are of operators: "strides" for s in conv(x, w, strides: s).
std::map<std::string, std::string> roles_of(const rules::Rule& rule);

// "12" in "p[12]" or "x.12"; nothing where the text does not end so.
std::optional<std::int64_t> integer(std::string_view text);

}  // namespace xflow::verifier
