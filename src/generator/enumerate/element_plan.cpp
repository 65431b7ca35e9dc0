#include "src/generator/enumerate/element_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "src/ops/operator.h"

namespace xflow::generator {
namespace {

using ir::Poly;
using ir::Rational;
using ops::Expr;
using ops::ExprKind;
using ops::Function;

// A coefficient times the product of at most two elements.
struct ElementTerm {
  Rational coefficient = 1;
  std::array<ElementPlace, 2> places;
  std::size_t factors = 0;
};

// An expression at one index: a sum of products, or a formula.
struct Value {
  bool is_sum = true;
  bool is_lowest = false;  // minus infinity: the neutral element of a maximum
  std::vector<ElementTerm> terms;
  std::vector<FormulaStep> formula;
};

FormulaStep literal_step(const Rational& value) { return {FormulaStep::Kind::literal, value, field::from_rational(value), {}, {}}; }

class ElementBuilder {
 public:
  ElementBuilder(const ir::Symbols& symbols, std::span<const std::vector<std::int64_t>> operands)
      : symbols_(symbols), operands_(operands) {}

  void bind(ir::SymbolId symbol, std::int64_t value) {
    const auto at = static_cast<std::size_t>(symbol);
    if (at >= values_.size()) values_.resize(at + 1);
    values_[at] = value;
  }

  Result<Value> build(const Expr& e) {
    switch (e->kind) {
      case ExprKind::literal:
        return literal(e->literal);
      case ExprKind::integer: {
        XFLOW_TRY(const std::int64_t value, integer(e->integer));
        return constant(Rational(value));
      }
      case ExprKind::read:
        return read(*e);
      case ExprKind::sum:
      case ExprKind::maximum:
        return fold(*e);
      case ExprKind::select: {
        XFLOW_TRY(const bool holds, condition(e->condition));
        return build(e->arguments[holds ? 0 : 1]);
      }
      case ExprKind::apply:
        return apply(*e);
      case ExprKind::cast:
        if (e->data_type == ir::DataType::float32) return build(e->arguments[0]);  // all tensors are of that type
        break;
    }
    return fail(ErrorCode::unsupported, "a cast is not arithmetic of reals");
  }

  static std::vector<FormulaStep> formula_of(const Value& v) {
    if (!v.is_sum) return v.formula;
    std::vector<FormulaStep> result;
    const auto apply = [&](Function f) { result.push_back({FormulaStep::Kind::apply, {}, {}, {}, f}); };
    for (std::size_t k = 0; k < v.terms.size(); ++k) {
      const ElementTerm& t = v.terms[k];
      const bool shows_coefficient = t.factors == 0 || !(t.coefficient == Rational(1));
      if (shows_coefficient) result.push_back(literal_step(t.coefficient));
      for (std::size_t n = 0; n < t.factors; ++n) {
        result.push_back({FormulaStep::Kind::read, {}, {}, t.places[n], {}});
        if (n > 0 || shows_coefficient) apply(Function::multiply);
      }
      if (k > 0) apply(Function::add);
    }
    if (v.terms.empty()) result.push_back(literal_step(Rational(0)));
    return result;
  }

 private:
  static Value constant(const Rational& value) {
    Value result;
    if (!(value == Rational(0))) result.terms.push_back(ElementTerm{value, {}, 0});
    return result;
  }
  static Result<Value> literal(const ir::Real& value) {
    if (value == ir::negative_infinity()) {
      Value lowest;
      lowest.is_lowest = true;
      return lowest;
    }
    const auto rational = value.rational();
    if (!rational) return fail(ErrorCode::unsupported, "a number that is not rational");
    return constant(*rational);
  }

  std::optional<std::int64_t> bound_value(ir::SymbolId symbol) const {
    const auto at = static_cast<std::size_t>(symbol);
    return at < values_.size() ? values_[at] : std::nullopt;
  }
  Result<std::int64_t> integer(const Poly& p) {
    std::int64_t total = p.constant_term();
    for (const ir::PolyTerm& t : p.terms()) {
      std::int64_t product = t.coefficient;
      for (const ir::Power& power : t.monomial) {
        const std::optional<std::int64_t> bound = bound_value(power.symbol);
        if (!bound) return defined(p);
        for (std::uint32_t k = 0; k < power.power; ++k) product *= *bound;
      }
      total += product;
    }
    return total;
  }
  Result<std::int64_t> defined(const Poly& p) {
    const auto value = symbols_.evaluate(p, [&](ir::SymbolId s) { return bound_value(s); });
    if (!value) return fail(ErrorCode::unsupported, "an index that depends on data");
    return *value;
  }

  Result<bool> condition(const ops::Condition& condition) {
    for (const ops::Atom& atom : condition) {
      XFLOW_TRY(const std::int64_t value, integer(atom.poly));
      const bool holds = atom.relation == ops::Relation::zero       ? value == 0
                         : atom.relation == ops::Relation::not_zero ? value != 0
                                                                    : value >= 0;
      if (!holds) return false;
    }
    return true;
  }

  Result<Value> read(const ops::ExprNode& e) {
    const auto operand = static_cast<std::size_t>(e.operand);
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < e.indices.size(); ++k) {
      XFLOW_TRY(const std::int64_t index, integer(e.indices[k]));
      offset = offset * operands_[operand][k] + index;
    }
    Value result;
    result.terms.push_back(
        ElementTerm{1, {ElementPlace{static_cast<std::uint16_t>(operand), static_cast<std::uint16_t>(offset)}, ElementPlace{}}, 1});
    return result;
  }

  Result<Value> fold(const ops::ExprNode& e) {
    XFLOW_TRY(const std::int64_t extent, integer(e.extent));
    const bool is_sum = e.kind == ExprKind::sum;
    Value total;
    for (std::int64_t k = 0; k < extent; ++k) {
      bind(e.binder, k);
      XFLOW_TRY(Value next, build(e.arguments[0]));
      if (k == 0) {
        total = std::move(next);
        total.terms.reserve(static_cast<std::size_t>(extent));
      } else if (is_sum) {
        total = combine(Function::add, std::move(total), std::move(next));
      } else {
        total = combine(Function::maximum, std::move(total), std::move(next));
      }
    }
    if (extent > 0) values_[static_cast<std::size_t>(e.binder)].reset();
    return total;
  }

  static std::optional<Rational> constant_of(const Value& v) {
    if (!v.is_sum || v.terms.size() > 1 || (v.terms.size() == 1 && v.terms[0].factors != 0)) return std::nullopt;
    return v.terms.empty() ? Rational(0) : v.terms[0].coefficient;
  }
  static std::optional<Value> scaled(Value v, const Rational& by) {
    if (!v.is_sum) return std::nullopt;
    for (ElementTerm& t : v.terms) {
      const auto product = multiply(t.coefficient, by);
      if (!product) return std::nullopt;
      t.coefficient = *product;
    }
    if (by == Rational(0)) v.terms.clear();
    return v;
  }

  // max(min(x, b), least), of the minimum, as min(max(x, least), b), which clip is. In a field the two
  // differ.
  static std::optional<Value> bounded_below(Value v, const Rational& least) {
    if (v.is_sum || v.formula.size() < 3) return std::nullopt;
    const std::array<FormulaStep, 2> bound = {v.formula[v.formula.size() - 2], v.formula.back()};
    const bool is_minimum = bound[1].kind == FormulaStep::Kind::apply && bound[1].function == Function::minimum;
    if (!is_minimum || bound[0].kind != FormulaStep::Kind::literal || bound[0].literal.to_double() < least.to_double()) return std::nullopt;
    v.formula.resize(v.formula.size() - 2);
    v.formula.insert(v.formula.end(), {literal_step(least), {FormulaStep::Kind::apply, {}, {}, {}, Function::maximum}, bound[0], bound[1]});
    return v;
  }

  Value combine(Function function, Value a, Value b) {
    if (function == Function::maximum && a.is_lowest) return b;
    if (function == Function::maximum && b.is_lowest) return a;
    if (const auto least = constant_of(b); least && function == Function::maximum)
      if (auto bounded = bounded_below(a, *least)) return *std::move(bounded);
    if (function == Function::add && a.is_sum && b.is_sum) {
      a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
      return a;
    }
    if (function == Function::subtract && b.is_sum)
      if (auto negated = scaled(b, -1)) return combine(Function::add, std::move(a), *std::move(negated));
    if (function == Function::multiply && a.is_sum && b.is_sum) {
      if (const auto c = constant_of(a))
        if (auto product = scaled(b, *c)) return *std::move(product);
      if (const auto c = constant_of(b))
        if (auto product = scaled(a, *c)) return *std::move(product);
      if (a.terms.size() == 1 && b.terms.size() == 1 && a.terms[0].factors + b.terms[0].factors <= 2)
        if (const auto coefficient = multiply(a.terms[0].coefficient, b.terms[0].coefficient)) {
          a.terms[0].coefficient = *coefficient;
          for (std::size_t k = 0; k < b.terms[0].factors; ++k) a.terms[0].places[a.terms[0].factors++] = b.terms[0].places[k];
          return a;
        }
    }
    if (function == Function::divide)
      if (const auto c = constant_of(b); c && !(*c == Rational(0)))
        if (const auto inverse = Rational::make(c->denominator(), c->numerator()))
          if (auto quotient = scaled(a, *inverse)) return *std::move(quotient);
    Value result;
    result.is_sum = false;
    result.formula = formula_of(a);
    for (const FormulaStep& step : formula_of(b)) result.formula.push_back(step);
    result.formula.push_back({FormulaStep::Kind::apply, {}, {}, {}, function});
    return result;
  }

  Result<Value> apply(const ops::ExprNode& e) {
    XFLOW_TRY(Value a, build(e.arguments[0]));
    if (ops::arity(e.function) == 1) {
      if (e.function == Function::negate)
        if (auto negated = scaled(a, -1)) return *std::move(negated);
      Value result;
      result.is_sum = false;
      result.formula = formula_of(a);
      result.formula.push_back({FormulaStep::Kind::apply, {}, {}, {}, e.function});
      return result;
    }
    if (ops::arity(e.function) != 2) return fail(ErrorCode::unsupported, fmt::format("{} is not enumerated", ops::name(e.function)));
    XFLOW_TRY(Value b, build(e.arguments[1]));
    return combine(e.function, std::move(a), std::move(b));
  }

  const ir::Symbols& symbols_;
  std::span<const std::vector<std::int64_t>> operands_;
  std::vector<std::optional<std::int64_t>> values_;  // by symbol
};

// The maximum stack depth of a formula.
std::size_t depth_of(std::span<const FormulaStep> formula) {
  std::size_t depth = 0;
  std::size_t most = 0;
  for (const FormulaStep& s : formula) {
    if (s.kind != FormulaStep::Kind::apply) {
      most = std::max(most, ++depth);
    } else if (ops::arity(s.function) == 2) {
      --depth;
    }
  }
  return most;
}

// The places that a formula is the maximum of, and whether 0 is among them. Nothing for other formulas.
struct Greatest {
  std::vector<ElementPlace> places;
  bool with_zero = false;
};
std::optional<Greatest> greatest_of(std::span<const FormulaStep> formula) {
  Greatest result;
  for (const FormulaStep& s : formula) {
    switch (s.kind) {
      case FormulaStep::Kind::read:
        result.places.push_back(s.place);
        break;
      case FormulaStep::Kind::literal:
        if (!(s.literal == Rational(0))) return std::nullopt;
        result.with_zero = true;
        break;
      case FormulaStep::Kind::apply:
        if (s.function != Function::maximum) return std::nullopt;
        break;
    }
  }
  return result.places.empty() ? std::nullopt : std::optional(std::move(result));
}

// Builds the rows of a plan. Equal rows share a pattern.
class RowList {
 public:
  explicit RowList(ElementPlan& plan) : plan_(plan) {}

  void add(std::vector<ElementPlan::Product> products, std::vector<ElementPlace> plain, std::vector<ElementPlan::Scaled> scaled) {
    std::array<std::uint16_t, 4> least;
    least.fill(UINT16_MAX);
    each_place(products, plain, scaled, [&](ElementPlace& p) {
      least[std::min<std::size_t>(p.operand, 3)] = std::min(least[std::min<std::size_t>(p.operand, 3)], p.offset);
    });
    ElementPlan::Row row;
    for (std::size_t k = 0; k < 2; ++k) row.shift[k] = least[k] == UINT16_MAX ? std::uint16_t{0} : least[k];
    std::uint64_t key = mix(products.size()) ^ mix(plain.size() + 1) << 1 ^ scaled.size();
    each_place(products, plain, scaled, [&](ElementPlace& p) {
      if (p.operand < 2) p.offset = static_cast<std::uint16_t>(p.offset - row.shift[p.operand]);
      key = mix(key ^ (static_cast<std::uint64_t>(p.operand) << 16 | p.offset));
    });
    const auto [begin, end] = known_.equal_range(key);
    const auto same =
        std::find_if(begin, end, [&](const auto& known) { return is(plan_.patterns[known.second], products, plain, scaled); });
    if (same != end) {
      row.pattern = same->second;
    } else {
      row.pattern = static_cast<std::uint32_t>(plan_.patterns.size());
      known_.emplace(key, row.pattern);
      ElementPlan::Pattern pattern{ends(), {}};
      plan_.products.insert(plan_.products.end(), products.begin(), products.end());
      plan_.plain.insert(plan_.plain.end(), plain.begin(), plain.end());
      plan_.scaled.insert(plan_.scaled.end(), scaled.begin(), scaled.end());
      pattern.end = ends();
      plan_.patterns.push_back(pattern);
    }
    plan_.rows.push_back(row);
  }

 private:
  template <typename Act>
  static void each_place(std::vector<ElementPlan::Product>& products, std::vector<ElementPlace>& plain,
                         std::vector<ElementPlan::Scaled>& scaled, const Act& act) {
    for (ElementPlan::Product& p : products) {
      act(p.a);
      act(p.b);
    }
    for (ElementPlace& p : plain) act(p);
    for (ElementPlan::Scaled& s : scaled) {
      if (s.factors > 0) act(s.a);
      if (s.factors > 1) act(s.b);
    }
  }
  ElementPlan::Terms ends() const {
    return {static_cast<std::uint32_t>(plan_.products.size()), static_cast<std::uint32_t>(plan_.plain.size()),
            static_cast<std::uint32_t>(plan_.scaled.size())};
  }
  bool is(const ElementPlan::Pattern& pattern, const std::vector<ElementPlan::Product>& products, const std::vector<ElementPlace>& plain,
          const std::vector<ElementPlan::Scaled>& scaled) const {
    const auto part = [](const auto& list, std::uint32_t begin, std::uint32_t end) { return std::span(list).subspan(begin, end - begin); };
    const auto known_products = part(plan_.products, pattern.begin.products, pattern.end.products);
    const auto known_plain = part(plan_.plain, pattern.begin.plain, pattern.end.plain);
    const auto known_scaled = part(plan_.scaled, pattern.begin.scaled, pattern.end.scaled);
    return std::equal(products.begin(), products.end(), known_products.begin(), known_products.end()) &&
           std::equal(plain.begin(), plain.end(), known_plain.begin(), known_plain.end()) &&
           std::equal(scaled.begin(), scaled.end(), known_scaled.begin(), known_scaled.end());
  }

  ElementPlan& plan_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_;
};

// Marks a plan whose formulas are all maxima.
void find_maximum(ElementPlan& plan) {
  std::vector<Greatest> all;
  all.reserve(plan.ends.size());
  std::uint32_t begin = 0;
  for (const std::uint32_t end : plan.ends) {
    auto greatest = greatest_of(std::span(plan.steps).subspan(begin, end - begin));
    if (!greatest || (!all.empty() && greatest->with_zero != all.front().with_zero)) return;
    all.push_back(*std::move(greatest));
    begin = end;
  }
  RowList rows(plan);
  for (const Greatest& g : all) {
    rows.add({}, g.places, {});
    plan.maximum = g.with_zero ? ElementPlan::Maximum::with_zero : ElementPlan::Maximum::of_elements;
  }
  plan.is_relu =
      plan.maximum == ElementPlan::Maximum::with_zero && plan.patterns.size() == 1 && plan.plain.size() == 1 && plan.plain[0].operand == 0;
  for (std::size_t e = 0; e < plan.rows.size() && plan.is_relu; ++e) plan.is_relu = plan.place(plan.rows[e], plan.plain[0]) == e;
}

// Moves a factor common to all terms out of the sums.
void find_scale(ElementPlan& plan) {
  if (plan.scaled.empty() || !plan.products.empty() || !plan.plain.empty()) return;
  const ElementPlan::Scaled& first = plan.scaled.front();
  for (const ElementPlan::Scaled& t : plan.scaled)
    if (t.factors != 1 || !(t.coefficient == first.coefficient)) return;
  plan.scale = ElementPlan::Scale{first.coefficient, {first.first, first.second}};
  for (const ElementPlan::Scaled& t : plan.scaled) plan.plain.push_back(t.a);
  for (ElementPlan::Pattern& p : plan.patterns) p = {{0, p.begin.scaled, 0}, {0, p.end.scaled, 0}};
  plan.scaled.clear();
}

// Adds the terms of one sum, divided by kind.
void add_row(RowList& rows, const std::vector<ElementTerm>& terms) {
  std::vector<ElementPlan::Product> products;
  std::vector<ElementPlace> plain;
  std::vector<ElementPlan::Scaled> scaled;
  for (const ElementTerm& t : terms) {
    const bool one = t.coefficient == Rational(1);
    if (one && t.factors == 2) {
      products.push_back({t.places[0], t.places[1]});
    } else if (one && t.factors == 1) {
      plain.push_back(t.places[0]);
    } else {
      const bool is_last = !scaled.empty() && scaled.back().coefficient == t.coefficient;
      const Pair residues = is_last ? Pair{scaled.back().first, scaled.back().second} : field::from_rational(t.coefficient);
      scaled.push_back({t.places[0], t.places[1], static_cast<std::uint8_t>(t.factors), t.coefficient, residues.first, residues.second});
    }
  }
  rows.add(std::move(products), std::move(plain), std::move(scaled));
}

}  // namespace

Result<std::vector<ElementPlan>> ElementPlan::make(ir::OperatorId op, const ir::Attributes& attributes,
                                                   std::span<const std::vector<std::int64_t>> operands) {
  ir::Arena arena;
  ops::Typing typing(arena.symbols());
  std::vector<ir::ValueId> inputs;
  for (const auto& dims : operands)
    inputs.push_back(arena.input(ir::TensorType{ir::DataType::float32, true, ir::polys(dims)}, static_cast<std::uint32_t>(inputs.size())));
  XFLOW_TRY(const ir::NodeId node, ops::apply(arena, typing, op, inputs, attributes));
  std::vector<ElementPlan> plans;
  for (std::size_t output = 0; output < arena.node(node).outputs.size(); ++output) {
    ElementPlan plan;
    const auto dims = ir::constant_shape(arena.node(node).outputs[output].shape);
    if (!dims) return fail(ErrorCode::unsupported, "sizes that are not known");
    plan.dims = *dims;
    std::int64_t elements = 1;
    for (const std::int64_t d : plan.dims) elements *= d;
    if (elements > UINT16_MAX) return fail(ErrorCode::unsupported, fmt::format("{} elements", elements));
    std::vector<Poly> index;
    const Expr e = ops::semantics_of(arena, node, static_cast<int>(output), index);
    ElementBuilder builder(arena.symbols(), operands);
    // Elements are sums until one is not; then all are computed again as formulas.
    const auto each_element = [&](const auto& act) -> Result<bool> {
      for (std::int64_t element = 0; element < elements; ++element) {
        std::int64_t rest = element;
        for (std::size_t axis = plan.dims.size(); axis-- > 0; rest /= plan.dims[axis])
          builder.bind(*index[axis].as_symbol(), rest % plan.dims[axis]);
        XFLOW_TRY(const Value value, builder.build(e));
        if (value.is_lowest) return fail(ErrorCode::unsupported, "an element that is minus infinity");
        if (!act(value)) return false;
      }
      return true;
    };
    RowList rows(plan);
    XFLOW_TRY(plan.is_sum, each_element([&](const Value& value) {
                if (value.is_sum) add_row(rows, value.terms);
                return value.is_sum;
              }));
    if (!plan.is_sum) {
      plan.rows.clear();
      plan.patterns.clear();
      plan.products.clear();
      plan.plain.clear();
      plan.scaled.clear();
      XFLOW_TRY(const bool fits, each_element([&](const Value& value) {
                  const std::size_t begin = plan.steps.size();
                  const std::vector<FormulaStep> formula = ElementBuilder::formula_of(value);
                  plan.steps.insert(plan.steps.end(), formula.begin(), formula.end());
                  plan.ends.push_back(static_cast<std::uint32_t>(plan.steps.size()));
                  return depth_of(std::span(plan.steps).subspan(begin)) <= ElementPlan::kMostDepth;
                }));
      if (!fits) return fail(ErrorCode::unsupported, "a formula that is too deep");
    }
    if (plan.is_sum) {
      find_scale(plan);
    } else {
      find_maximum(plan);
    }
    for (const ElementPlan::Pattern& p : plan.patterns) {
      plan.most_products = std::max(plan.most_products, p.end.products - p.begin.products);
      plan.most_plain = std::max(plan.most_plain, p.end.plain - p.begin.plain);
    }
    for (const auto& shape : operands)
      plan.operand_elements.push_back(
          static_cast<std::uint32_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())));
    // Plans are kept, so release spare memory.
    plan.rows.shrink_to_fit();
    plan.patterns.shrink_to_fit();
    plan.products.shrink_to_fit();
    plan.plain.shrink_to_fit();
    plan.scaled.shrink_to_fit();
    plan.steps.shrink_to_fit();
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace xflow::generator
