// The float class of a rule.
#include "src/rules/float_class.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/rules/build.h"
#include "src/rules/float_elements.h"
#include "src/rules/float_places.h"
#include "src/rules/float_size.h"

namespace xflow::rules {
namespace {

using ops::FloatDomain;
using ops::FloatEffect;
using ops::FloatWork;

// Divisors of at least kSmallestDivisor and exponents of at most kLargestExponent give results far from
// 0 and from the overflow of float16.
constexpr double kSmallestDivisor = 1e-3;
constexpr double kLargestExponent = 10;
constexpr std::size_t kMostPlaces = 1024;  // possibilities that are tried

// The operators and variables of one side.
struct FloatSide {
  std::set<std::string> variables;
  std::set<std::string> rounding;  // names of operators that round
  bool only_moves = true;
  bool exact = true;
  bool only_integers = true;  // if the variables are
};

// True unless the operator makes floating numbers of integers.
bool keeps_integers(const Term& term) {
  if (float_effect(term.name).work == FloatWork::makes) return false;
  return std::ranges::all_of(term.attributes, [](const Term::NamedExpression& a) {
    if (a.name != "to") return true;
    const auto type = ir::data_type_from_name(a.value.name);
    return type && !ir::is_floating(*type);
  });
}

void take(const Term& term, FloatSide& side) {
  if (term.kind == Term::Kind::variable || term.kind == Term::Kind::list) side.variables.insert(term.name);
  if (term.kind != Term::Kind::application) return;
  const FloatEffect& effect = float_effect(term.name);
  side.only_moves = side.only_moves && effect.work != FloatWork::chooses && effect.work != FloatWork::jumps && effect.exact();
  side.exact = side.exact && effect.exact();
  side.only_integers = side.only_integers && keeps_integers(term);
  if (!effect.exact()) side.rounding.insert(term.name);
  for (const Term& operand : term.operands) take(operand, side);
}

FloatSide side_of(const std::vector<Statement>& statements) {
  FloatSide side;
  for (const Statement& s : statements) take(s.term, side);
  return side;
}

// An operation that can turn finite numbers into an infinity or NaN, or a rounding error into a jump,
// and the element that decides it.
struct Critical {
  std::string name;  // for messages: "division", "exp"
  ElementId operand = 0;
  auto operator<=>(const Critical&) const = default;
};

class Classifier {
 public:
  explicit Classifier(const Rule& rule) : rule_(rule), source_(side_of(rule.source)), target_(side_of(rule.target)), elements_(rule) {}

  NumberClass run() {
    if (is_exact() || computes_the_same()) return {FloatClass::exact, {}};
    NumberClass result;
    result.effects.push_back(source_.rounding == target_.rounding
                                 ? "re-associates"
                                 : fmt::format("computes with {} instead of {}", joined(target_.rounding), joined(source_.rounding)));
    changed_domains();
    changed_jumps();
    if (!listed()) found_.insert("has too many cases to compare");
    if (listed()) compare_elements();
    for (const std::string& name : dropped()) found_.insert("drops " + name);
    result.float_class = found_.empty() ? FloatClass::rounding : FloatClass::special;
    result.effects.insert(result.effects.end(), found_.begin(), found_.end());
    return result;
  }

 private:
  static std::string joined(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "nothing" : text;
  }

  bool listed() const {
    const auto all = [](const std::vector<ElementSet>& sets) {
      return std::all_of(sets.begin(), sets.end(), [](const ElementSet& set) { return set.has_value(); });
    };
    return all(elements_.source()) && all(elements_.target());
  }

  template <typename Visit>
  bool for_pairs(Visit visit) const {
    for (std::size_t k = 0; k < elements_.source().size(); ++k)
      for (const ElementId s : *elements_.source()[k])
        for (const ElementId t : *elements_.target()[k])
          if (!visit(s, t)) return false;
    return true;
  }

  // A proof about operators that only move data and choose by booleans holds for every bit pattern.
  bool is_exact() const {
    if (!source_.exact || !target_.exact) return false;
    if (source_.only_moves && target_.only_moves) return true;
    if (source_.only_integers && target_.only_integers && declares_integers()) return true;
    if (!listed() || chooses_a_zero(elements_.source()) || chooses_a_zero(elements_.target())) return false;
    return for_pairs([&](ElementId s, ElementId t) {
      if (elements_.moves() && never_meet(elements_, s, t) && !may_meet(elements_, s, t)) return true;
      // Equal functions read equal elements only if each element is read once and affects the result.
      if (elements_.moves() && !(same_places(s) && same_places(t))) return false;
      return special_change(elements_, s, t, Strictness::bits) == SpecialChange::none;
    });
  }
  bool declares_integers() const {
    return std::ranges::all_of(source_.variables, [&](const std::string& name) {
      const Declaration* declared = rule_.declaration(name);
      return declared != nullptr && declared->data_type && !ir::is_floating(*declared->data_type);
    });
  }
  // Both sides apply the same functions to the same elements. The operands of a sum or product of two may be
  // swapped.
  bool computes_the_same() const {
    if (elements_.moves() || !listed() || chooses_a_zero(elements_.source())) return false;
    for (std::size_t k = 0; k < elements_.source().size(); ++k)
      if (elements_.source()[k]->size() != 1 || *elements_.source()[k] != *elements_.target()[k]) return false;
    const std::vector<ElementId> all = all_below(elements_.source());
    return std::all_of(all.begin(), all.end(), [&](ElementId id) {
      const Element& e = elements_[id];
      return e.kind != Element::Kind::application || (e.evaluable && e.operands.size() <= 2);
    });
  }
  // ONNX does not define the sign of maximum(0, -0). Runtimes decide by the order of operands, which
  // matching does not preserve.
  bool chooses_a_zero(const std::vector<ElementSet>& side) const {
    const std::vector<ElementId> all = all_below(side);
    return std::any_of(all.begin(), all.end(), [&](ElementId id) {
      const Element& e = elements_[id];
      return e.kind == Element::Kind::application && e.effect->zero == ops::ZeroSign::either && e.operands[0] != e.operands[1] &&
             std::all_of(e.operands.begin(), e.operands.end(), [&](ElementId o) { return may_be_zero(o); });
    });
  }
  bool may_be_zero(ElementId id) const {
    const Element& e = elements_[id];
    const Declaration* declared = e.kind == Element::Kind::variable ? rule_.declaration(e.name) : nullptr;
    if (declared != nullptr && declared->data_type && !ir::is_floating(*declared->data_type)) return false;  // only one zero
    const auto [low, high] = elements_.range(id);
    return low <= 0 && high >= 0;
  }
  bool same_places(ElementId id) const { return reads_once(elements_, id) && depends_on_all(elements_, id); }

  std::vector<ElementId> all_below(const std::vector<ElementSet>& sets) const {
    std::vector<ElementId> roots;
    for (const ElementSet& set : sets)
      if (set) roots.insert(roots.end(), set->begin(), set->end());
    return elements_.below(roots, true);
  }

  // The operations of a side that can leave their domain. `known` includes those that are decided by
  // constants.
  std::set<Critical> domains(const std::vector<ElementSet>& side, bool known) const {
    std::set<Critical> result;
    for (const ElementId id : all_below(side)) {
      const Element& e = elements_[id];
      if (e.kind != Element::Kind::application || e.effect->domain == FloatDomain::all || within_domain(e)) continue;
      const bool division = e.effect->domain == FloatDomain::nonzero_divisor;
      const ElementId decides = e.effect->domain == FloatDomain::power ? id : e.operands.back();
      if (!known && elements_.known(decides)) continue;
      result.insert({division && e.effect->work == FloatWork::computes ? "division" : e.name, decides});
    }
    return result;
  }
  bool within_domain(const Element& e) const {
    const auto [low, high] = elements_.range(e.operands.back());
    switch (e.effect->domain) {
      case FloatDomain::nonzero_divisor:
      case FloatDomain::positive:
        return low >= kSmallestDivisor || (e.effect->domain == FloatDomain::nonzero_divisor && high <= -kSmallestDivisor);
      case FloatDomain::nonnegative:
        return low >= 0;
      case FloatDomain::bounded_above:
        return high <= kLargestExponent;
      case FloatDomain::power:
        return low == high && low >= 0 && low == std::floor(low);
      case FloatDomain::all:
        break;
    }
    return true;
  }
  // The divisors of a side that can be 0, each with whether the quotient is a term of a sum over many
  // elements. The two differ: the sum of 0 / 0 and 1 / 0 is NaN, while the sum of 0 and 1, divided by 0, is
  // an infinity.
  std::set<std::pair<ElementId, bool>> divisors(const std::vector<ElementSet>& side) const {
    std::set<ElementId> terms;
    for (const ElementId id : all_below(side)) {
      const Element& e = elements_[id];
      if (e.kind != Element::Kind::application || e.effect->work != FloatWork::accumulates) continue;
      const std::vector<ElementId> below = elements_.below(e.operands, true);
      terms.insert(below.begin(), below.end());
    }
    std::set<std::pair<ElementId, bool>> result;
    for (const ElementId id : all_below(side)) {
      const Element& e = elements_[id];
      if (e.kind != Element::Kind::application || e.effect->domain != FloatDomain::nonzero_divisor || within_domain(e)) continue;
      if (!is_guarded(e.operands.back())) result.emplace(e.operands.back(), terms.contains(id));
    }
    return result;
  }
  // True for a constant that a guard requires to be nonzero or positive.
  bool is_guarded(ElementId id) const {
    const Element& e = elements_[id];
    return e.kind == Element::Kind::variable && elements_.known(id) &&
           std::any_of(rule_.guards.begin(), rule_.guards.end(), [&](const Guard& g) {
             return g.value == e.name && (g.kind == Guard::Kind::is_nonzero || g.kind == Guard::Kind::is_positive);
           });
  }
  void changed_domains() {
    const auto note = [&](const Critical& c) {
      found_.insert(c.name == "division" ? "changes what is divided" : fmt::format("changes the range of {}", c.name));
    };
    const std::set<Critical> source = domains(elements_.source(), true);
    const std::set<Critical> target = domains(elements_.target(), true);
    for (const Critical& c : target)
      if (!source.contains(c) && !(c.name == "division" && is_guarded(c.operand))) note(c);
    for (const Critical& c : domains(elements_.source(), false))
      if (!target.contains(c)) note(c);
    if (divisors(elements_.source()) != divisors(elements_.target())) found_.insert("changes what is divided");
  }

  std::set<Critical> jumps(const std::vector<ElementSet>& side) {
    std::set<Critical> result;
    for (const ElementId id : all_below(side)) {
      const Element& e = elements_[id];
      if (e.kind != Element::Kind::application || e.effect->work != FloatWork::jumps || elements_.compares_integers(id)) continue;
      result.insert({e.name, id});
      // Equal elements at other positions may be summed in another order.
      if (elements_.moves() && !is_plain(id)) found_.insert(fmt::format("changes the operands of {}", e.name));
    }
    return result;
  }
  bool is_plain(ElementId id) const {
    const ElementId roots[] = {id};
    bool rounds = false;
    for (const ElementId k : elements_.below(roots, true)) {
      const Element& e = elements_[k];
      if (e.kind != Element::Kind::application) continue;
      if (e.effect->work == FloatWork::accumulates) return false;
      rounds = rounds || e.effect->work == FloatWork::computes;
    }
    return !rounds || reads_once(elements_, id);
  }
  void changed_jumps() {
    const std::set<Critical> source = jumps(elements_.source());
    const std::set<Critical> target = jumps(elements_.target());
    std::vector<Critical> changed;
    std::set_symmetric_difference(source.begin(), source.end(), target.begin(), target.end(), std::back_inserter(changed));
    for (const Critical& c : changed) found_.insert(fmt::format("changes the operands of {}", c.name));
  }

  // The elements of an output of the target that can stand where the source has its own. A concatenation
  // that is split again has elements of the other outputs, too. By the proof, both sides are equal for
  // real numbers at each position, so an element that depends on a variable which the source's element
  // does not have is not there. That it depends on the variable is certain if nothing of the variable
  // can cancel.
  std::vector<ElementId> possible(const Elements& elements, std::size_t output) const {
    const std::vector<ElementId>& target = *elements.target()[output];
    if (!cancels_nothing()) return target;
    const std::set<std::string> known = elements.variables(*elements.source()[output]);
    std::vector<ElementId> result = target;
    std::erase_if(result, [&](ElementId t) {
      const ElementId roots[] = {t};
      const std::set<std::string> variables = elements.variables(roots);
      return std::ranges::any_of(variables, [&](const std::string& v) { return !known.contains(v) && !has_value(v); });
    });
    return result.empty() ? target : result;
  }
  // True for a variable that a guard requires to be a number.
  bool has_value(const std::string& variable) const {
    return std::ranges::any_of(rule_.guards, [&](const Guard& g) { return g.value == variable && g.kind == Guard::Kind::equals_value; });
  }
  // True if the target reads each variable once, repeats no element, and only contracts, adds, and applies
  // functions that increase on the positive numbers: for positive numbers, each element increases with every
  // number that it is computed from.
  bool cancels_nothing() const {
    std::map<std::string, int> reads;
    const auto plain = [&](const auto& self, const Term& term) -> bool {
      if (term.kind == Term::Kind::variable) return ++reads[term.name] == 1;
      if (term.kind != Term::Kind::application) return false;
      const FloatEffect& effect = float_effect(term.name);
      const bool contracts = effect.work == FloatWork::accumulates && effect.error == ops::FloatError::contracts;
      if (!contracts && !effect.increases) return false;
      return std::ranges::all_of(term.operands, [&](const Term& operand) { return self(self, operand); });
    };
    return std::ranges::all_of(rule_.target, [&](const Statement& s) { return plain(plain, s.term); });
  }

  void compare_elements() {
    const bool comparable = found_.empty();
    for (std::size_t k = 0; k < elements_.source().size(); ++k) compare_output(elements_, k, comparable);
    compare_places(comparable);
  }
  static bool accumulates(const Elements& elements, ElementId id) {
    const ElementId roots[] = {id};
    return std::ranges::any_of(elements.below(roots, true), [&](ElementId k) {
      return elements[k].kind == Element::Kind::application && elements[k].effect->work == FloatWork::accumulates;
    });
  }
  void compare_output(const Elements& elements, std::size_t output, bool comparable) {
    Sizes sizes(elements);
    const std::vector<ElementId>& source = *elements.source()[output];
    // The error of an element is within that of each element of the source that can be at the same position.
    // Among sums of elements that cannot be distinguished it is within that of one.
    const auto is_within = [&](ElementId t) {
      bool sums = false;
      bool within_one = false;
      for (const ElementId s : source) {
        if (elements.moves() && never_meet(elements, s, t)) continue;
        const bool within = sizes.within(t, s);
        if (!within && !accumulates(elements, s) && !accumulates(elements, t)) return false;
        sums = sums || !within;
        within_one = within_one || within;
      }
      return !sums || within_one;
    };
    if (comparable && !std::ranges::all_of(possible(elements, output), is_within)) found_.insert("can cancel");
    for (const ElementId s : source)
      for (const ElementId t : *elements.target()[output]) compare_specials(elements, s, t);
  }
  // True if one side has a 0 where the other may compute one, of an unknown sign: dequantize_linear of a
  // zero point.
  static bool is_zero_of_opaque(const Elements& elements, ElementId zero, ElementId other) {
    const Element& e = elements[other];
    return elements.literal(zero) == 0 && e.kind == Element::Kind::application && !e.evaluable && e.effect->work == FloatWork::computes &&
           e.effect->scalar == nullptr;
  }
  void compare_specials(const Elements& elements, ElementId s, ElementId t) {
    compare_summed(elements, s, t);
    if (is_zero_of_opaque(elements, s, t) || is_zero_of_opaque(elements, t, s)) found_.insert("changes the sign of 0");
    if (elements.moves() ? !may_meet(elements, s, t) : !may_be_equal(elements, s, t)) return;
    compare_special_numbers(elements, s, t);
  }
  // Sums of equal elements are NaN or infinite alike only if these are.
  void compare_summed(const Elements& elements, ElementId s, ElementId t) {
    const Element& a = elements[s];
    const Element& b = elements[t];
    if (s == t || a.kind != Element::Kind::application || a.evaluable || a.name != b.name || a.operands.size() != b.operands.size()) return;
    if (a.effect->error == ops::FloatError::chooses) return;
    for (std::size_t k = 0; k < a.operands.size(); ++k)
      if (!may_be_equal(elements, a.operands[k], b.operands[k])) return;
    for (std::size_t k = 0; k < a.operands.size(); ++k) {
      compare_summed(elements, a.operands[k], b.operands[k]);
      const SpecialChange change = special_change(elements, a.operands[k], b.operands[k], Strictness::rounding);
      if (change == SpecialChange::nan) found_.insert("changes NaN");
    }
  }
  void compare_special_numbers(const Elements& elements, ElementId s, ElementId t) {
    switch (special_change(elements, s, t, Strictness::rounding)) {
      case SpecialChange::none:
        break;
      case SpecialChange::infinity:
        found_.insert("changes infinities");
        break;
      case SpecialChange::nan:
        found_.insert("changes NaN");
        break;
      case SpecialChange::zero_sign:
        found_.insert("changes the sign of 0");
        break;
    }
  }

  // So far all elements of a variable counted as one. Where an element is computed from several elements
  // of a variable, or from sums that the source does not have, each is an element of its own. Which
  // elements of the source these are is known only if both sides read them through the same operators:
  // all possibilities are tried.
  void compare_places(bool comparable) {
    for (std::size_t k = 0; k < elements_.source().size(); ++k) {
      const PlaceChoices choices(rule_, k);
      if (choices.count() > kMostPlaces) {
        found_.insert("has too many cases to compare");
        continue;
      }
      bool plausible = choices.count() == 0;
      for (std::size_t n = 0; n < choices.count(); ++n) {
        const Elements elements(rule_, choices.places(n));
        if (!elements.source()[k] || !elements.target()[k]) {
          found_.insert("has too many cases to compare");
        } else if (can_be_equal(elements, k)) {
          plausible = true;
          compare_output(elements, k, comparable);
        }
      }
      if (!plausible) found_.insert("reads other elements");
    }
  }
  static bool can_be_equal(const Elements& elements, std::size_t output) {
    return std::ranges::all_of(*elements.source()[output], [&](ElementId s) {
      return std::ranges::any_of(*elements.target()[output], [&](ElementId t) { return s == t || !never_meet(elements, s, t); });
    });
  }

  // Variables of the source that the target does not read.
  std::vector<std::string> dropped() const {
    std::set<std::string> defined;
    for (const Statement& s : rule_.source) defined.insert(s.outputs.begin(), s.outputs.end());
    std::vector<std::string> result;
    for (const std::string& variable : source_.variables) {
      const bool number = std::any_of(rule_.guards.begin(), rule_.guards.end(),
                                      [&](const Guard& g) { return g.value == variable && g.kind == Guard::Kind::equals_value; });
      if (!defined.contains(variable) && !target_.variables.contains(variable) && !number) result.push_back(variable);
    }
    return result;
  }

  const Rule& rule_;
  FloatSide source_;
  FloatSide target_;
  Elements elements_;
  std::set<std::string> found_;
};

}  // namespace

NumberClass classify(const Rule& rule) { return Classifier(rule).run(); }

}  // namespace xflow::rules
