#include "src/verifier/algebra/normal.h"

#include <algorithm>
#include <set>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::Symbols;

namespace {

Rational required(const std::optional<Rational>& value) {
  if (!value) throw Stop{false, "cannot compute a coefficient: it does not fit 64 bits"};
  return *value;
}

}  // namespace

Rational plus(const Rational& a, const Rational& b) { return required(ir::add(a, b)); }
Rational times(const Rational& a, const Rational& b) { return required(ir::multiply(a, b)); }
Rational inverse(const Rational& a) { return required(ir::divide(Rational(1), a)); }

Condition joined(const Condition& a, const Condition& b) {
  Condition result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

// Equality. -------------------------------------------------------------------------------------------------

namespace {

template <typename T>
bool same_lists(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const T& x, const T& y) { return same(x, y); });
}

}  // namespace

bool same(const FactorPower& a, const FactorPower& b) { return a.power == b.power && (a.factor == b.factor || same(*a.factor, *b.factor)); }
bool same(const Piece& a, const Piece& b) { return a.binders == b.binders && same(a.conditions, b.conditions) && same(a.body, b.body); }

bool same(const Atom& a, const Atom& b) {
  return (a.relation == b.relation || broken(Fault::normal_any_relations_are_the_same)) && a.poly == b.poly;
}
bool same(const Condition& a, const Condition& b) { return same_lists(a, b); }

std::size_t hash_of(const Condition& condition) {
  std::size_t hash = condition.size();
  for (const Atom& a : condition) hash = hash * 1000003 + a.poly.hash() * 3 + static_cast<std::size_t>(a.relation);
  return hash;
}

bool same(const Factor& a, const Factor& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case FactorKind::read:
      return a.variable == b.variable && (a.indices == b.indices || broken(Fault::normal_any_indices_are_the_same));
    case FactorKind::integer:
      return a.integer == b.integer;
    case FactorKind::real:
      return a.name == b.name;
    case FactorKind::function:
      return a.function == b.function && a.data_type == b.data_type && same_lists(a.arguments, b.arguments);
    case FactorKind::predicate:
      return a.name == b.name && same_lists(a.arguments, b.arguments);
    case FactorKind::maximum:
      break;
  }
  return same_lists(a.pieces, b.pieces);
}

bool same(const NormalTerm& a, const NormalTerm& b) {
  return a.coefficient == b.coefficient && a.dimensions == b.dimensions && a.binders == b.binders && same(a.conditions, b.conditions) &&
         same_lists(a.factors, b.factors);
}

bool same(const Expression& a, const Expression& b) { return same_lists(a.terms, b.terms); }

namespace {

// Renames the binders of `b` to those of `a`, list by list, wherever both have the same structure. `same`
// then decides.
Expression renamed_like(Symbols& symbols, const Expression& like, const Expression& b);

Piece renamed_like(Symbols& symbols, const Piece& like, const Piece& b) {
  Symbols::Substitution by;
  for (std::size_t k = 0; k < b.binders.size(); ++k) by.emplace(b.binders[k], Poly(like.binders[k]));
  if (broken(Fault::normal_pieces_are_not_renamed)) return b;
  Piece result{like.binders, substitute(symbols, b.conditions, by), substitute(symbols, b.body, by)};
  result.body = renamed_like(symbols, like.body, result.body);
  return result;
}

FactorPtr renamed_like(Symbols& symbols, const Factor& like, const FactorPtr& b) {
  if (like.kind != b->kind || like.arguments.size() != b->arguments.size() || like.pieces.size() != b->pieces.size()) return b;
  if (like.arguments.empty() && like.pieces.empty()) return b;
  auto result = std::make_shared<Factor>(*b);
  for (std::size_t k = 0; k < like.arguments.size(); ++k) result->arguments[k] = renamed_like(symbols, like.arguments[k], b->arguments[k]);
  for (std::size_t k = 0; k < like.pieces.size(); ++k) {
    if (like.pieces[k].binders.size() != b->pieces[k].binders.size()) return b;
    result->pieces[k] = renamed_like(symbols, like.pieces[k], b->pieces[k]);
  }
  return result;
}

NormalTerm renamed_like(Symbols& symbols, const NormalTerm& like, const NormalTerm& b) {
  if (like.binders.size() != b.binders.size() || like.factors.size() != b.factors.size()) return b;
  Symbols::Substitution by;
  for (std::size_t k = 0; k < b.binders.size(); ++k) by.emplace(b.binders[k], Poly(like.binders[k]));
  NormalTerm result = substitute(symbols, b, by);
  result.binders = like.binders;
  for (std::size_t k = 0; k < result.factors.size(); ++k) {
    result.factors[k].factor = renamed_like(symbols, *like.factors[k].factor, result.factors[k].factor);
  }
  return result;
}

Expression renamed_like(Symbols& symbols, const Expression& like, const Expression& b) {
  if (like.terms.size() != b.terms.size()) return b;
  Expression result;
  for (std::size_t k = 0; k < b.terms.size(); ++k) result.terms.push_back(renamed_like(symbols, like.terms[k], b.terms[k]));
  return result;
}

}  // namespace

bool equal_up_to_renaming(Symbols& symbols, const Factor& a, const Factor& b) {
  if (a.kind != b.kind) return false;
  if (same(a, b)) return true;
  if (a.arguments.empty() && a.pieces.empty()) return false;
  return same(a, *renamed_like(symbols, a, std::make_shared<Factor>(b)));
}

bool equal_up_to_renaming(Symbols& symbols, const Expression& a, const Expression& b) { return same(a, renamed_like(symbols, a, b)); }

bool equal_but_for_coefficient(Symbols& symbols, const NormalTerm& a, const NormalTerm& b) {
  if (a.dimensions != b.dimensions || a.binders.size() != b.binders.size() || a.factors.size() != b.factors.size() ||
      a.conditions.size() != b.conditions.size()) {
    return false;
  }
  NormalTerm renamed = renamed_like(symbols, a, b);
  renamed.coefficient = a.coefficient;
  return same(a, renamed);
}

// Substitution. ---------------------------------------------------------------------------------------------

Condition substitute(Symbols& symbols, const Condition& condition, const Symbols::Substitution& by) {
  Condition result;
  result.reserve(condition.size());
  if (broken(Fault::normal_conditions_keep_symbols)) return condition;
  for (const Atom& a : condition) result.push_back({symbols.substitute(a.poly, by), a.relation});
  return result;
}

namespace {

// Substitution, with or without fresh binders.
class Substituter {
 public:
  Substituter(Symbols& symbols, Symbols::Substitution by, bool fresh) : symbols_(symbols), by_(std::move(by)), fresh_(fresh) {}

  NormalTerm term(const NormalTerm& t) {
    NormalTerm result;
    result.coefficient = t.coefficient;
    result.dimensions = t.dimensions;
    result.binders = binders(t.binders);
    result.conditions = substitute(symbols_, t.conditions, by_);
    result.factors.reserve(t.factors.size());
    for (const FactorPower& f : t.factors) result.factors.push_back({factor(f.factor), f.power});
    return result;
  }

  Expression expression(const Expression& e) {
    Expression result;
    result.terms.reserve(e.terms.size());
    for (const NormalTerm& t : e.terms) result.terms.push_back(term(t));
    return result;
  }

  Piece piece(const Piece& p) {
    Piece result;
    result.binders = binders(p.binders);
    result.conditions = substitute(symbols_, p.conditions, by_);
    result.body = expression(p.body);
    return result;
  }

  FactorPtr factor(const FactorPtr& f) {
    if (by_.empty() && !fresh_) return f;
    if (f->arguments.empty() && f->pieces.empty() &&
        std::none_of(f->indices.begin(), f->indices.end(), [&](const Poly& p) { return may_change(p); }) && !may_change(f->integer)) {
      return f;
    }
    auto result = std::make_shared<Factor>();
    result->kind = f->kind;
    result->variable = f->variable;
    result->boolean = f->boolean;
    result->integral = f->integral;
    result->name = f->name;
    result->function = f->function;
    result->data_type = f->data_type;
    result->indices.reserve(f->indices.size());
    for (const Poly& p : f->indices) result->indices.push_back(symbols_.substitute(p, by_));
    result->integer = symbols_.substitute(f->integer, by_);
    if (broken(Fault::normal_arguments_keep_symbols)) {
      result->arguments = f->arguments;
      result->pieces = f->pieces;
      return result;
    }
    result->arguments.reserve(f->arguments.size());
    for (const Expression& e : f->arguments) result->arguments.push_back(expression(e));
    result->pieces.reserve(f->pieces.size());
    for (const Piece& p : f->pieces) result->pieces.push_back(piece(p));
    return result;
  }

 private:
  // False only if the substitution does not change the polynomial.
  bool may_change(const Poly& p) const {
    return std::any_of(p.terms().begin(), p.terms().end(), [&](const ir::PolyTerm& t) {
      return std::any_of(t.monomial.begin(), t.monomial.end(), [&](const ir::Power& power) {
        return !symbols_.info(power.symbol).arguments.empty() || by_.contains(power.symbol);
      });
    });
  }
  std::vector<SymbolId> binders(const std::vector<SymbolId>& list) {
    if (!fresh_ || broken(Fault::normal_copies_share_binders)) return list;
    std::vector<SymbolId> result;
    for (const SymbolId b : list) {
      std::string hint = symbols_.info(b).name;
      hint = hint.substr(0, hint.find('\''));
      const SymbolId renamed = symbols_.fresh(ir::SymbolKind::index, hint);
      by_.insert_or_assign(b, Poly(renamed));
      result.push_back(renamed);
    }
    return result;
  }

  Symbols& symbols_;
  Symbols::Substitution by_;
  bool fresh_;
};

}  // namespace

NormalTerm substitute(Symbols& symbols, const NormalTerm& term, const Symbols::Substitution& by) {
  return Substituter(symbols, by, false).term(term);
}
Expression substitute(Symbols& symbols, const Expression& expression, const Symbols::Substitution& by) {
  return Substituter(symbols, by, false).expression(expression);
}
FactorPtr substitute(Symbols& symbols, const FactorPtr& factor, const Symbols::Substitution& by) {
  return Substituter(symbols, by, false).factor(factor);
}
Piece substitute(Symbols& symbols, const Piece& piece, const Symbols::Substitution& by) {
  return Substituter(symbols, by, false).piece(piece);
}
NormalTerm refresh(Symbols& symbols, const NormalTerm& term, Symbols::Substitution by) {
  return Substituter(symbols, std::move(by), true).term(term);
}
Expression refresh(Symbols& symbols, const Expression& expression, const Symbols::Substitution& by) {
  return Substituter(symbols, by, true).expression(expression);
}
Piece refresh(Symbols& symbols, const Piece& piece, Symbols::Substitution by) {
  return Substituter(symbols, std::move(by), true).piece(piece);
}

// Collection of polynomials, binders and
// symbols. -----------------------------------------------------------

void collect_polys(const Factor& factor, std::vector<Poly>& polys) {
  polys.insert(polys.end(), factor.indices.begin(), factor.indices.end());
  if (factor.kind == FactorKind::integer) polys.push_back(factor.integer);
  for (const Expression& e : factor.arguments) collect_polys(e, polys);
  for (const Piece& p : factor.pieces) {
    for (const Atom& a : p.conditions) polys.push_back(a.poly);
    collect_polys(p.body, polys);
  }
}

void collect_polys(const NormalTerm& term, std::vector<Poly>& polys) {
  for (const Atom& a : term.conditions) polys.push_back(a.poly);
  for (const FactorPower& f : term.factors) collect_polys(*f.factor, polys);
}

void collect_polys(const Expression& expression, std::vector<Poly>& polys) {
  for (const NormalTerm& t : expression.terms) collect_polys(t, polys);
}

void collect_binders(const NormalTerm& term, std::vector<SymbolId>& binders) {
  binders.insert(binders.end(), term.binders.begin(), term.binders.end());
  for (const FactorPower& f : term.factors) collect_binders(*f.factor, binders);
}

void collect_binders(const Factor& factor, std::vector<SymbolId>& binders) {
  for (const Expression& e : factor.arguments)
    for (const NormalTerm& t : e.terms) collect_binders(t, binders);
  for (const Piece& p : factor.pieces) {
    binders.insert(binders.end(), p.binders.begin(), p.binders.end());
    for (const NormalTerm& t : p.body.terms) collect_binders(t, binders);
  }
}

bool mentions(const Symbols& symbols, const Factor& factor, SymbolId symbol) {
  const auto in = [&](const Poly& p) { return symbols.occurs(p, symbol); };
  const auto in_term = [&](const NormalTerm& t) { return mentions(symbols, t, symbol); };
  if (std::any_of(factor.indices.begin(), factor.indices.end(), in)) return true;
  if (factor.kind == FactorKind::integer && in(factor.integer)) return true;
  for (const Expression& e : factor.arguments)
    if (std::any_of(e.terms.begin(), e.terms.end(), in_term)) return true;
  return std::any_of(factor.pieces.begin(), factor.pieces.end(), [&](const Piece& p) {
    return std::any_of(p.conditions.begin(), p.conditions.end(), [&](const Atom& a) { return in(a.poly); }) ||
           std::any_of(p.body.terms.begin(), p.body.terms.end(), in_term);
  });
}

bool mentions(const Symbols& symbols, const NormalTerm& term, SymbolId symbol) {
  return std::any_of(term.conditions.begin(), term.conditions.end(), [&](const Atom& a) { return symbols.occurs(a.poly, symbol); }) ||
         std::any_of(term.factors.begin(), term.factors.end(), [&](const FactorPower& f) { return mentions(symbols, *f.factor, symbol); });
}

bool mentions(const Symbols& symbols, const Atom& atom, SymbolId symbol) {
  return broken(Fault::normal_conditions_mention_directly) ? atom.poly.mentions(symbol) : symbols.occurs(atom.poly, symbol);
}

// Signatures. -----------------------------------------------------------------------------------------------

namespace {

std::string alternatives(const std::set<std::string>& parts) {
  std::string text;
  for (const std::string& p : parts) text += (text.empty() ? "" : "|") + p;
  return text;
}

std::string signature_of(const Expression& e) {
  std::set<std::string> parts;
  for (const NormalTerm& t : e.terms) parts.insert(signature(t));
  return alternatives(parts);
}

}  // namespace

std::string signature(const Factor& factor) {
  switch (factor.kind) {
    case FactorKind::read:
      return "T" + std::to_string(static_cast<std::uint32_t>(factor.variable.node)) + "." + std::to_string(factor.variable.output);
    case FactorKind::integer:
      return "int";
    case FactorKind::real:
      return "$" + factor.name;
    case FactorKind::predicate:
    case FactorKind::function: {
      std::string text = factor.kind == FactorKind::predicate
                             ? factor.name + "("
                             : std::string(ops::name(factor.function)) + std::to_string(static_cast<int>(factor.data_type)) + "(";
      for (const Expression& e : factor.arguments) text += signature_of(e) + ";";
      return text + ")";
    }
    case FactorKind::maximum:
      break;
  }
  std::set<std::string> parts;
  for (const Piece& p : factor.pieces) parts.insert(signature_of(p.body));
  return "max(" + alternatives(parts) + ")";
}

std::string signature(const NormalTerm& term) {
  std::vector<std::string> parts;
  parts.reserve(term.factors.size());
  for (const FactorPower& f : term.factors) parts.push_back(signature(*f.factor) + "^" + std::to_string(f.power));
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& p : parts) text += p + "*";
  for (const DimensionPower& d : term.dimensions) {
    text += "d" + std::to_string(static_cast<std::uint32_t>(d.dimension)) + "^" + std::to_string(d.power);
  }
  return text;
}

// Printing. -------------------------------------------------------------------------------------------------

namespace {

std::string binder_list(const Names& names, const std::vector<SymbolId>& binders) {
  std::string text;
  for (const SymbolId b : binders) text += (text.empty() ? "" : ", ") + names.symbols.info(b).name;
  return text;
}

std::string to_string(const Names& names, const Factor& factor) {
  switch (factor.kind) {
    case FactorKind::read: {
      std::string name = "constant" + std::to_string(static_cast<std::uint32_t>(factor.variable.node));
      for (std::size_t k = 0; k < names.variables.size(); ++k)
        if (names.variables[k] == factor.variable) name = names.variable_names[k];
      return name + names.symbols.to_string(std::span<const Poly>(factor.indices));
    }
    case FactorKind::integer:
      return "(" + names.symbols.to_string(factor.integer) + ")";
    case FactorKind::real:
      return factor.name;
    case FactorKind::predicate:
    case FactorKind::function: {
      std::string text = factor.kind == FactorKind::predicate          ? factor.name
                         : factor.data_type == ir::DataType::undefined ? std::string(ops::name(factor.function))
                                                                       : "cast_" + std::string(ir::name(factor.data_type));
      text += '(';
      for (std::size_t k = 0; k < factor.arguments.size(); ++k) text += (k == 0 ? "" : ", ") + to_string(names, factor.arguments[k]);
      return text + ")";
    }
    case FactorKind::maximum:
      break;
  }
  std::string text = "max{";
  for (std::size_t k = 0; k < factor.pieces.size(); ++k) {
    const Piece& p = factor.pieces[k];
    if (k > 0) text += "; ";
    if (!p.binders.empty()) text += binder_list(names, p.binders) + ": ";
    text += to_string(names, p.body);
    if (!p.conditions.empty()) text += " [" + to_string(names, p.conditions) + "]";
  }
  return text + "}";
}

}  // namespace

std::string to_string(const Names& names, const Condition& condition) {
  std::string text;
  for (const Atom& a : condition) {
    const char* relation = a.relation == Relation::at_least_zero ? " >= 0" : a.relation == Relation::zero ? " = 0" : " != 0";
    text += (text.empty() ? "" : ", ") + names.symbols.to_string(a.poly) + relation;
  }
  return text;
}

std::string powered(const std::string& text, int power) { return power == 1 ? text : text + "^" + std::to_string(power); }

std::string to_string(const Names& names, const NormalTerm& term) {
  std::vector<std::string> parts;
  parts.reserve(term.dimensions.size());
  for (const DimensionPower& d : term.dimensions) parts.push_back(powered(names.symbols.info(d.dimension).name, d.power));
  for (const FactorPower& f : term.factors) parts.push_back(powered(to_string(names, *f.factor), f.power));
  std::string product;
  for (const std::string& p : parts) product += (product.empty() ? "" : " * ") + p;
  if (product.empty()) product = "1";
  if (!term.conditions.empty()) product = "[" + to_string(names, term.conditions) + "] " + product;
  if (!term.binders.empty()) product = "sum(" + binder_list(names, term.binders) + ": " + product + ")";
  return term.coefficient == Rational(1) ? product : term.coefficient.to_string() + " * " + product;
}

std::string to_string(const Names& names, const Expression& expression) {
  std::string text;
  for (const NormalTerm& t : expression.terms) text += (text.empty() ? "" : " + ") + to_string(names, t);
  return text.empty() ? "0" : text;
}

}  // namespace xflow::verifier
