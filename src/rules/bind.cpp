#include "src/rules/bind.h"

#include <algorithm>
#include <cmath>

#include "src/ops/integer_content.h"
#include "src/rules/constants.h"
#include "src/rules/evaluate.h"
#include "src/rules/instantiate.h"

namespace xflow::rules {
namespace {

using Polys = std::vector<ir::Poly>;

const std::string* sequence_name(const Expression& dim) {
  return dim.kind == Expression::Kind::sequence || dim.kind == Expression::Kind::ones ? &dim.name : nullptr;
}

// Collects the requirements of a type rule.
class Asking : public ops::Typing {
 public:
  using Typing::Typing;
  Result<void> require_equal(const ir::Poly& a, const ir::Poly& b, std::string_view /*what*/) override {
    equal.emplace_back(a, b);
    return {};
  }
  Result<void> require_at_least_zero(const ir::Poly& a, std::string_view /*what*/) override {
    at_least_zero.push_back(a);
    return {};
  }

  std::vector<std::pair<ir::Poly, ir::Poly>> equal;
  std::vector<ir::Poly> at_least_zero;
};

class TypeBinder {
 public:
  TypeBinder(const Pattern& pattern, ir::Arena& arena, const ir::GraphView& uses, const std::vector<MatchedNode>& nodes,
             const MatchOptions& options, Environment& environment)
      : pattern_(pattern), rule_(pattern.rule()), arena_(arena), uses_(uses), nodes_(nodes), options_(options), environment_(environment) {}

  bool run() {
    if (!variables_fit() || !generated_fit() || !small_operands_fit()) return false;
    for (const Declaration& declaration : rule_.declarations) {
      if (declaration.list) {
        for (const ir::TensorType& type : environment_.types(declaration.variable)) declared_.push_back({&declaration, type});
      } else if (const ir::TensorType* type = environment_.type(declaration.variable)) {
        declared_.push_back({&declaration, *type});
      }
    }
    return lengths(0);
  }

 private:
  ir::Symbols& symbols() { return arena_.symbols(); }

  bool fits(const PatternVariable& variable, ir::ValueId value) const {
    const ir::TensorType& type = arena_.type(value);
    if (variable.data_type) {
      if (type.data_type != *variable.data_type) return false;
    } else if (!variable.any_data_type && !ir::is_floating(type.data_type)) {
      return false;
    }
    if (!type.ranked) return false;
    if (!rule_.pointwise) {
      if (type.rank() > kMaxRank) return false;
      // The proof assumes that dimensions are at least 1.
      for (const ir::Poly& dim : type.shape) {
        if (const auto known = dim.constant(); known && *known < 1) return false;
      }
    }
    if (variable.scalar && !ir::element_count(type.shape).is_one()) return false;
    return true;
  }
  bool variables_fit() const {
    for (const PatternVariable& variable : pattern_.variables()) {
      if (variable.is_list) {
        const std::vector<ir::ValueId>& list = environment_.lists.at(variable.name);
        if (list.size() > kMaxListOperands) return false;
        if (!std::all_of(list.begin(), list.end(), [&](ir::ValueId value) { return fits(variable, value); })) return false;
      } else if (!fits(variable, environment_.values.at(variable.name))) {
        return false;
      }
    }
    return true;
  }
  // A generated constant must be floating, as a variable must be, unless the rule says its data type.
  bool generated_fit() const {
    for (std::size_t k = 0; k < pattern_.nodes().size(); ++k) {
      if (!pattern_.nodes()[k].generates || rule_.moves_data) continue;
      const auto is_type = [](const PatternAttribute& attribute) { return attribute.attribute_kind == ops::AttributeKind::data_type; };
      if (std::ranges::any_of(pattern_.nodes()[k].attributes, is_type)) continue;
      if (!ir::is_floating(arena_.node(nodes_[k].id).outputs[0].data_type)) return false;
    }
    return true;
  }
  // The proof treats one-element operands as scalars. An operand of higher rank computes the same unless it
  // raises the rank of the result.
  bool small_operands_fit() const {
    if (rule_.pointwise) return true;
    for (std::size_t k = 0; k < pattern_.nodes().size(); ++k) {
      const PatternNode& node = pattern_.nodes()[k];
      if (node.small_ranked.empty()) continue;
      const ir::Node& matched = arena_.node(nodes_[k].id);
      std::size_t most = 0;
      std::size_t small = 0;
      for (std::size_t j = 0; j < matched.operands.size(); ++j) {
        const ir::TensorType& type = arena_.type(matched.operands[nodes_[k].swapped ? 1 - j : j]);
        if (!type.ranked) return false;
        const bool is_small = std::find(node.small_ranked.begin(), node.small_ranked.end(), j) != node.small_ranked.end();
        std::size_t& rank = is_small ? small : most;
        rank = std::max(rank, type.rank());
      }
      if (small > most) return false;
    }
    return true;
  }

  // Finds the lengths of sequences from ranks, declaration by declaration. If several lengths are possible,
  // all are tried.
  bool lengths(std::size_t at) {
    if (at == declared_.size()) return dimensions();
    const auto& [declaration, type] = declared_[at];
    std::size_t known = 0;
    const std::string* open = nullptr;
    std::size_t times = 0;
    for (const Expression& dim : declaration->dims) {
      const std::string* name = sequence_name(dim);
      if (name == nullptr) {
        ++known;
      } else if (const auto length = lengths_.find(*name); length != lengths_.end()) {
        known += length->second;
      } else if (open == nullptr || *open == *name) {
        open = name;
        ++times;
      }
    }
    if (known > type.rank()) return false;
    const std::size_t rest = type.rank() - known;
    if (open == nullptr) return rest == 0 && lengths(at + 1);
    bool several = false;
    for (const Expression& dim : declaration->dims) {
      const std::string* name = sequence_name(dim);
      several = several || (name != nullptr && *name != *open && !lengths_.contains(*name));
    }
    if (!several) {
      if (rest % times != 0) return false;
      lengths_[*open] = rest / times;
      if (lengths(at + 1)) return true;
      lengths_.erase(*open);
      return false;
    }
    for (std::size_t length = 0; length * times <= rest; ++length) {
      lengths_[*open] = length;
      if (lengths(at)) return true;
    }
    lengths_.erase(*open);
    return false;
  }

  struct Equation {
    const Expression* dim;
    ir::Poly actual;
  };

  // Equates each dimension of a declared type with that of the matched value and solves for unknown
  // dimensions.
  bool dimensions() {
    const auto attributes = environment_.attributes;
    if (solve() && computed_attributes() && guards() && typed_as_proved()) return true;
    environment_.attributes = attributes;
    return false;
  }
  bool solve() {
    std::vector<Equation> equations;
    for (const auto& [declaration, type] : declared_) {
      std::size_t axis = 0;
      for (const Expression& dim : declaration->dims) {
        const std::string* name = sequence_name(dim);
        if (name == nullptr) {
          equations.push_back({&dim, type.shape[axis++]});
          continue;
        }
        const std::size_t length = lengths_.at(*name);
        const Polys actual(type.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                           type.shape.begin() + static_cast<std::ptrdiff_t>(axis + length));
        axis += length;
        if (dim.kind == Expression::Kind::ones) {
          if (!std::all_of(actual.begin(), actual.end(), [](const ir::Poly& p) { return p.is_one(); })) return false;
          continue;
        }
        if (!bind(*name, actual)) return false;
      }
    }
    // A sequence that occurs only as 1^S has no dimensions of its own.
    for (const auto& [name, length] : lengths_) {
      if (environment_.attribute(name) == nullptr) environment_.attributes[name] = Polys(length, ir::Poly(1));
    }
    while (!equations.empty()) {
      const std::size_t before = equations.size();
      std::vector<Equation> open;
      for (const Equation& equation : equations) {
        const auto done = solve(equation);
        if (!done) {
          open.push_back(equation);
        } else if (!*done) {
          return false;
        }
      }
      equations = std::move(open);
      if (equations.size() == before) return false;
    }
    // If every N? is 1, N is 1 as well.
    for (const auto& [declaration, type] : declared_) {
      for (const Expression& dim : declaration->dims) {
        if (dim.kind != Expression::Kind::optional || dim.arguments[0].kind != Expression::Kind::name) continue;
        if (environment_.attribute(dim.arguments[0].name) == nullptr) environment_.attributes[dim.arguments[0].name] = ir::Poly(1);
      }
    }
    return true;
  }
  bool bind(const std::string& name, const Polys& actual) {
    const ir::AttributeValue* bound = environment_.attribute(name);
    if (bound == nullptr) {
      environment_.attributes[name] = actual;
      return true;
    }
    return *bound == ir::AttributeValue(actual);
  }
  // Nothing: more than one dimension is still unknown.
  std::optional<bool> solve(const Equation& equation) {
    const Expression& dim = *equation.dim;
    if (dim.kind == Expression::Kind::optional && equation.actual.is_one()) return true;
    const Expression& size = dim.kind == Expression::Kind::optional ? dim.arguments[0] : dim;
    std::vector<std::string> open;
    unknown(size, open);
    if (open.empty()) {
      const auto value = evaluate_integer(size, environment_, symbols());
      return value && *value == equation.actual;
    }
    if (open.size() > 1) return std::nullopt;
    if (size.kind == Expression::Kind::name) {
      environment_.attributes[open[0]] = equation.actual;
      return true;
    }
    // size = coefficient * t + rest
    const ir::SymbolId t = symbols().named(ir::SymbolKind::parameter, "?");
    environment_.attributes[open[0]] = ir::Poly(t);
    const auto value = evaluate_integer(size, environment_, symbols());
    environment_.attributes.erase(open[0]);
    const auto linear = value ? value->linear_in(t) : std::nullopt;
    if (!linear || symbols().occurs(linear->second, t)) return false;
    const auto quotient = ir::exact_divide(equation.actual - linear->second, linear->first);
    if (!quotient) return false;
    const auto low = symbols().lower_bound(*quotient);
    if (!low || *low < 1) return false;
    environment_.attributes[open[0]] = *quotient;
    return true;
  }
  void unknown(const Expression& e, std::vector<std::string>& open) const {
    if (e.kind == Expression::Kind::name && environment_.attribute(e.name) == nullptr &&
        std::find(open.begin(), open.end(), e.name) == open.end()) {
      open.push_back(e.name);
    }
    if (e.kind == Expression::Kind::call && takes_tensor(e.name)) return;
    for (const Expression& argument : e.arguments) unknown(argument, open);
  }

  // Checks that dimensions are at least 1 and that computed attributes have their values.
  bool computed_attributes() {
    for (const auto& [name, kind] : rule_.names) {
      if (kind != NameKind::dimension) continue;
      const ir::AttributeValue* value = environment_.attribute(name);
      if (value == nullptr) return false;
      const auto* size = std::get_if<ir::Poly>(value);
      if (size == nullptr || (size->is_constant() && size->constant_term() < 1)) return false;
    }
    for (std::size_t k = 0; k < pattern_.nodes().size(); ++k) {
      const ir::Node& matched = arena_.node(nodes_[k].id);
      for (const PatternAttribute& attribute : pattern_.nodes()[k].attributes) {
        if (attribute.kind == PatternAttribute::Kind::computed && !computed(attribute, matched)) return false;
      }
    }
    return true;
  }
  bool computed(const PatternAttribute& attribute, const ir::Node& matched) {
    const ir::AttributeValue& stored = *matched.attributes.find(attribute.attribute);
    std::optional<std::size_t> length;
    if (const auto* list = std::get_if<Polys>(&stored)) length = list->size();
    auto value = evaluate_attribute(*attribute.expression, attribute.attribute_kind, length, environment_, symbols());
    if (!value) return false;
    if (attribute.axis) {
      const auto rank = static_cast<std::int64_t>(arena_.type(matched.operands[0]).rank());
      const auto from_begin = [&](const ir::Poly& axis) { return axis.is_constant() && axis.constant_term() < 0 ? axis + rank : axis; };
      if (auto* axis = std::get_if<ir::Poly>(&*value)) *axis = from_begin(*axis);
      if (auto* axes = std::get_if<Polys>(&*value)) {
        for (ir::Poly& axis : *axes) axis = from_begin(axis);
        std::sort(axes->begin(), axes->end(), [](const ir::Poly& a, const ir::Poly& b) { return a.constant_term() < b.constant_term(); });
      }
    }
    return *value == stored;
  }

  // The proof uses symbols for the integers that the source binds, and a type rule can require more of a
  // symbol than of a number: a slice with symbolic steps requires steps of at least 1, while a slice with
  // steps of -1 has a type rule of its own. The requirements on the symbols are therefore tested for the
  // integers that they stand for here. Undecidable requirements hold, because the matched operation has that
  // type.
  bool typed_as_proved() {
    for (std::size_t k = 0; k < pattern_.nodes().size(); ++k) {
      const ir::Node& matched = arena_.node(nodes_[k].id);
      ir::Attributes attributes = matched.attributes;
      ir::Symbols::Substitution numbers;
      for (const PatternAttribute& attribute : pattern_.nodes()[k].attributes) name_integers(attribute, attributes, numbers);
      if (numbers.empty()) continue;
      std::vector<ir::TensorType> operands;
      operands.reserve(matched.operands.size());
      for (const ir::ValueId v : matched.operands)
        operands.push_back(arena_.is_absent(v) ? ir::TensorType::unranked(ir::DataType::undefined) : arena_.type(v));
      Asking asking(symbols());
      // A type rule that needs a known number was not applied to a symbol in the proof.
      if (!ops::get(matched.op).type(asking, {operands, attributes, {}})) continue;
      for (const auto& [a, b] : asking.equal)
        if (holds(Guard::Kind::equal, symbols().substitute(a, numbers), symbols().substitute(b, numbers), symbols()) == false) return false;
      for (const ir::Poly& a : asking.at_least_zero)
        if (holds(Guard::Kind::at_least, symbols().substitute(a, numbers), ir::Poly(0), symbols()) == false) return false;
    }
    return true;
  }
  // Replaces the integers of an attribute that the rule does not give by symbols; `numbers` maps the symbols
  // to their values. Axes, permutations and flags are numbers in every proof.
  void name_integers(const PatternAttribute& pattern, ir::Attributes& attributes, ir::Symbols::Substitution& numbers) {
    const bool list = pattern.attribute_kind == ops::AttributeKind::integers && !pattern.permutation;
    if (pattern.axis || !list || pattern.kind == PatternAttribute::Kind::fixed || pattern.kind == PatternAttribute::Kind::each) return;
    Polys elements = std::get<Polys>(*attributes.find(pattern.attribute));
    const Expression* e = pattern.expression;
    const bool by_element = e != nullptr && e->kind == Expression::Kind::list && e->arguments.size() == elements.size();
    for (std::size_t k = 0; k < elements.size(); ++k) {
      if (by_element && is_number(e->arguments[k])) continue;
      const ir::SymbolId name = symbols().named(ir::SymbolKind::parameter, "?" + std::to_string(numbers.size()));
      numbers.emplace(name, elements[k]);
      elements[k] = ir::Poly(name);
    }
    attributes.set(pattern.attribute, std::move(elements));
  }
  static bool is_number(const Expression& e) {
    return e.kind == Expression::Kind::number || (e.kind == Expression::Kind::negate && is_number(e.arguments[0]));
  }

  bool guards() {
    for (const Guard& guard : rule_.guards) {
      if (!guard_holds(guard)) return false;
    }
    return rule_.float_class != FloatClass::special || options_.fast_math || all_finite();
  }
  bool all_finite() const {
    for (const PatternVariable& variable : pattern_.variables()) {
      if (variable.is_list || !is_finite(environment_.values.at(variable.name))) return false;
    }
    return true;
  }
  bool is_finite(ir::ValueId value) const {
    if (!ir::is_floating(arena_.type(value).data_type)) return true;
    return all_elements(arena_, value, [](double element) { return std::isfinite(element); });
  }
  bool for_all(const std::string& variable, const std::function<bool(ir::ValueId)>& holds) const {
    if (const auto one = environment_.values.find(variable); one != environment_.values.end()) return holds(one->second);
    const std::vector<ir::ValueId>& list = environment_.lists.at(variable);
    return std::all_of(list.begin(), list.end(), holds);
  }
  bool guard_holds(const Guard& guard) {
    const auto elements = [&](const std::function<bool(double)>& holds) {
      return for_all(guard.value, [&](ir::ValueId value) { return all_elements(arena_, value, holds); });
    };
    switch (guard.kind) {
      case Guard::Kind::is_constant:
        return for_all(guard.value, [&](ir::ValueId value) { return arena_.is_constant(value); });
      case Guard::Kind::is_varying:
        return for_all(guard.value, [&](ir::ValueId value) { return !arena_.is_constant(value); });
      case Guard::Kind::is_scalar:
        return true;  // tested in fits()
      case Guard::Kind::equals_value:
        return for_all(guard.value, [&](ir::ValueId value) { return is_literal(arena_, value, guard.arguments[0].number); });
      case Guard::Kind::is_nonzero:
        return elements([](double element) { return element < 0 || element > 0; });
      case Guard::Kind::is_positive:
        return elements([](double element) { return element > 0; });
      case Guard::Kind::is_nonnegative:
        return elements([](double element) { return element >= 0; });
      case Guard::Kind::is_in_range:
        return in_range(guard);
      case Guard::Kind::is_finite:
        return for_all(guard.value, [&](ir::ValueId value) { return is_finite(value); });
      case Guard::Kind::uses_equal: {
        if (uses_.classes() != nullptr) return true;  // each operation of an e-graph may be in a graph where it holds
        const auto count = evaluate_integer(guard.arguments[0], environment_, symbols());
        const ir::ValueId value = environment_.values.at(guard.value);
        return count && *count == ir::Poly(static_cast<std::int64_t>(uses_.use_count(value)));
      }
      default:
        return relation(guard);
    }
  }
  // Tests known elements only: constants and sizes computed from them, at most ir::Constant::kSmall
  // elements.
  bool in_range(const Guard& guard) {
    const auto low = evaluate_integer(guard.arguments[0], environment_, symbols());
    const auto end = evaluate_integer(guard.arguments[1], environment_, symbols());
    const auto elements = ops::integer_content(arena_, environment_.values.at(guard.value));
    return low && end && elements && std::all_of(elements->begin(), elements->end(), [&](const ir::Poly& e) {
             return holds(Guard::Kind::at_least, e, *low, symbols()).value_or(false) &&
                    holds(Guard::Kind::greater, *end, e, symbols()).value_or(false);
           });
  }
  bool relation(const Guard& guard) {
    const auto a = evaluate(guard.arguments[0], environment_, symbols());
    const auto b = evaluate(guard.arguments[1], environment_, symbols());
    if (!a || !b) return false;
    const auto* p = std::get_if<ir::Poly>(&*a);
    const auto* q = std::get_if<ir::Poly>(&*b);
    const auto* ps = std::get_if<Polys>(&*a);
    const auto* qs = std::get_if<Polys>(&*b);
    if ((p == nullptr && ps == nullptr) || (q == nullptr && qs == nullptr)) return guard.kind == Guard::Kind::equal && *a == *b;
    if (ps != nullptr && qs != nullptr && ps->size() != qs->size()) return false;
    const std::size_t count = ps != nullptr ? ps->size() : qs != nullptr ? qs->size() : 1;
    for (std::size_t k = 0; k < count; ++k) {
      if (!holds(guard.kind, ps != nullptr ? (*ps)[k] : *p, qs != nullptr ? (*qs)[k] : *q, symbols()).value_or(false)) return false;
    }
    return true;
  }

  const Pattern& pattern_;
  const Rule& rule_;
  ir::Arena& arena_;
  const ir::GraphView& uses_;
  const std::vector<MatchedNode>& nodes_;
  const MatchOptions& options_;
  Environment& environment_;
  std::vector<std::pair<const Declaration*, ir::TensorType>> declared_;
  std::map<std::string, std::size_t, std::less<>> lengths_;
};

}  // namespace

bool bind_types(const Pattern& pattern, ir::Arena& arena, const ir::GraphView& uses, const std::vector<MatchedNode>& nodes,
                const MatchOptions& options, Environment& environment) {
  return TypeBinder(pattern, arena, uses, nodes, options, environment).run();
}

}  // namespace xflow::rules
