#include "src/verifier/guards/guard_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "src/rules/evaluate.h"
#include "src/rules/instantiate.h"

namespace xflow::verifier {

using ir::Poly;
using ir::SymbolId;
using ir::SymbolInfo;
using ir::SymbolKind;
using Formula = rules::Expression;
using rules::Guard;
using rules::NameKind;

namespace {

Formula number(std::int64_t value) {
  Formula e;
  e.kind = Formula::Kind::number;
  e.number = ir::Real(value);
  return e;
}
Formula named(std::string name) {
  Formula e;
  e.kind = Formula::Kind::name;
  e.name = std::move(name);
  return e;
}
Formula make(Formula::Kind kind, std::vector<Formula> arguments, std::string name = {}) {
  Formula e;
  e.kind = kind;
  e.arguments = std::move(arguments);
  e.name = std::move(name);
  return e;
}
// Two arguments, moved where a list in braces would copy them.
std::vector<Formula> both(Formula a, Formula b) {
  std::vector<Formula> arguments;
  arguments.reserve(2);
  arguments.push_back(std::move(a));
  arguments.push_back(std::move(b));
  return arguments;
}
Formula make(Formula::Kind kind, Formula a, Formula b) { return make(kind, both(std::move(a), std::move(b))); }
Formula call(std::string function, std::vector<Formula> arguments) {
  return make(Formula::Kind::call, std::move(arguments), std::move(function));
}
Guard relation(Guard::Kind kind, Formula a, Formula b) {
  Guard g;
  g.kind = kind;
  g.arguments = both(std::move(a), std::move(b));
  return g;
}
Guard equal(Formula a, Formula b) { return relation(Guard::Kind::equal, std::move(a), std::move(b)); }
Guard at_least(Formula a, Formula b) { return relation(Guard::Kind::at_least, std::move(a), std::move(b)); }

// "12" in "p[12]" or "x.12"; nothing where the text does not end so.
std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t result = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return result;
}

// What the rule's attribute variables are of operators: "strides" for s in conv(x, w, strides: s).
void roles_of(const rules::Term& term, std::map<std::string, std::string>& roles) {
  for (const rules::Term& operand : term.operands) roles_of(operand, roles);
  for (const auto& attribute : term.attributes) {
    if (attribute.value.kind == Formula::Kind::name) roles.emplace(attribute.value.name, attribute.name);
    if (attribute.value.kind != Formula::Kind::list) continue;
    for (std::size_t k = 0; k < attribute.value.arguments.size(); ++k) {
      const Formula& element = attribute.value.arguments[k];
      if (element.kind == Formula::Kind::name) roles.emplace(element.name, fmt::format("{}[{}]", attribute.name, k));
    }
  }
}

// Symbols and polynomials of an instance as expressions of its rule: for the choice of guards element by element, p[2] (relations of all
// elements are joined later); for the text of a record as what means the same at every rank, ends(p)[0], [S..][1], product(r).
enum class Wording : std::uint8_t { elements, any_rank };

class Translator {
 public:
  Translator(const rules::Rule& rule, const rules::RuleInstance& instance, Wording wording)
      : rule_(rule), symbols_(instance.arena->symbols()), wording_(wording) {
    if (wording == Wording::elements) return;
    for (std::size_t s = 0; s < symbols_.size(); ++s) {
      const SymbolInfo& info = symbols_.info(static_cast<SymbolId>(s));
      if (info.kind != SymbolKind::dimension && info.kind != SymbolKind::parameter) continue;
      const std::string& name = info.name;
      if (const auto bracket = name.find('['); bracket != std::string::npos) ++lengths_[name.substr(0, bracket)];
      const auto end = name.find_last_not_of("0123456789") + 1;
      if (end > 0 && end < name.size()) ++lengths_[name.substr(0, end)];
    }
    std::map<std::string, std::string> roles;
    for (const rules::Statement& statement : rule.source) roles_of(statement.term, roles);
    for (const auto& [name, role] : roles)
      if (role == "pads" && length(name) % 2 == 0) pads_.insert(name);
  }

  // The number of elements of a list or a sequence, of the dimensions of "x." of variable x.
  std::size_t length(const std::string& list) const {
    const auto found = lengths_.find(list);
    return found == lengths_.end() ? 0 : found->second;
  }

  // The dimensions of a variable as the rule names them; empty where it has no names for them.
  std::vector<Formula> dimensions_of(const std::string& variable, std::size_t rank) const {
    std::vector<Formula> result;
    result.reserve(rank);
    const auto found = rule_.names.find(variable);
    if (rule_.pointwise || found == rule_.names.end() || found->second != NameKind::value) return result;
    const rules::Declaration* declaration = rule_.declaration(variable);
    if (declaration == nullptr) {
      for (std::size_t d = 0; d < rank; ++d) result.push_back(call("dim", {named(variable), number(static_cast<std::int64_t>(d))}));
      return result;
    }
    for (const Formula& dim : declaration->dims) {
      if (dim.kind == Formula::Kind::ones || dim.kind == Formula::Kind::optional) return {};  // cases of their own
      if (dim.kind != Formula::Kind::sequence) {
        result.push_back(dim);
        continue;
      }
      for (std::size_t k = 0; k < length(dim.name); ++k)
        result.push_back(make(Formula::Kind::index, {make(Formula::Kind::list, {make(Formula::Kind::sequence, {}, dim.name)}),
                                                     number(static_cast<std::int64_t>(k))}));
    }
    return result.size() == rank ? result : std::vector<Formula>();
  }

  // Whether a dimension still has the name that it has in the rule, N or dim(x, 2): what poly() would say, without making it.
  bool is_called(const Poly& dimension, const std::string& variable, const Formula& own, std::size_t d) const {
    const auto s = dimension.as_symbol();
    if (!s || symbols_.info(*s).kind != SymbolKind::dimension) return false;
    const std::string_view name = symbols_.info(*s).name;
    if (own.kind == Formula::Kind::name) return name == own.name;
    if (own.kind != Formula::Kind::call || own.name != "dim") return false;
    return name.starts_with(variable) && name.substr(variable.size()).starts_with('.') &&
           integer(name.substr(variable.size() + 1)) == static_cast<std::int64_t>(d);
  }

  // Of a list as element() writes it: p, begins(p), [S..].
  std::size_t size_of(const Formula& list) const {
    if (list.kind == Formula::Kind::call) return length(list.arguments[0].name) / 2;
    return length(list.kind == Formula::Kind::list ? list.arguments[0].name : list.name);
  }

  // Pads are begins and ends, so that an element means the same at every rank.
  Formula element(const std::string& list, std::int64_t k) const {
    const auto half = static_cast<std::int64_t>(length(list) / 2);
    Formula whole = named(list);
    if (pads_.contains(list)) whole = call(k < half ? "begins" : "ends", {std::move(whole)});
    return make(Formula::Kind::index, {std::move(whole), number(pads_.contains(list) && k >= half ? k - half : k)});
  }

  std::optional<Formula> symbol(SymbolId s) const {
    const SymbolInfo& info = symbols_.info(s);
    if (info.kind == SymbolKind::floor_div || info.kind == SymbolKind::maximum) {
      const auto a = poly(info.arguments[0]);
      const auto b = poly(info.arguments[1]);
      if (!a || !b) return std::nullopt;
      return call(info.kind == SymbolKind::floor_div ? "floor_div" : "max", {*a, *b});
    }
    const std::string& name = info.name;
    const auto kind = [&](std::string_view of) {
      const auto found = rule_.names.find(of);
      return found == rule_.names.end() ? std::optional<NameKind>() : found->second;
    };
    if (kind(name) == NameKind::dimension || kind(name) == NameKind::integer) return named(name);
    if (const auto bracket = name.find('['); bracket != std::string::npos && name.back() == ']') {
      const auto k = integer(std::string_view(name).substr(bracket + 1, name.size() - bracket - 2));
      if (k && kind(name.substr(0, bracket)) == NameKind::integers) return element(name.substr(0, bracket), *k);
    }
    // "S0": an element of a sequence of dimensions.
    if (const auto digits = name.find_last_not_of("0123456789") + 1; wording_ == Wording::any_rank && digits > 0 && digits < name.size()) {
      const auto k = integer(std::string_view(name).substr(digits));
      const std::string sequence = name.substr(0, digits);
      if (k && kind(sequence) == NameKind::sequence)
        return make(Formula::Kind::index, {make(Formula::Kind::list, {make(Formula::Kind::sequence, {}, sequence)}), number(*k)});
    }
    if (const auto dot = name.find('.'); dot != std::string::npos) {
      const auto k = integer(std::string_view(name).substr(dot + 1));
      if (k && kind(name.substr(0, dot)) == NameKind::value) return call("dim", {named(name.substr(0, dot)), number(*k)});
    }
    return std::nullopt;
  }

  // product(r) for r[0] * r[1], elements(x) for x.0 * x.1: all of two or more.
  std::optional<Formula> whole(const Poly::Term& t) const {
    if (wording_ == Wording::elements || t.monomial.size() < 2) return std::nullopt;
    std::string list;
    for (const ir::Power& power : t.monomial) {
      const std::string& name = symbols_.info(power.symbol).name;
      const auto end = name.find_first_of("[.");
      if (power.power != 1 || end == std::string::npos) return std::nullopt;
      const std::string head = name[end] == '.' ? name.substr(0, end + 1) : name.substr(0, end);
      if (!list.empty() && list != head) return std::nullopt;
      list = head;
    }
    if (length(list) != t.monomial.size()) return std::nullopt;
    const bool dimensions = list.back() == '.';
    if (dimensions) list.pop_back();
    const auto found = rule_.names.find(list);
    if (found == rule_.names.end() || found->second != (dimensions ? NameKind::value : NameKind::integers)) return std::nullopt;
    return call(dimensions ? "elements" : "product", {named(list)});
  }

  std::optional<Formula> poly(const Poly& p) const {
    std::optional<Formula> sum;
    for (const Poly::Term& t : p.terms()) {
      std::optional<Formula> product = whole(t);
      const bool is_whole = product.has_value();
      for (const ir::Power& power : t.monomial) {
        if (is_whole) break;
        const auto factor = symbol(power.symbol);
        if (!factor) return std::nullopt;
        for (std::uint32_t n = 0; n < power.power; ++n)
          product = product ? make(Formula::Kind::multiply, *std::move(product), *factor) : *factor;
      }
      const std::int64_t c = t.coefficient;
      const bool negative = c < 0;
      Formula term = *std::move(product);
      if (c != 1 && c != -1) term = make(Formula::Kind::multiply, number(negative ? -c : c), std::move(term));
      if (!sum) {
        sum = negative ? make(Formula::Kind::negate, {term}) : std::move(term);
      } else {
        sum = make(negative ? Formula::Kind::subtract : Formula::Kind::add, *std::move(sum), std::move(term));
      }
    }
    const std::int64_t c = p.constant_term();
    if (!sum) return number(c);
    if (c == 0) return sum;
    return make(c < 0 ? Formula::Kind::subtract : Formula::Kind::add, *std::move(sum), number(c < 0 ? -c : c));
  }

  // Positive terms on the left, negative ones on the right.
  std::optional<Guard> atom(const ops::Atom& a) const {
    Poly left;
    Poly right;
    for (const Poly::Term& t : a.poly.terms()) {
      Poly term(t.coefficient < 0 ? -t.coefficient : t.coefficient);
      for (const ir::Power& power : t.monomial)
        for (std::uint32_t n = 0; n < power.power; ++n) term *= Poly(power.symbol);
      (t.coefficient < 0 ? right : left) += term;
    }
    (a.poly.constant_term() < 0 ? right : left) += Poly(a.poly.constant_term() < 0 ? -a.poly.constant_term() : a.poly.constant_term());
    if (left.is_constant() && a.relation != ops::Relation::at_least_zero) std::swap(left, right);
    auto l = poly(left);
    auto r = poly(right);
    if (!l || !r || a.poly.is_constant()) return std::nullopt;
    const Guard::Kind kind = a.relation == ops::Relation::zero       ? Guard::Kind::equal
                             : a.relation == ops::Relation::not_zero ? Guard::Kind::not_equal
                                                                     : Guard::Kind::at_least;
    return relation(kind, *std::move(l), *std::move(r));
  }

 private:
  const rules::Rule& rule_;
  const ir::Symbols& symbols_;
  Wording wording_;
  std::map<std::string, std::size_t> lengths_;  // nothing in the wording of elements
  std::set<std::string> pads_;
};

// An element of lists as the lists themselves, for a relation that holds of every element k: d[k] >= 1 becomes d >= 1. False where
// something else than element k stands there; `lists` receives the lists.
bool lift(Formula& e, const Formula& k, std::vector<Formula>& lists) {
  if (e.kind == Formula::Kind::index) {
    if (rules::print(e.arguments[1]) != rules::print(k)) return false;
    Formula list = e.arguments[0];
    lists.push_back(list);
    e = std::move(list);
    return true;
  }
  if (e.kind == Formula::Kind::call && rules::takes_tensor(e.name)) return false;
  return std::all_of(e.arguments.begin(), e.arguments.end(), [&](Formula& a) { return lift(a, k, lists); });
}

void dimensions_of(const std::string& name, const std::optional<std::vector<std::int64_t>>& dims, Features& features) {
  if (!dims) return;
  for (std::size_t d = 0; d < dims->size(); ++d) features[fmt::format("dim({}, {})", name, d)] = (*dims)[d];
}

// "strides[0]" for s[0] and for a in [a, b].
std::string role_of(const Formula& attribute, const std::map<std::string, std::string>& roles) {
  const bool element = attribute.kind == Formula::Kind::index;
  const auto found = roles.find(element ? attribute.arguments[0].name : attribute.name);
  const std::string role = found == roles.end() ? std::string() : found->second;
  return element ? fmt::format("{}[{}]", role, rules::print(attribute.arguments[1])) : role;
}

}  // namespace

Features features_of(const rules::RuleInstance& instance, const Concrete& concrete, const Assignment& assignment) {
  Features features;
  for (const auto& [s, v] : assignment.integers) features[instance.arena->symbols().info(s).name] = v;
  for (std::size_t k = 0; k < instance.variables.size(); ++k)
    dimensions_of(instance.variable_names[k], concrete.shape(instance.variables[k], assignment), features);
  for (std::size_t k = 0; k < instance.output_names.size(); ++k)
    dimensions_of(instance.output_names[k], concrete.shape(instance.source.outputs[k], assignment), features);
  // "axis = 1" of a choice; lists and ranks are no integers.
  for (std::size_t begin = 0; begin < instance.choice.size();) {
    const std::size_t end = std::min(instance.choice.find(", ", begin), instance.choice.size());
    const std::string part = instance.choice.substr(begin, end - begin);
    if (const auto sign = part.find(" = "); sign != std::string::npos)
      if (const auto v = integer(std::string_view(part).substr(sign + 3))) features[part.substr(0, sign)] = *v;
    begin = end + 2;
  }
  return features;
}

std::optional<std::int64_t> value(const Formula& e, const Features& features) {
  const auto look = [&](const std::string& name) {
    const auto found = features.find(name);
    return found == features.end() ? std::optional<std::int64_t>() : found->second;
  };
  if (e.kind == Formula::Kind::number) {
    const auto r = e.number.rational();
    return r && r->denominator() == 1 ? std::optional(r->numerator()) : std::nullopt;
  }
  if (e.kind == Formula::Kind::name) return look(e.name);
  if (e.kind == Formula::Kind::index || (e.kind == Formula::Kind::call && e.name == "dim")) return look(rules::print(e));
  std::vector<std::int64_t> v;
  for (const Formula& a : e.arguments) {
    const auto one = value(a, features);
    if (!one || *one > 1'000'000 || *one < -1'000'000) return std::nullopt;
    v.push_back(*one);
  }
  if (e.kind == Formula::Kind::add) return v[0] + v[1];
  if (e.kind == Formula::Kind::subtract) return v[0] - v[1];
  if (e.kind == Formula::Kind::multiply) return v[0] * v[1];
  if (e.kind == Formula::Kind::negate) return -v[0];
  if (e.kind != Formula::Kind::call || v.size() != 2) return std::nullopt;
  if (e.name == "max") return std::max(v[0], v[1]);
  if (e.name == "min") return std::min(v[0], v[1]);
  if (v[1] < 1) return std::nullopt;
  const std::int64_t remainder = ((v[0] % v[1]) + v[1]) % v[1];
  if (e.name == "mod") return remainder;
  if (e.name == "floor_div") return (v[0] - remainder) / v[1];
  if (e.name == "ceil_div") return (v[0] - remainder) / v[1] + (remainder > 0 ? 1 : 0);
  return std::nullopt;
}

std::optional<bool> holds(const Guard& guard, const Features& features) {
  if (!guard.value.empty()) return std::nullopt;
  const auto a = value(guard.arguments[0], features);
  const auto b = value(guard.arguments[1], features);
  if (!a || !b) return std::nullopt;
  switch (guard.kind) {
    case Guard::Kind::equal:
      return *a == *b;
    case Guard::Kind::not_equal:
      return *a != *b;
    case Guard::Kind::at_least:
      return *a >= *b;
    case Guard::Kind::greater:
      return *a > *b;
    default:
      return std::nullopt;
  }
}

std::vector<std::string> assumed_guards(const rules::Rule& rule, const rules::RuleInstance& instance) {
  const Translator translate(rule, instance, Wording::any_rank);
  std::vector<std::string> lines;
  std::vector<Guard> guards;
  std::set<std::string> known;
  const auto add = [&](std::optional<Guard> g, const Poly& p) {
    if (!g) {
      lines.push_back(instance.arena->symbols().to_string(p));
    } else if (known.insert(rules::print(*g)).second) {
      guards.push_back(*std::move(g));
    }
  };
  // Dimensions that have one name in the types, although the rule gives them names of their own.
  for (std::size_t k = 0; k < instance.variables.size(); ++k) {
    const ir::Shape& shape = instance.arena->type(instance.variables[k]).shape;
    const std::vector<Formula> own = translate.dimensions_of(instance.variable_names[k], shape.size());
    for (std::size_t d = 0; d < own.size(); ++d) {
      // What a product of names is, the names say elsewhere.
      if (own[d].kind != Formula::Kind::name && own[d].kind != Formula::Kind::call && own[d].kind != Formula::Kind::index) continue;
      if (translate.is_called(shape[d], instance.variable_names[k], own[d], d)) continue;
      const auto actual = translate.poly(shape[d]);
      if (actual && rules::print(*actual) == rules::print(own[d])) continue;
      add(actual ? std::optional(equal(own[d], *actual)) : std::nullopt, shape[d]);
    }
  }
  for (const rules::Fact& f : instance.facts)
    if (!f.reason.starts_with("guard ")) add(translate.atom(f.atom), f.atom.poly);
  // Relations of all elements of lists are one.
  std::map<std::string, std::size_t> elements;
  const auto lifted = [&](const Guard& g, std::size_t k, std::vector<Formula>& lists) -> std::optional<Guard> {
    Guard result = g;
    for (Formula& e : result.arguments)
      if (!lift(e, number(static_cast<std::int64_t>(k)), lists)) return std::nullopt;
    return lists.empty() ? std::nullopt : std::optional(std::move(result));
  };
  std::vector<std::vector<std::string>> wholes(guards.size());
  for (std::size_t n = 0; n < guards.size(); ++n) {
    for (std::size_t k = 0; k < rules::kMaxRank; ++k) {
      std::vector<Formula> lists;
      const auto whole = lifted(guards[n], k, lists);
      if (!whole) continue;
      wholes[n].push_back(rules::print(*whole));
      ++elements[wholes[n].back()];
    }
  }
  std::set<std::string> said;
  for (std::size_t n = 0; n < guards.size(); ++n) {
    std::string line = rules::print(guards[n]);
    for (const std::string& whole : wholes[n]) {
      std::vector<Formula> lists;
      for (std::size_t k = 0; k < rules::kMaxRank && lists.empty(); ++k) lifted(guards[n], k, lists);
      if (std::all_of(lists.begin(), lists.end(), [&](const Formula& list) { return translate.size_of(list) == elements[whole]; }))
        line = whole;
    }
    if (said.insert(line).second) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Guard> vocabulary(const rules::Rule& rule, const rules::RuleInstance& instance, const Concrete& concrete) {
  const Translator translate(rule, instance, Wording::elements);
  const ir::Symbols& symbols = instance.arena->symbols();
  std::vector<Guard> all;
  std::set<std::string> known;
  const auto add = [&](Guard g) {
    if (known.insert(rules::print(g)).second) all.push_back(std::move(g));
  };
  // An axis or a flag that an instance fixes.
  const auto is_chosen = [&](const Formula& e) { return !e.name.empty() && instance.choice.find(e.name + " = ") != std::string::npos; };
  std::vector<Formula> attributes;
  std::vector<Formula> dims;
  for (const SymbolId s : concrete.symbols()) {
    if (const auto e = translate.symbol(s)) (symbols.info(s).kind == SymbolKind::dimension ? dims : attributes).push_back(*e);
  }
  for (const auto& [name, kind] : rule.names) {
    // An axis or a flag that is chosen; not the symbols from above.
    if (kind == NameKind::integer && is_chosen(named(name))) attributes.push_back(named(name));
  }

  const auto is_simple = [](const Guard& g) {
    const std::string text = rules::print(g);
    return text.size() <= 24 && text.find('(') == std::string::npos;
  };
  // Simple obligations of typing; involved ones come last.
  std::vector<Guard> involved;
  for (const rules::Fact& o : instance.obligations) {
    if (const auto g = translate.atom(o.atom)) (is_simple(*g) ? all : involved).push_back(*g);
  }
  for (const Guard& g : all) known.insert(rules::print(g));
  // Attributes.
  // Of many attributes only those are compared that are the same of two operators.
  std::map<std::string, std::string> roles;
  for (const rules::Statement& statement : rule.source) roles_of(statement.term, roles);
  const bool few = attributes.size() <= 6;
  for (std::size_t i = 0; i < attributes.size(); ++i)
    for (std::size_t j = i + 1; j < attributes.size(); ++j)
      if (few || role_of(attributes[i], roles) == role_of(attributes[j], roles)) add(equal(attributes[i], attributes[j]));
  for (std::size_t i = 0; i < attributes.size(); ++i)
    for (std::size_t j = i + 1; j < attributes.size(); ++j)
      if (is_chosen(attributes[i]) && is_chosen(attributes[j])) add(relation(Guard::Kind::not_equal, attributes[i], attributes[j]));
  for (const Formula& a : attributes)
    for (const std::int64_t c : {1, 0, 2}) add(equal(a, number(c)));
  // Dimensions.
  for (std::size_t i = 0; i < dims.size(); ++i)
    for (std::size_t j = i + 1; j < dims.size(); ++j) add(equal(dims[i], dims[j]));
  for (const Formula& d : dims) {
    add(equal(d, number(1)));
    for (const Formula& a : attributes) add(equal(d, a));
  }
  // Equal sizes of outputs.
  for (std::size_t i = 0; i < instance.output_names.size(); ++i) {
    for (std::size_t j = i + 1; j < instance.output_names.size(); ++j) {
      const std::size_t rank = instance.arena->type(instance.source.outputs[i]).rank();
      if (instance.arena->type(instance.source.outputs[j]).rank() != rank) continue;
      for (std::size_t d = 0; d < rank; ++d) {
        const auto n = static_cast<std::int64_t>(d);
        add(equal(call("dim", {named(instance.output_names[i]), number(n)}), call("dim", {named(instance.output_names[j]), number(n)})));
      }
    }
  }
  // Divisibility and parity.
  for (const Formula& d : dims) {
    add(equal(call("mod", {d, number(2)}), number(0)));
    add(equal(call("mod", {d, number(2)}), number(1)));
    for (const Formula& a : attributes) add(equal(call("mod", {d, a}), number(0)));
    for (const Formula& e : dims)
      if (rules::print(d) != rules::print(e)) add(equal(call("mod", {d, e}), number(0)));
  }
  for (std::size_t i = 0; i < dims.size(); ++i)
    for (std::size_t j = i + 1; j < dims.size(); ++j)
      add(equal(call("mod", {make(Formula::Kind::add, {dims[i], dims[j]}), number(2)}), number(0)));
  // Ranges.
  for (const Formula& a : attributes) {
    add(at_least(a, number(0)));
    add(at_least(a, number(1)));
    for (const Formula& d : dims) {
      add(at_least(d, a));
      add(at_least(a, d));
      add(relation(Guard::Kind::greater, d, a));
    }
    for (const Formula& b : attributes)
      if (few && rules::print(a) != rules::print(b)) add(at_least(a, b));
  }
  if (few) {
    for (std::size_t i = 0; i < attributes.size(); ++i)
      for (std::size_t j = i + 1; j < attributes.size(); ++j)
        for (const Formula& d : dims) add(at_least(d, make(Formula::Kind::add, {attributes[i], attributes[j]})));
  }
  for (std::size_t i = 0; i < dims.size(); ++i)
    for (std::size_t j = 0; j < dims.size(); ++j)
      if (i != j) add(at_least(dims[i], dims[j]));
  for (Guard& g : involved) add(std::move(g));
  return all;
}

std::vector<Guard> joined(const std::vector<Guard>& guards, const rules::Rule& rule, const rules::RuleInstance& instance) {
  // The number of elements of each list.
  std::map<std::string, std::size_t> lengths;
  const ir::Symbols& symbols = instance.arena->symbols();
  std::set<std::string> symbol_names;
  for (std::size_t s = 0; s < symbols.size(); ++s) symbol_names.insert(symbols.info(static_cast<SymbolId>(s)).name);
  for (const auto& [name, kind] : rule.names) {
    if (kind != NameKind::integers) continue;
    std::size_t& length = lengths[name];
    while (symbol_names.contains(fmt::format("{}[{}]", name, length))) ++length;
  }
  const auto element = [](const Formula& e) {
    return e.kind == Formula::Kind::index && e.arguments[0].kind == Formula::Kind::name ? e.arguments[0].name : std::string();
  };
  // Groups of elementwise equations "p[k] = q[k]" or "p[k] = c", by p and q or c.
  std::map<std::string, std::map<std::int64_t, std::size_t>> groups;
  std::map<std::string, std::pair<std::string, Formula>> heads;
  for (std::size_t n = 0; n < guards.size(); ++n) {
    if (guards[n].kind != Guard::Kind::equal) continue;
    const Formula& a = guards[n].arguments[0];
    const Formula& b = guards[n].arguments[1];
    const std::string p = element(a);
    const bool constant = b.kind == Formula::Kind::number;
    const bool pair = !element(b).empty() && rules::print(a.arguments.back()) == rules::print(b.arguments.back());
    if (p.empty() || !(constant || pair)) continue;
    const auto k = value(a.arguments[1], {});
    const std::string key = p + " = " + (constant ? rules::print(b) : element(b));
    heads[key] = {p, constant ? b : b.arguments[0]};
    if (k) groups[key][*k] = n;
  }
  std::vector<Guard> result;
  std::set<std::size_t> replaced;
  for (const auto& group : groups) {
    const std::map<std::int64_t, std::size_t>& members = group.second;
    const std::string& p = heads[group.first].first;
    const Formula& right = heads[group.first].second;
    const std::size_t length = lengths[p];
    const auto has = [&](std::size_t from, std::size_t to) {
      for (std::size_t k = from; k < to; ++k)
        if (!members.contains(static_cast<std::int64_t>(k))) return false;
      return from < to;
    };
    const auto take = [&](std::size_t from, std::size_t to) {
      for (std::size_t k = from; k < to; ++k) replaced.insert(members.at(static_cast<std::int64_t>(k)));
    };
    const bool constant = right.kind == Formula::Kind::number;
    const auto half = [&](const char* function) { return equal(call(function, {named(p)}), constant ? right : call(function, {right})); };
    if (length >= 2 && has(0, length)) {
      result.push_back(equal(named(p), right));
      take(0, length);
    } else if (length >= 4 && length % 2 == 0 && has(0, length / 2)) {
      result.push_back(half("begins"));
      take(0, length / 2);
    } else if (length >= 4 && length % 2 == 0 && has(length / 2, length)) {
      result.push_back(half("ends"));
      take(length / 2, length);
    }
  }
  for (std::size_t n = 0; n < guards.size(); ++n)
    if (!replaced.contains(n)) result.push_back(guards[n]);
  return result;
}

}  // namespace xflow::verifier
