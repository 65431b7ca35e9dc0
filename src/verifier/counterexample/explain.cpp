#include "src/verifier/counterexample/explain.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/ops/expr.h"
#include "src/verifier/proof/compose.h"
#include "src/verifier/proof/demands.h"

namespace xflow::verifier {

namespace {

std::string numbers(const std::vector<std::size_t>& list) {
  std::string text;
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (k > 0) text += k + 1 == list.size() ? " and " : ", ";
    text += std::to_string(list[k]);
  }
  return text;
}

// True for a name that Symbols::fresh made for an index.
bool is_generated(const std::string& name) {
  const auto mark = name.find('\'');
  return mark != std::string::npos && mark > 0 && name[mark - 1] != '/';
}

// Replaces whole generated names in a text: letters, an apostrophe, digits.
template <typename Name>
std::string renamed(const std::string& text, const Name& name) {
  std::string result;
  for (std::size_t k = 0; k < text.size();) {
    const auto is_word = [&](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    std::size_t end = k;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > k && end < text.size() && text[end] == '\'') {
      ++end;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    }
    // A quotient that a fact defines, "O/'7", becomes O'.
    if (end == k && text[k] == '/' && k + 1 < text.size() && text[k + 1] == '\'') {
      end = k + 2;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
      result += '\'';
      k = end;
      continue;
    }
    if (end == k) end = k + 1;
    const std::string word = text.substr(k, end - k);
    result += is_generated(word) ? name(word) : word;
    k = end;
  }
  return result;
}

}  // namespace

// Prints one object; binders are named in the order in which they occur.
class Readable::Printer {
 public:
  explicit Printer(const Readable& readable) : names_(readable.names_), letters_(readable.letters_) {
    for (const SymbolId s : readable.free_) name(s);
  }

  void name(SymbolId s) {
    if (const std::string& generated = names_.symbols.info(s).name; is_generated(generated)) letter(generated);
  }

  std::string poly(const Poly& p) {
    const std::string text = renamed(names_.symbols.to_string(p), [this](const std::string& generated) { return letter(generated); });
    return names_.symbols.has_elements() ? with_tensor_names(text) : text;
  }

  // "k < K, 2 <= l, i != j".
  std::string atom(const Atom& a) {
    Poly left;
    Poly right;
    for (const ir::PolyTerm& t : a.poly.terms()) {
      Poly term(t.coefficient < 0 ? -t.coefficient : t.coefficient);
      for (const ir::Power& power : t.monomial)
        for (std::uint32_t n = 0; n < power.power; ++n) term *= Poly(power.symbol);
      (t.coefficient < 0 ? left : right) += term;
    }
    // left REL right + constant
    const std::int64_t c = a.poly.constant_term();
    if (a.relation == Relation::at_least_zero) {
      if (left.is_zero()) return poly(right) + " >= " + std::to_string(-c);
      if (right.is_zero()) return poly(left) + " <= " + std::to_string(c);
      if (c < 0) return poly(left + Poly(-c - 1)) + " < " + poly(right);
      return poly(left) + " <= " + poly(right + Poly(c));
    }
    if (c < 0) left += Poly(-c);
    if (c > 0) right += Poly(c);
    if (left.is_constant()) std::swap(left, right);
    return poly(left) + (a.relation == Relation::zero ? " = " : " != ") + poly(right);
  }

  // Splits the conditions of `binders` into ranges "k < K" (the lower bound 0 is omitted) and the rest.
  void conditions(const std::vector<SymbolId>& binders, const Condition& all, std::string& ranges, std::string& rest) {
    std::set<const Atom*> used;
    const auto add = [](std::string& list, const std::string& more) { list += (list.empty() ? "" : ", ") + more; };
    for (const SymbolId b : binders) {
      const Atom* low = nullptr;
      const Atom* high = nullptr;
      for (const Atom& a : all) {
        if (a.relation != Relation::at_least_zero) continue;
        if (a.poly == Poly(b)) low = &a;
        const auto linear = a.poly.linear_in(b);
        if (high == nullptr && linear && linear->first == Poly(-1) && !linear->second.is_constant() && !used.contains(&a)) {
          const bool others = std::any_of(binders.begin(), binders.end(), [&](SymbolId s) { return linear->second.mentions(s); });
          if (!others) high = &a;
        }
      }
      if (low == nullptr || high == nullptr) {
        add(ranges, poly(Poly(b)));
        continue;
      }
      used.insert(low);
      used.insert(high);
      add(ranges, atom(*high));
    }
    for (const Atom& a : all)
      if (!used.contains(&a)) add(rest, atom(a));
  }

  std::string condition(const Condition& c) {
    std::string text;
    for (const Atom& a : c) text += (text.empty() ? "" : ", ") + atom(a);
    return text;
  }

  std::string factor(const Factor& f) {
    switch (f.kind) {
      case FactorKind::read: {
        std::string text = "constant" + std::to_string(static_cast<std::uint32_t>(f.variable.node));
        for (std::size_t k = 0; k < names_.variables.size(); ++k)
          if (names_.variables[k] == f.variable) text = names_.variable_names[k];
        std::string indices;
        for (const Poly& p : f.indices) indices += (indices.empty() ? "" : ", ") + poly(p);
        return text + "[" + indices + "]";
      }
      case FactorKind::integer:
        return "(" + poly(f.integer) + ")";
      case FactorKind::real:
        return f.name;
      case FactorKind::function: {
        std::string text =
            f.data_type == ir::DataType::undefined ? std::string(ops::name(f.function)) : "cast_" + std::string(ir::name(f.data_type));
        text += '(';
        for (std::size_t k = 0; k < f.arguments.size(); ++k) text += (k == 0 ? "" : ", ") + expression(f.arguments[k]);
        return text + ")";
      }
      case FactorKind::predicate:
        return predicate(f);
      case FactorKind::maximum:
        break;
    }
    std::string text = "max{";
    for (std::size_t k = 0; k < f.pieces.size(); ++k) {
      const Piece& p = f.pieces[k];
      if (k > 0) text += "; ";
      for (const SymbolId b : p.binders) name(b);
      std::string ranges;
      std::string rest;
      conditions(p.binders, p.conditions, ranges, rest);
      if (!ranges.empty()) text += ranges + ": ";
      if (!rest.empty()) text += "[" + rest + "] ";
      text += expression(p.body);
    }
    return text + "}";
  }

  // "s[i] is not 0 if c[i]".
  std::string predicate(const Factor& f) {
    const std::size_t arity = predicate_arity(f.name);
    std::string text = expression(f.arguments[0]);
    if (f.name == "nonzero" || f.name == "divisor") text += " is not 0";
    if (f.name == "positive") text += " is positive";
    if (f.name == "nonnegative") text += " is not negative";
    if (f.name == "power") text = "power(" + text + ", " + expression(f.arguments[1]) + ") has a value";
    if (f.name == "has_value") text += " has a value";
    if (f.name == "in_range") text += " is an index of " + expression(f.arguments[1]) + " elements";
    if (f.name.starts_with("fits ")) text += " " + f.name;
    for (std::size_t k = arity; k < f.arguments.size(); ++k) text += (k == arity ? " if " : " and ") + expression(f.arguments[k]) + " = 1";
    return text;
  }

  std::string demand(const Piece& demand) {
    for (const SymbolId b : demand.binders) name(b);
    std::string ranges;
    std::string rest;
    conditions(demand.binders, demand.conditions, ranges, rest);
    std::string text = expression(demand.body);
    if (!ranges.empty()) text += " for " + ranges;
    return rest.empty() ? text : text + " where " + rest;
  }

  // Omits the sign if `negative` is given, which receives it.
  std::string term(const NormalTerm& t, bool* negative = nullptr) {
    for (const SymbolId b : t.binders) name(b);
    std::string ranges;
    std::string rest;
    conditions(t.binders, t.conditions, ranges, rest);
    std::string product;
    for (const DimensionPower& d : t.dimensions) product += (product.empty() ? "" : " * ") + powered(poly(Poly(d.dimension)), d.power);
    for (const FactorPower& f : t.factors) product += (product.empty() ? "" : " * ") + powered(factor(*f.factor), f.power);
    const bool bare = product.empty() && rest.empty() && ranges.empty();
    if (product.empty()) product = "1";
    if (!rest.empty()) product = "[" + rest + "] " + product;
    if (!ranges.empty()) product = "sum(" + ranges + ": " + product + ")";
    Rational c = t.coefficient;
    if (negative != nullptr && c.numerator() < 0) {
      *negative = true;
      c = times(c, Rational(-1));
    }
    if (c == Rational(1)) return product;
    if (bare) return c.to_string();
    return c == Rational(-1) ? "-" + product : c.to_string() + " * " + product;
  }

  std::string expression(const Expression& e) {
    std::string text;
    for (const NormalTerm& t : e.terms) {
      bool negative = false;
      const std::string next = term(t, &negative);
      text += text.empty() ? (negative ? "-" : "") + next : (negative ? " - " : " + ") + next;
    }
    return text.empty() ? "0" : text;
  }

 private:
  // Replaces elements of an integer tensor, "%1049088[k]", by i[k].
  std::string with_tensor_names(const std::string& text) const {
    std::string result;
    for (std::size_t k = 0; k < text.size(); ++k) {
      std::size_t end = k + 1;
      std::uint32_t number = 0;
      while (text[k] == '%' && end < text.size() && text[end] >= '0' && text[end] <= '9')
        number = number * 10 + static_cast<std::uint32_t>(text[end++] - '0');
      const auto tensor = tensor_of(number);
      const auto at = tensor ? std::find(names_.variables.begin(), names_.variables.end(), *tensor) : names_.variables.end();
      if (at == names_.variables.end()) {
        result += text[k];
        continue;
      }
      result += names_.variable_names[static_cast<std::size_t>(at - names_.variables.begin())];
      k = end - 1;
    }
    return result;
  }

  const std::string& letter(const std::string& generated) {
    const std::size_t k = by_.size();
    const auto [at, fresh] = by_.emplace(generated, std::string());
    if (fresh) at->second = letters_[k % letters_.size()] + (k < letters_.size() ? "" : std::to_string(k / letters_.size()));
    return at->second;
  }

  const Names& names_;
  const std::vector<std::string>& letters_;
  std::map<std::string, std::string> by_;
};

Readable::Readable(const Names& names, const std::vector<SymbolId>& free) : names_(names), free_(free) {
  std::set<std::string> taken(names.variable_names.begin(), names.variable_names.end());
  // Symbols may be millions, but those of more than one letter take none.
  for (std::size_t s = 0; s < names.symbols.size(); ++s)
    if (const std::string& name = names.symbols.info(static_cast<SymbolId>(s)).name; name.size() == 1) taken.insert(name);
  for (const char* letter : {"i", "j", "k", "l", "m", "n", "p", "q", "r", "s", "t", "u", "v", "a", "b", "c", "d", "e", "f", "g", "h"})
    if (!taken.contains(letter)) letters_.emplace_back(letter);
  if (letters_.empty()) letters_.emplace_back("index");
}

std::string Readable::poly(const Poly& p) const { return Printer(*this).poly(p); }
std::string Readable::expression(const Expression& e) const { return Printer(*this).expression(e); }
std::string Readable::condition(const Condition& c) const { return Printer(*this).condition(c); }

std::string Readable::demand(const Piece& demand) const { return Printer(*this).demand(demand); }

std::string Readable::element(const std::string& output, const Proof::OutputProof& proof) const {
  Printer printer(*this);
  std::string indices;
  for (const Poly& p : proof.index) indices += (indices.empty() ? "" : ", ") + printer.poly(p);
  return output + "[" + indices + "]";
}

std::string Readable::certificate(const Proof::OutputProof& proof) const {
  std::string text = terms(proof);
  for (const Piece& d : proof.demanded) text += "\nthe target asks that " + demand(d) + (proof.certificate ? "; so does the source" : "");
  return text;
}

std::string Readable::terms(const Proof::OutputProof& proof) const {
  if (proof.terms.empty()) return "both sides have the same normal form";
  std::string text;
  std::vector<Printer> printers;
  for (std::size_t k = 0; k < proof.terms.size(); ++k) {
    printers.emplace_back(*this);
    text += std::to_string(k) + ": " + printers.back().term(proof.terms[k]) + "\n";
  }
  if (!proof.certificate) return text + "no reason was found why these sum to 0";
  for (const Cluster& c : proof.certificate->clusters) {
    std::vector<std::size_t> members;
    // The common indices take the names of the first member if that member only renames them.
    Printer common(*this);
    for (const SymbolId s : c.space) common.name(s);
    std::string maps;
    bool renamed_alone = true;
    for (const Member& m : c.members) {
      members.push_back(m.term);
      std::string here;
      for (std::size_t k = 0; k < m.maps.size(); ++k) {
        // An added binder is 0.
        const auto& binders = proof.terms[m.term].binders;
        const std::string from = k < binders.size() ? printers[m.term].poly(Poly(binders[k])) : std::string("0");
        const std::string to = common.poly(m.maps[k]);
        renamed_alone = renamed_alone && from == to;
        if (!here.empty()) here += ", ";
        here.append(from).append(" = ").append(to);
      }
      if (!here.empty()) maps += (maps.empty() ? ", with " : "; ") + here + " in " + std::to_string(m.term);
    }
    text += numbers(members) + (members.size() == 1 ? " is 0" : " cancel") + (renamed_alone ? "" : maps) + "\n";
  }
  if (!proof.certificate->arithmetic.terms.empty())
    text += numbers(proof.certificate->arithmetic.terms) + " sum to 0 by arithmetic on their values\n";
  text.pop_back();
  return text;
}

std::string explain(const Names& names, const Proof::OutputProof& proof) { return Readable(names, proof.free).certificate(proof); }

}  // namespace xflow::verifier
