// Builds the expression trees of the elements of a rule's two sides.
#include "src/rules/float_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/rules/build.h"

namespace xflow::rules {
namespace {

using ops::FloatError;
using ops::FloatRange;
using ops::FloatWork;

constexpr std::size_t kMostElements = 48;  // elements in one set

void sort_unique(std::vector<ElementId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

ElementSet one_element(ElementId id) { return std::vector<ElementId>{id}; }

// The value of an expression that is a number; NaN for other expressions.
double number_of(const Expression& e) {
  if (e.kind == Expression::Kind::negate) return -number_of(e.arguments[0]);
  return e.kind == Expression::Kind::number ? e.number.to_double() : kNan;
}

const Expression* attribute_of(const Term& term, std::string_view name) {
  for (const Term::NamedExpression& a : term.attributes)
    if (a.name == name) return &a.value;
  return nullptr;
}

bool moves_elements(const Term& term) {
  if (term.kind != Term::Kind::application) return false;
  const ops::Signature& signature = *find_signature(term.name);
  if (!signature.pointwise && !signature.operands.empty() && float_effect(term.name).work != FloatWork::accumulates) return true;
  return std::any_of(term.operands.begin(), term.operands.end(), moves_elements);
}

// True for cast(x, to: type(x)).
bool keeps_type(const Term& term) {
  if (term.kind != Term::Kind::application || term.operands.size() != 1 || term.operands[0].kind != Term::Kind::variable) return false;
  const Expression* to = attribute_of(term, "to");
  return to != nullptr && to->kind == Expression::Kind::call && to->name == "type" && to->arguments[0].name == term.operands[0].name;
}

// True for a conversion of 0 and 1, which changes neither: of a comparison or of one-hot rows.
bool converts_truth(const Term& term) {
  if (term.name != "cast" || term.operands.size() != 1 || term.operands[0].kind != Term::Kind::application) return false;
  const Term& operand = term.operands[0];
  if (operand.name == "one_hot") return attribute_of(operand, "on") == nullptr && attribute_of(operand, "off") == nullptr;
  return is_comparison(operand.name);
}

// True if the rule gives an integer type to a constant that it makes.
bool makes_integers(const Term& term) {
  const Expression* type = attribute_of(term, "data_type");
  const auto known = type == nullptr ? std::nullopt : ir::data_type_from_name(type->name);
  return known && ir::is_integer(*known);
}

}  // namespace

bool is_comparison(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {"equal", "greater", "greater_equal", "less", "less_equal"};
  return std::ranges::find(kNames, name) != kNames.end();
}

Elements::Elements(const Rule& rule, Places places) : rule_(rule), places_(std::move(places)) {
  for (const auto* side : {&rule.source, &rule.target})
    for (const Statement& s : *side) moves_ = moves_ || moves_elements(s.term);
  for (const std::string& output : rule.outputs) {
    source_.push_back(named(output, {false, false, rule.source.size(), "", 0}));
    target_.push_back(named(output, {true, true, rule.target.size(), "", 0}));
  }
}

// What the last statement before `limit` defines. The target may read inner values of the source.
ElementSet Elements::named(const std::string& name, Context context) {
  const std::vector<Statement>& statements = context.in_target ? rule_.target : rule_.source;
  while (context.limit-- > 0) {
    const Statement& s = statements[context.limit];
    const auto output = std::ranges::find(s.outputs, name);
    if (output == s.outputs.end()) continue;
    if (places_ && s.outputs.size() > 1) context.path += fmt::format("[{}]", output - s.outputs.begin());
    const std::string key = fmt::format("{}{}{} {}", context.reads_for_target, context.in_target, context.limit, context.path);
    if (const auto found = evaluated_.find(key); found != evaluated_.end()) return found->second;
    return evaluated_.emplace(key, of(s.term, context)).first->second;
  }
  if (context.in_target && std::ranges::find(rule_.outputs, name) == rule_.outputs.end())
    return named(name, {context.reads_for_target, false, rule_.source.size(), context.path, context.sums});
  Element element;
  element.kind = Element::Kind::variable;
  element.name = name;
  const Declaration* declared = rule_.declaration(name);
  element.integer = declared != nullptr && declared->data_type && ir::is_integer(*declared->data_type);
  if (places_) element.place = places_({context.reads_for_target, name, context.path, context.sums});
  const std::string place = element.place == 0 ? std::string() : fmt::format("@{}", element.place);
  return one_element(make(std::move(element), place));
}

// The context of operand `k`. Broadcasting does not change which element is read.
Elements::Context Elements::operand(const Term& term, std::size_t k, Context context) const {
  if (!places_ || find_signature(term.name)->pointwise || term.name == "expand") return context;
  context.path += '/' + term.name;
  for (const Term::NamedExpression& a : term.attributes) context.path += fmt::format(" {}={}", a.name, print(a.value));
  context.path += fmt::format("#{}", k);
  context.sums += float_effect(term.name).work == FloatWork::accumulates ? 1 : 0;
  return context;
}

ElementId Elements::make(Element element, const std::string& attributes) {
  std::string key = fmt::format("{}:{}:{:a}:{}", static_cast<int>(element.kind), element.name, element.number, attributes);
  for (const ElementId id : element.operands) key += fmt::format(",{}", id);
  const auto [at, fresh] = ids_.emplace(std::move(key), static_cast<ElementId>(nodes_.size()));
  if (fresh) nodes_.push_back(std::move(element));
  return at->second;
}

ElementId Elements::number(double value) {
  Element element;
  element.number = value;
  return make(std::move(element), "");
}

ElementSet Elements::of(const Term& term, const Context& context) {
  if (term.kind == Term::Kind::literal) return one_element(number(term.literal.to_double()));
  if (term.kind == Term::Kind::variable || term.kind == Term::Kind::list) return named(term.name, context);
  const FloatWork work = float_effect(term.name).work;
  if (work == FloatWork::makes) return made(term);
  const ops::Signature& signature = *find_signature(term.name);
  std::vector<ElementSet> operands;
  for (std::size_t k = 0; k < term.operands.size(); ++k) {
    if (term.operands[k].kind == Term::Kind::absent) continue;
    const ops::OperandSignature& declared = signature.operands[std::min(k, signature.operands.size() - 1)];
    if (declared.type_class == ops::TypeClass::integer || declared.type_class == ops::TypeClass::quantized)
      continue;  // selects elements only
    operands.push_back(of(term.operands[k], operand(term, k, context)));
    if (declared.type_class == ops::TypeClass::boolean && operands.back())
      for (const ElementId id : *operands.back()) nodes_[static_cast<std::size_t>(id)].boolean = true;
  }
  if (keeps_type(term) || converts_truth(term)) return operands[0];
  if (work != FloatWork::moves && work != FloatWork::fills) return applied(term, operands);
  std::vector<ElementId> all;
  for (const ElementSet& set : operands) {
    if (!set) return std::nullopt;
    all.insert(all.end(), set->begin(), set->end());
  }
  if (work == FloatWork::fills) {
    const Expression* value = attribute_of(term, "value");
    const double filled = value == nullptr ? 0 : number_of(*value);
    if (!std::isnan(filled)) all.push_back(number(filled));
    if (std::isnan(filled)) {
      Element element;
      element.kind = Element::Kind::variable;
      element.name = print(*value);
      all.push_back(make(std::move(element), "attribute"));
    }
  }
  sort_unique(all);
  return all.size() > kMostElements ? std::nullopt : ElementSet(std::move(all));
}

// zeros, ones and generators with a number as `value` make that number. Other generated constants are
// variables, named by their term.
ElementSet Elements::made(const Term& term) {
  if (term.name == "zeros" || term.name == "ones") return one_element(number(term.name == "ones" ? 1 : 0));
  const Expression* value = attribute_of(term, "value");
  if (value != nullptr && !std::isnan(number_of(*value))) return one_element(number(number_of(*value)));
  Element element;
  element.kind = Element::Kind::variable;
  element.name = print(term);
  element.integer = makes_integers(term);
  return one_element(make(std::move(element), "made"));
}

ElementSet Elements::applied(const Term& term, const std::vector<ElementSet>& operands) {
  const ops::Signature& signature = *find_signature(term.name);
  Element element;
  element.kind = Element::Kind::application;
  element.name = term.name;
  element.effect = &float_effect(term.name);
  element.evaluable = element.effect->scalar != nullptr;
  std::string text;
  for (const ops::AttributeSignature& a : signature.attributes) {
    const Expression* given = attribute_of(term, a.name);
    // Axes and windows change when elements move to other positions.
    if (given != nullptr && (signature.pointwise || !moves_)) text += fmt::format("{}={};", a.name, print(*given));
    double value = 0;
    if (a.kind == ops::AttributeKind::real) {
      const auto* standard = a.default_value ? std::get_if<ir::Real>(&*a.default_value) : nullptr;
      value = given != nullptr ? number_of(*given) : standard != nullptr ? standard->to_double() : kNan;
      element.evaluable = element.evaluable && !std::isnan(value);
    }
    element.attributes.push_back(value);
  }
  // All combinations of one element per operand.
  std::vector<std::vector<ElementId>> choices = {{}};
  for (const ElementSet& set : operands) {
    if (!set) return std::nullopt;
    std::vector<std::vector<ElementId>> longer;
    for (const auto& choice : choices)
      for (const ElementId id : *set) {
        longer.push_back(choice);
        longer.back().push_back(id);
      }
    choices = std::move(longer);
    if (choices.size() > kMostElements) return std::nullopt;
  }
  std::vector<ElementId> all;
  for (auto& choice : choices) {
    if (signature.commutative) std::sort(choice.begin(), choice.end());
    Element one = element;
    one.operands = std::move(choice);
    all.push_back(make(std::move(one), text));
  }
  sort_unique(all);
  return ElementSet(std::move(all));
}

std::vector<ElementId> Elements::below(std::span<const ElementId> roots, bool into_opaque) const {
  std::set<ElementId> found;
  std::vector<ElementId> open(roots.begin(), roots.end());
  while (!open.empty()) {
    const ElementId id = open.back();
    open.pop_back();
    if (!found.insert(id).second) continue;
    const Element& e = (*this)[id];
    if (e.kind != Element::Kind::application || (!e.evaluable && !into_opaque)) continue;
    open.insert(open.end(), e.operands.begin(), e.operands.end());
  }
  return {found.begin(), found.end()};
}

std::set<std::string> Elements::variables(std::span<const ElementId> roots) const {
  std::set<std::string> result;
  for (const ElementId id : below(roots, true))
    if ((*this)[id].kind == Element::Kind::variable) result.insert((*this)[id].name);
  return result;
}

bool Elements::is_free(const std::string& variable) const {
  return rule_.names.contains(variable) &&
         std::ranges::none_of(rule_.guards, [&](const Guard& g) { return g.value == variable && g.kind == Guard::Kind::equals_value; });
}

bool Elements::guarded(ElementId id, Guard::Kind kind) const {
  const Element& e = (*this)[id];
  return e.kind == Element::Kind::variable &&
         std::ranges::any_of(rule_.guards, [&](const Guard& g) { return g.value == e.name && g.kind == kind; });
}

bool Elements::is_integer(ElementId id) const {
  const Element& e = (*this)[id];
  if (e.kind != Element::Kind::application) return e.integer;
  static constexpr std::array<std::string_view, 7> kOfOneType = {"add", "sub", "mul", "neg", "minimum", "maximum", "select"};
  return std::ranges::find(kOfOneType, e.name) != kOfOneType.end() &&
         std::ranges::any_of(e.operands, [&](ElementId operand) { return is_integer(operand); });
}

bool Elements::compares_integers(ElementId id) const {
  const Element& e = (*this)[id];
  return e.kind == Element::Kind::application && is_comparison(e.name) &&
         std::ranges::any_of(e.operands, [&](ElementId operand) { return is_integer(operand); });
}

std::optional<double> Elements::literal(ElementId id) const {
  const Element& e = (*this)[id];
  if (e.kind == Element::Kind::number) return e.number;
  if (e.kind != Element::Kind::variable) return std::nullopt;
  for (const Guard& g : rule_.guards)
    if (g.value == e.name && g.kind == Guard::Kind::equals_value) return g.arguments[0].number.to_double();
  return std::nullopt;
}

bool Elements::known(ElementId id) const {
  const ElementId roots[] = {id};
  for (const ElementId k : below(roots, true)) {
    const Element& e = (*this)[k];
    if (e.kind != Element::Kind::variable) continue;
    const bool constant = std::any_of(rule_.guards.begin(), rule_.guards.end(), [&](const Guard& g) {
      return g.value == e.name && (g.kind == Guard::Kind::is_constant || g.kind == Guard::Kind::equals_value);
    });
    if (!constant && rule_.names.contains(e.name)) return false;
  }
  return true;
}

namespace {

using Range = std::pair<double, double>;
constexpr Range kAll = {-kInfinity, kInfinity};

double low_product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Range sum(Range a, Range b) { return {a.first + b.first, a.second + b.second}; }
Range product(Range a, Range b) {
  const double all[] = {low_product(a.first, b.first), low_product(a.first, b.second), low_product(a.second, b.first),
                        low_product(a.second, b.second)};
  return {*std::min_element(std::begin(all), std::end(all)), *std::max_element(std::begin(all), std::end(all))};
}

}  // namespace

Range Elements::range(ElementId id) const {
  const Element& e = (*this)[id];
  if (e.kind == Element::Kind::number) return {e.number, e.number};
  if (e.kind == Element::Kind::variable) {
    if (const auto value = literal(id)) return {*value, *value};
    return guarded(id, Guard::Kind::is_positive) || guarded(id, Guard::Kind::is_nonnegative) ? Range{0, kInfinity} : kAll;
  }
  if (e.effect->domain == ops::FloatDomain::bounded_above) return {0, std::exp(range(e.operands[0]).second)};
  switch (e.effect->range) {
    case FloatRange::nonnegative:
      return {0, kInfinity};
    case FloatRange::unit:
      return {0, 1};
    case FloatRange::symmetric:
      return {-1, 1};
    case FloatRange::of_operands: {
      Range all = {kInfinity, -kInfinity};
      for (const ElementId operand : e.operands) {
        const Range one = range(operand);
        all = {std::min(all.first, one.first), std::max(all.second, one.second)};
      }
      return all;
    }
    case FloatRange::at_least_operand:
      return range(e.operands[0]);
    case FloatRange::any:
      break;
  }
  if (e.effect->error == FloatError::multiplies) {
    const Range both = product(range(e.operands[0]), range(e.operands[1]));
    return e.operands[0] == e.operands[1] && !moves_ ? Range{std::max(both.first, 0.0), both.second} : both;
  }
  if (e.effect->error == FloatError::adds && e.evaluable) {
    const bool difference = subtracts(*e.effect);
    const Element& other = (*this)[e.operands[1]];
    // x - max(x) is at most 0.
    if (difference && !moves_ && other.kind == Element::Kind::application && other.effect->range == FloatRange::at_least_operand &&
        other.operands[0] == e.operands[0])
      return {-kInfinity, 0};
    const Range b = range(e.operands[1]);
    return sum(range(e.operands[0]), difference ? Range{-b.second, -b.first} : b);
  }
  if (e.effect->error == FloatError::copies && e.evaluable && e.operands.size() == 1) {
    const Range a = range(e.operands[0]);
    return {-a.second, -a.first};
  }
  return kAll;
}

}  // namespace xflow::rules
