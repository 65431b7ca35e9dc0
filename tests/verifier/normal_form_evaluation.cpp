#include "tests/verifier/normal_form_evaluation.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>

#include "src/verifier/algebra/number.h"
#include "src/verifier/proof/compose.h"

namespace xflow::verifier {
namespace {

constexpr std::int64_t kLargestIndex = 40;

class Evaluation {
 public:
  Evaluation(rules::RuleInstance& instance, const Assignment& assignment, const Inputs& inputs)
      : instance_(instance), inputs_(inputs), reals_(assignment.reals), values_(assignment.integers) {}

  std::map<ir::SymbolId, std::int64_t>& values() { return values_; }

  std::optional<std::int64_t> integer(const Poly& p) const {
    return instance_.arena->symbols().evaluate(p, [&](ir::SymbolId s) -> std::optional<std::int64_t> {
      const ir::SymbolInfo& info = instance_.arena->symbols().info(s);
      if (info.kind == ir::SymbolKind::element) {
        const auto tensor = tensor_of(info.tensor);
        const Number n = tensor ? read(*tensor, info.arguments) : Number::undefined();
        return n.is_small() ? std::optional(n.numerator()) : std::nullopt;
      }
      const auto found = values_.find(s);
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  bool holds(const Condition& condition) const {
    for (const Atom& a : condition) {
      const auto v = integer(a.poly);
      if (!v) return false;
      if (!(a.relation == Relation::at_least_zero ? *v >= 0 : a.relation == Relation::zero ? *v == 0 : *v != 0)) return false;
    }
    return true;
  }

  // Calls `body` for all values of the symbols under which the condition holds.
  void for_all(const std::vector<SymbolId>& symbols, const Condition& condition, const std::function<void()>& body, std::size_t first = 0) {
    if (first == symbols.size()) {
      if (holds(condition)) body();
      return;
    }
    for (std::int64_t k = 0; k <= bound(symbols[first], condition); ++k) {
      values_[symbols[first]] = k;
      for_all(symbols, condition, body, first + 1);
    }
    values_.erase(symbols[first]);
  }

  Number value(const Expression& e) {
    Number sum;
    for (const NormalTerm& t : e.terms) sum = add(sum, value(t));
    return sum;
  }

 private:
  // The largest value that a condition c - s >= 0 leaves, where c is known already.
  std::int64_t bound(SymbolId s, const Condition& condition) const {
    std::int64_t least = kLargestIndex;
    for (const Atom& a : condition) {
      if (a.relation != Relation::at_least_zero) continue;
      const auto linear = a.poly.linear_in(s);
      if (!linear || !(linear->first == Poly(-1)) || instance_.arena->symbols().occurs(linear->second, s)) continue;
      if (const auto c = integer(linear->second)) least = std::min(least, *c);
    }
    return least;
  }

  Number value(const NormalTerm& t) {
    Number sum;
    for_all(t.binders, t.conditions, [&] {
      Number product(t.coefficient);
      for (const DimensionPower& d : t.dimensions) product = multiply(product, power(Number(values_.at(d.dimension)), d.power));
      for (const FactorPower& f : t.factors) product = multiply(product, power(value(*f.factor), f.power));
      sum = add(sum, product);
    });
    return sum;
  }

  // Powers of the reciprocal, which is 0 for 0.
  static Number power(const Number& x, int exponent) {
    if (exponent < 0 && x.is_zero()) return Number();
    const Number base = exponent < 0 ? apply_function(Function::reciprocal, std::array{x}) : x;
    Number result(1);
    for (int k = 0; k < std::abs(exponent); ++k) result = multiply(result, base);
    return result;
  }

  // Normal forms compute also with what a branch that is not chosen has no value for, and it cancels: root, logarithm and power are those
  // of the absolute value there, which obey the same laws.
  static Number total(Function function, std::vector<Number> arguments) {
    const Number result = apply_function(function, arguments);
    const bool is_partial = function == Function::sqrt || function == Function::log || function == Function::power;
    if (!result.is_undefined() || !is_partial || arguments[0].is_undefined()) return result;
    arguments[0] = apply_function(Function::abs, std::array{arguments[0]});
    const Number of_absolute = apply_function(function, arguments);
    return of_absolute.is_undefined() ? Number() : of_absolute;
  }

  Number value(const Factor& f) {
    switch (f.kind) {
      case FactorKind::read:
        return read(f.variable, f.indices);
      case FactorKind::integer: {
        const auto v = integer(f.integer);
        return v ? Number(*v) : Number::undefined();
      }
      case FactorKind::real: {
        const auto found = reals_.find(f.name.substr(f.name.find('$') == std::string::npos ? 0 : 1));
        return found == reals_.end() ? Number::undefined() : Number(found->second);
      }
      case FactorKind::function: {
        std::vector<Number> arguments;
        for (const Expression& a : f.arguments) arguments.push_back(value(a));
        if (f.data_type != ir::DataType::undefined) {
          const bool whole = arguments[0].is_small() && arguments[0].denominator() == 1;
          return convert(whole ? ir::DataType::int64 : ir::DataType::float64, f.data_type, arguments[0]);
        }
        if (f.function == Function::reciprocal && arguments[0].is_zero()) return Number();
        if (f.function == Function::less) return Number(std::int64_t{less(Number(), arguments[0]) ? 1 : 0});
        if (f.function == Function::equal) return Number(std::int64_t{arguments[0].is_zero() ? 1 : 0});
        return total(f.function, std::move(arguments));
      }
      case FactorKind::predicate:
        return Number::unknown();
      case FactorKind::maximum:
        break;
    }
    std::optional<Number> best;
    for (const Piece& p : f.pieces) {
      for_all(p.binders, p.conditions, [&] {
        const Number n = value(p.body);
        if (!best || less(*best, n)) best = n;
      });
    }
    return best ? *best : Number::negative_infinity();  // a window in the padding
  }

  Number read(ir::ValueId variable, const std::vector<Poly>& indices) const {
    for (std::size_t k = 0; k < instance_.variables.size(); ++k) {
      if (instance_.variables[k] != variable) continue;
      const Entries& e = inputs_[k];
      std::int64_t position = 0;
      for (std::size_t d = 0; d < e.dims.size(); ++d) {
        const auto i = integer(indices[d]);
        if (!i || *i < 0 || *i >= e.dims[d]) return Number::undefined();
        position = position * e.dims[d] + *i;
      }
      return Number(e.values[static_cast<std::size_t>(position)]);
    }
    return Number::undefined();
  }

  rules::RuleInstance& instance_;
  const Inputs& inputs_;
  std::map<std::string, ir::Rational> reals_;
  std::map<ir::SymbolId, std::int64_t> values_;
};

// Gives the symbols that solving facts made their values: they make every solved symbol equal to its value.
bool complete(Evaluation& evaluation, const ir::Symbols& symbols, const ir::Symbols::Substitution& solved) {
  for (const auto& [symbol, value] : solved) {
    for (const SymbolId s : symbols.all_symbols(value)) {
      if (evaluation.values().contains(s) || !symbols.info(s).arguments.empty()) continue;
      for (std::int64_t k = 0; k <= 64; ++k) {
        evaluation.values()[s] = k;
        if (evaluation.integer(value) == evaluation.integer(Poly(symbol))) break;
        evaluation.values().erase(s);
      }
    }
    if (evaluation.integer(value) != evaluation.integer(Poly(symbol))) return false;
  }
  return true;
}

}  // namespace

std::string compare_normal_forms(rules::RuleInstance& instance, const Proof& proof, const Assignment& assignment, const Inputs& inputs,
                                 std::size_t& compared) {
  Concrete concrete(instance);
  std::string differences;
  for (std::size_t output = 0; output < proof.outputs().size(); ++output) {
    const Proof::OutputProof& p = proof.outputs()[output];
    Evaluation evaluation(instance, assignment, inputs);
    if (!complete(evaluation, instance.arena->symbols(), proof.solved())) return "the solved facts do not hold";
    for (const bool target : {false, true}) {
      const ir::Graph& graph = target ? instance.target : instance.source;
      const auto direct = concrete.element_values(graph, assignment, inputs, output);
      const auto source = concrete.element_values(instance.source, assignment, inputs, output);
      if (!direct || !source) continue;
      if (p.index.empty() && direct->dims.size() != 0) continue;  // the same value on both sides
      std::vector<int> seen(direct->values.size(), 0);
      evaluation.for_all(p.free, p.context, [&] {
        std::int64_t position = 0;
        for (std::size_t d = 0; d < direct->dims.size(); ++d) {
          const auto i = evaluation.integer(p.index[d]);
          if (!i || *i < 0 || *i >= direct->dims[d]) {
            differences += "an index is out of range\n";
            return;
          }
          position = position * direct->dims[d] + *i;
        }
        ++seen[static_cast<std::size_t>(position)];
        const Number& expected = direct->values[static_cast<std::size_t>(position)];
        const Number found = evaluation.value(target ? p.target : p.source);
        // With facts from the source a normal form says what an element is where that of the source has a value.
        const bool is_excluded = proof.has_source_facts() && !source->values[static_cast<std::size_t>(position)].has_value();
        if (!expected.has_value() || is_excluded) return;
        ++compared;
        if (compare(expected, found) != Comparison::equal) {
          differences += fmt::format("output {} of the {}, element {}: {} directly, {} by normal form\n", output,
                                     target ? "target" : "source", position, expected.to_string(), found.to_string());
        }
      });
      for (std::size_t k = 0; k < seen.size(); ++k)
        if (seen[k] != 1) differences += fmt::format("element {} is met {} times\n", k, seen[k]);
    }
  }
  return differences;
}

}  // namespace xflow::verifier
