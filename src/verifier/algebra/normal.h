// Normal forms. Both sides of a rule are brought to normal form before they are compared.
//
// An expression is a sum of terms
//   coefficient * product of dimension^power * Sum over binders [conditions] * product of factor^power
// A factor is a read T[polynomials], an integer polynomial as a number, a real variable of the rule, a
// scalar function of expressions, or a maximum. There is no if-then-else: concatenation, padding and
// identities are conditions in brackets, and the ranges of binders are ordinary conditions. A negative power
// of x is a power of its reciprocal, and the reciprocal of 0 is 0. Proofs therefore never need x / x = 1 for
// an x that may be 0; counterexamples do not use entries that divide by 0.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/expr.h"

namespace xflow::verifier {

using ir::Poly;
using ir::Rational;
using ir::SymbolId;
using ops::Atom;
using ops::Condition;
using ops::Function;
using ops::Relation;

struct Factor;
using FactorPtr = std::shared_ptr<const Factor>;

struct FactorPower {
  FactorPtr factor;
  int power;  // not 0
};

struct DimensionPower {
  SymbolId dimension;
  int power;  // not 0
  friend auto operator<=>(const DimensionPower&, const DimensionPower&) = default;
};

struct NormalTerm {
  Rational coefficient = Rational(1);
  std::vector<DimensionPower> dimensions;  // sorted by symbol
  std::vector<SymbolId> binders;
  Condition conditions;
  std::vector<FactorPower> factors;
  bool is_plain() const { return binders.empty() && conditions.empty(); }
};

struct Expression {
  std::vector<NormalTerm> terms;  // their sum; none: 0
  bool is_zero() const { return terms.empty(); }
};

// One piece of a maximum: the values of the body for all binders that satisfy the conditions.
struct Piece {
  std::vector<SymbolId> binders;
  Condition conditions;
  Expression body;
};

enum class FactorKind : std::uint8_t {
  read,      // variable (or constant of unknown value) at indices
  integer,   // one symbol other than a dimension, as a number
  real,      // a real variable of the rule, or a real literal that is not a small rational
  function,  // function(arguments), with laws
  maximum,   // over all pieces; the union of their domains is not empty
  predicate  // name(arguments): a claim; occurs only in demands
};

struct Factor {
  FactorKind kind = FactorKind::read;
  ir::ValueId variable{};             // read
  std::vector<Poly> indices;          // read
  bool boolean = false;               // takes only the values 0 and 1
  bool integral = false;              // read: of an integer tensor
  Poly integer;                       // integer
  std::string name;                   // real, predicate
  Function function{};                // function
  ir::DataType data_type{};           // read: of the tensor; function: of a conversion, undefined for others
  std::vector<Expression> arguments;  // function, predicate
  std::vector<Piece> pieces;          // maximum
};

// The reason why a decision cannot continue. Thrown inside the verifier and caught by Proof.
struct Stop {
  bool steps = false;  // the step limit was reached; otherwise something outside the method
  std::string message;
};

// A product of two expressions would have too many terms.
struct ProductTooLarge : Stop {};

// Arithmetic of coefficients. Throws Stop if a numerator or denominator does not fit 64 bits.
Rational plus(const Rational& a, const Rational& b);
Rational times(const Rational& a, const Rational& b);
Rational inverse(const Rational& a);  // requires a != 0

// The conjunction of both conditions.
Condition joined(const Condition& a, const Condition& b);

// Structural equality; bound names must be equal too, except in `equal_up_to_renaming`, which renames the
// binders inside factors.
bool same(const Atom& a, const Atom& b);
bool same(const Condition& a, const Condition& b);  // in the same order, too
std::size_t hash_of(const Condition& condition);
bool same(const FactorPower& a, const FactorPower& b);
bool same(const Piece& a, const Piece& b);
bool same(const Factor& a, const Factor& b);
bool same(const NormalTerm& a, const NormalTerm& b);
bool same(const Expression& a, const Expression& b);
bool equal_up_to_renaming(ir::Symbols& symbols, const Factor& a, const Factor& b);
bool equal_up_to_renaming(ir::Symbols& symbols, const Expression& a, const Expression& b);
// Equality of whole terms up to renaming of their binders; coefficients are ignored.
bool equal_but_for_coefficient(ir::Symbols& symbols, const NormalTerm& a, const NormalTerm& b);

// Replaces free symbols everywhere, also inside defined symbols. Binders are never keys.
NormalTerm substitute(ir::Symbols& symbols, const NormalTerm& term, const ir::Symbols::Substitution& by);
Expression substitute(ir::Symbols& symbols, const Expression& expression, const ir::Symbols::Substitution& by);
FactorPtr substitute(ir::Symbols& symbols, const FactorPtr& factor, const ir::Symbols::Substitution& by);
Piece substitute(ir::Symbols& symbols, const Piece& piece, const ir::Symbols::Substitution& by);
Condition substitute(ir::Symbols& symbols, const Condition& condition, const ir::Symbols::Substitution& by);
// Substitutes with fresh names for all binders, including those inside factors, so that two copies can be
// multiplied.
NormalTerm refresh(ir::Symbols& symbols, const NormalTerm& term, ir::Symbols::Substitution by = {});
Expression refresh(ir::Symbols& symbols, const Expression& expression, const ir::Symbols::Substitution& by = {});
Piece refresh(ir::Symbols& symbols, const Piece& piece, ir::Symbols::Substitution by = {});

// Collects every polynomial of a term, expression or factor: conditions, indices, integers, and those of
// nested expressions.
void collect_polys(const NormalTerm& term, std::vector<Poly>& polys);
void collect_polys(const Expression& expression, std::vector<Poly>& polys);
void collect_polys(const Factor& factor, std::vector<Poly>& polys);
// Collects every binder inside the factor or term.
void collect_binders(const Factor& factor, std::vector<SymbolId>& binders);
void collect_binders(const NormalTerm& term, std::vector<SymbolId>& binders);
// True if `symbol` occurs in the factor (free), also inside defined symbols.
bool mentions(const ir::Symbols& symbols, const Factor& factor, SymbolId symbol);
bool mentions(const ir::Symbols& symbols, const NormalTerm& term, SymbolId symbol);
bool mentions(const ir::Symbols& symbols, const Atom& atom, SymbolId symbol);

// A string built from the heads of the factors. It is equal for any two terms or factors that a renaming of
// binders and a change of indices can make equal.
std::string signature(const NormalTerm& term);
std::string signature(const Factor& factor);

// Readable index notation: "2 * sum(k: k >= 0, K - k - 1 >= 0; x[i, k] * w[k, j])".
struct Names {
  const ir::Symbols& symbols;
  const std::vector<ir::ValueId>& variables;
  const std::vector<std::string>& variable_names;
};
std::string to_string(const Names& names, const NormalTerm& term);
std::string to_string(const Names& names, const Expression& expression);
std::string to_string(const Names& names, const Condition& condition);
std::string powered(const std::string& text, int power);  // "text", "text^2"

}  // namespace xflow::verifier
