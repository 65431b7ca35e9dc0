#include "src/verifier/guards/formula_translator.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace xflow::verifier {

using namespace formulas;
using ir::Poly;
using ir::SymbolId;
using ir::SymbolInfo;
using ir::SymbolKind;
using rules::Guard;
using rules::NameKind;

namespace {

void add_roles(const rules::Term& term, std::map<std::string, std::string>& roles) {
  for (const rules::Term& operand : term.operands) add_roles(operand, roles);
  for (const auto& attribute : term.attributes) {
    if (attribute.value.kind == Formula::Kind::name) roles.emplace(attribute.value.name, attribute.name);
    if (attribute.value.kind != Formula::Kind::list) continue;
    for (std::size_t k = 0; k < attribute.value.arguments.size(); ++k) {
      const Formula& element = attribute.value.arguments[k];
      if (element.kind == Formula::Kind::name) roles.emplace(element.name, fmt::format("{}[{}]", attribute.name, k));
    }
  }
}

}  // namespace

std::map<std::string, std::string> roles_of(const rules::Rule& rule) {
  std::map<std::string, std::string> roles;
  for (const rules::Statement& statement : rule.source) add_roles(statement.term, roles);
  return roles;
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t result = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return result;
}

FormulaTranslator::FormulaTranslator(const rules::Rule& rule, const rules::RuleInstance& instance, Wording wording)
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
  for (const auto& [name, role] : roles_of(rule))
    if (role == "pads" && length(name) % 2 == 0) pads_.insert(name);
}

std::size_t FormulaTranslator::length(const std::string& list) const {
  const auto found = lengths_.find(list);
  return found == lengths_.end() ? 0 : found->second;
}

std::vector<Formula> FormulaTranslator::dimensions_of(const std::string& variable, std::size_t rank) const {
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
    if (dim.kind == Formula::Kind::ones || dim.kind == Formula::Kind::optional) return {};  // handled case by case
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

bool FormulaTranslator::is_called(const Poly& dimension, const std::string& variable, const Formula& own, std::size_t d) const {
  const auto s = dimension.as_symbol();
  if (!s || symbols_.info(*s).kind != SymbolKind::dimension) return false;
  const std::string_view name = symbols_.info(*s).name;
  if (own.kind == Formula::Kind::name) return name == own.name;
  if (own.kind != Formula::Kind::call || own.name != "dim") return false;
  return name.starts_with(variable) && name.substr(variable.size()).starts_with('.') &&
         integer(name.substr(variable.size() + 1)) == static_cast<std::int64_t>(d);
}

std::size_t FormulaTranslator::size_of(const Formula& list) const {
  if (list.kind == Formula::Kind::call) return length(list.arguments[0].name) / 2;
  return length(list.kind == Formula::Kind::list ? list.arguments[0].name : list.name);
}

Formula FormulaTranslator::element(const std::string& list, std::int64_t k) const {
  const auto half = static_cast<std::int64_t>(length(list) / 2);
  Formula whole = named(list);
  if (pads_.contains(list)) whole = call(k < half ? "begins" : "ends", {std::move(whole)});
  return make(Formula::Kind::index, {std::move(whole), number(pads_.contains(list) && k >= half ? k - half : k)});
}

std::optional<Formula> FormulaTranslator::symbol(SymbolId s) const {
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

std::optional<Formula> FormulaTranslator::whole(const ir::PolyTerm& t) const {
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

std::optional<Formula> FormulaTranslator::poly(const Poly& p) const {
  std::optional<Formula> sum;
  for (const ir::PolyTerm& t : p.terms()) {
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

std::optional<Guard> FormulaTranslator::atom(const ops::Atom& a) const {
  Poly left;
  Poly right;
  for (const ir::PolyTerm& t : a.poly.terms()) {
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

}  // namespace xflow::verifier
