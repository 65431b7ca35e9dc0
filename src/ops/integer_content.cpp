#include "src/ops/integer_content.h"

#include <algorithm>

#include "src/ops/operator.h"

namespace xflow::ops {
namespace {

using Elements = std::vector<ir::Poly>;

// Evaluates index notation over polynomials. Everything returns nothing where the value is not known.
class PolyEvaluator {
 public:
  // `operand(k)` gives the elements of operand k, row-major.
  PolyEvaluator(ir::Arena& arena, const ir::Node& node, IntegerContent& content)
      : symbols_(arena.symbols()), node_(node), content_(content), types_(operand_types(arena, node)) {}

  std::optional<ir::Poly> element(int output, std::span<const ir::Poly> index) {
    Builder builder(symbols_);
    const Expr expr = get(node_.op).semantics(builder, Operation{types_, node_.attributes, node_.outputs}, output, index);
    return evaluate(*expr);
  }

 private:
  std::optional<ir::Poly> evaluate(const ExprNode& expr) {
    switch (expr.kind) {
      case ExprKind::literal: {
        const auto value = expr.literal.rational();
        return value && value->denominator() == 1 ? std::optional(ir::Poly(value->numerator())) : std::nullopt;
      }
      case ExprKind::integer:
        return resolve(expr.integer);
      case ExprKind::read:
        return read(expr.operand, expr.indices);
      case ExprKind::sum:
      case ExprKind::maximum:
        return fold(expr);
      case ExprKind::select: {
        const auto holds = decide(expr.condition);
        return holds ? evaluate(*expr.arguments[*holds ? 0 : 1]) : std::nullopt;
      }
      case ExprKind::cast:
        return cast(expr);
      case ExprKind::apply:
        return apply(expr);
    }
    return std::nullopt;
  }

  // p with binders and elements of integer operands replaced by their values.
  std::optional<ir::Poly> resolve(const ir::Poly& p) {
    ir::Poly value = symbols_.substitute(p, binders_);
    for (;;) {
      ir::Symbols::Substitution elements;
      for (const ir::SymbolId symbol : symbols_.all_symbols(value)) {
        const ir::SymbolInfo info = symbols_.info(symbol);
        if (info.kind != ir::SymbolKind::element) continue;
        // Innermost first: an index that mentions elements waits for the next round.
        const bool ready = std::all_of(info.arguments.begin(), info.arguments.end(), [&](const ir::Poly& a) { return a.is_constant(); });
        if (!ready) continue;
        const auto element = read(static_cast<int>(info.tensor), info.arguments);
        if (!element) return std::nullopt;
        elements.emplace(symbol, *element);
      }
      if (elements.empty()) break;
      value = symbols_.substitute(value, elements);
    }
    for (const ir::SymbolId symbol : symbols_.all_symbols(value)) {
      if (symbols_.info(symbol).kind == ir::SymbolKind::element) return std::nullopt;
    }
    return value.is_poisoned() ? std::nullopt : std::optional(std::move(value));
  }

  std::optional<ir::Poly> read(int operand, const std::vector<ir::Poly>& indices) {
    const auto k = static_cast<std::size_t>(operand);
    const Elements* elements = content_.find(node_.operands[k]);
    if (elements == nullptr) return std::nullopt;
    std::int64_t position = 0;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const auto index = resolve(indices[d]);
      const auto at = index ? index->constant() : std::nullopt;
      const std::int64_t size = *types_[k].shape[d].constant();
      if (!at || *at < 0 || *at >= size) return std::nullopt;
      position = position * size + *at;
    }
    return (*elements)[static_cast<std::size_t>(position)];
  }

  std::optional<ir::Poly> fold(const ExprNode& expr) {
    const auto extent = resolve(expr.extent);
    const auto count = extent ? extent->constant() : std::nullopt;
    if (!count || *count > static_cast<std::int64_t>(ir::Constant::kSmall)) return std::nullopt;
    std::optional<ir::Poly> total;
    if (expr.kind == ExprKind::sum) total = ir::Poly(0);
    for (std::int64_t k = 0; k < *count; ++k) {
      binders_[expr.binder] = k;
      const auto term = evaluate(*expr.arguments[0]);
      if (!term) return std::nullopt;
      if (expr.kind == ExprKind::sum) {
        *total += *term;
      } else {
        total = total ? symbols_.max(*total, *term) : *term;
      }
    }
    return total;
  }

  bool non_negative(const ir::Poly& p) const { return symbols_.lower_bound(p).value_or(-1) >= 0; }

  // p = 0, where the bounds of symbols decide it.
  std::optional<bool> is_zero(const ir::Poly& p) const {
    if (const auto value = p.constant()) return *value == 0;
    if (non_negative(p - 1) || non_negative(ir::Poly(-1) - p)) return false;
    return std::nullopt;
  }

  std::optional<bool> is_at_least_zero(const ir::Poly& p) const {
    if (non_negative(p)) return true;
    if (non_negative(ir::Poly(-1) - p)) return false;
    return std::nullopt;
  }

  // A conjunction fails as soon as one atom fails, whatever the others are.
  std::optional<bool> decide(const Condition& condition) {
    bool open = false;
    for (const Atom& atom : condition) {
      const auto poly = resolve(atom.poly);
      std::optional<bool> holds;
      if (poly) {
        holds = atom.relation == Relation::at_least_zero ? is_at_least_zero(*poly) : is_zero(*poly);
        if (holds && atom.relation == Relation::not_zero) holds = !*holds;
      }
      if (holds && !*holds) return false;
      open = open || !holds;
    }
    return open ? std::nullopt : std::optional(true);
  }

  static std::optional<ir::Poly> boolean(std::optional<bool> value) {
    return value ? std::optional(ir::Poly(*value ? 1 : 0)) : std::nullopt;
  }

  std::optional<ir::Poly> cast(const ExprNode& expr) {
    const auto value = evaluate(*expr.arguments[0]);
    if (!value) return std::nullopt;
    if (expr.data_type == ir::DataType::boolean) {
      const auto zero = is_zero(*value);
      return zero ? boolean(!*zero) : std::nullopt;
    }
    return ir::is_integer(expr.data_type) ? value : std::nullopt;
  }

  std::optional<ir::Poly> apply(const ExprNode& expr) {
    if (expr.function == Function::choose) {
      const auto condition = evaluate(*expr.arguments[0]);
      const auto zero = condition ? is_zero(*condition) : std::nullopt;
      return zero ? evaluate(*expr.arguments[*zero ? 2 : 1]) : std::nullopt;
    }
    const auto a = evaluate(*expr.arguments[0]);
    if (!a) return std::nullopt;
    if (expr.arguments.size() == 1) return unary(expr.function, *a);
    const auto b = evaluate(*expr.arguments[1]);
    if (!b) return std::nullopt;
    std::optional<ir::Poly> result = binary(expr.function, *a, *b);
    return result && result->is_poisoned() ? std::nullopt : result;
  }

  std::optional<ir::Poly> unary(Function function, const ir::Poly& a) {
    switch (function) {
      case Function::negate:
        return -a;
      case Function::abs:
      case Function::sign: {
        const auto up = is_at_least_zero(a);
        if (function == Function::abs) return up ? std::optional(*up ? a : -a) : std::nullopt;
        const auto zero = is_zero(a);
        return up && zero ? std::optional(ir::Poly(*zero ? 0 : *up ? 1 : -1)) : std::nullopt;
      }
      case Function::floor:
      case Function::ceil:
      case Function::round_even:
        return a;
      case Function::logical_not:
        return boolean(is_zero(a));
      default:
        return std::nullopt;
    }
  }

  std::optional<ir::Poly> binary(Function function, const ir::Poly& a, const ir::Poly& b) {
    switch (function) {
      case Function::add:
        return a + b;
      case Function::subtract:
        return a - b;
      case Function::multiply:
        return a * b;
      case Function::minimum:
        return symbols_.min(a, b);
      case Function::maximum:
        return symbols_.max(a, b);
      case Function::equal:
        return boolean(is_zero(a - b));
      case Function::less:
        return boolean(is_at_least_zero(b - a - 1));
      case Function::logical_and:
      case Function::logical_or:
      case Function::logical_xor:
        return logical(function, is_zero(a), is_zero(b));
      case Function::integer_divide:
        return divide(a, b);
      case Function::modulo:
        return non_negative(b - 1) ? std::optional(symbols_.mod(a, b)) : std::nullopt;
      case Function::remainder:
        return non_negative(a) && non_negative(b - 1) ? std::optional(symbols_.mod(a, b)) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  static std::optional<ir::Poly> logical(Function function, std::optional<bool> a_is_zero, std::optional<bool> b_is_zero) {
    if (!a_is_zero || !b_is_zero) return std::nullopt;
    const bool a = !*a_is_zero;
    const bool b = !*b_is_zero;
    return boolean(function == Function::logical_and ? a && b : function == Function::logical_or ? a || b : a != b);
  }

  // Division towards zero by b > 0: the floor where a >= 0, and -floor(-a / b) where a <= 0. Both at once where the sign is not known:
  // floor(max(a, 0) / b) - floor(max(-a, 0) / b).
  std::optional<ir::Poly> divide(ir::Poly a, ir::Poly b) {
    const auto b_up = is_at_least_zero(b);
    const auto b_zero = is_zero(b);
    if (!b_up || !b_zero || *b_zero) return std::nullopt;
    if (auto exact = ir::exact_divide(a, b)) return exact;
    if (!*b_up) {
      a = -a;
      b = -b;
    }
    if (const auto a_up = is_at_least_zero(a)) return *a_up ? symbols_.floor_div(a, b) : -symbols_.floor_div(-a, b);
    return symbols_.floor_div(symbols_.max(a, 0), b) - symbols_.floor_div(symbols_.max(-a, 0), b);
  }

  ir::Symbols& symbols_;
  const ir::Node& node_;
  IntegerContent& content_;
  std::vector<ir::TensorType> types_;
  ir::Symbols::Substitution binders_;
};

// Whether a known element is a value of the type: -1 as uint8 would be another number.
bool fits(const ir::Poly& element, ir::DataType type) {
  const auto value = element.constant();
  if (!value || type == ir::DataType::int64) return true;
  if (type == ir::DataType::boolean) return *value == 0 || *value == 1;
  if (ir::is_unsigned(type)) return *value >= 0 && (ir::bits(type) == 64 || *value < (std::int64_t{1} << ir::bits(type)));
  const std::int64_t limit = std::int64_t{1} << (ir::bits(type) - 1);
  return *value >= -limit && *value < limit;
}

}  // namespace

std::optional<Elements> IntegerContent::of(ir::ValueId value) {
  const Elements* elements = find(value);
  return elements != nullptr ? std::optional(*elements) : std::nullopt;
}

const Elements* IntegerContent::find(ir::ValueId value) {
  auto found = known_.find(value);
  if (found == known_.end()) {
    std::optional<Elements> elements = compute(value);
    found = known_.emplace(value, std::move(elements)).first;
  }
  return found->second ? &*found->second : nullptr;
}

std::optional<Elements> IntegerContent::compute(ir::ValueId value) {
  const ir::Node& node = arena_.node(value);
  if (node.is_absent) return std::nullopt;
  const ir::TensorType& type = arena_.type(value);
  if (!type.ranked || !(ir::is_integer(type.data_type) || type.data_type == ir::DataType::boolean)) return std::nullopt;
  const auto dims = ir::constant_shape(type.shape);
  if (!dims) return std::nullopt;
  std::uint64_t count = 1;
  for (const std::int64_t dim : *dims) {
    if (dim > static_cast<std::int64_t>(ir::Constant::kSmall)) return std::nullopt;
    count *= static_cast<std::uint64_t>(dim);
    if (count > ir::Constant::kSmall) return std::nullopt;
  }
  if (node.kind == ir::NodeKind::constant) {
    const auto integers = ir::integers(node.constant);
    return integers ? std::optional(ir::polys(*integers)) : std::nullopt;
  }
  if (node.kind != ir::NodeKind::operation) return std::nullopt;

  PolyEvaluator evaluator(arena_, node, *this);
  Elements elements;
  std::vector<ir::Poly> index(dims->size());
  for (std::uint64_t k = 0; k < count; ++k) {
    auto rest = static_cast<std::int64_t>(k);
    for (std::size_t d = dims->size(); d-- > 0; rest /= (*dims)[d]) index[d] = rest % (*dims)[d];
    auto element = evaluator.element(static_cast<int>(value.output), index);
    if (!element || !fits(*element, type.data_type)) return std::nullopt;
    elements.push_back(*std::move(element));
  }
  return elements;
}

std::optional<Elements> integer_content(ir::Arena& arena, ir::ValueId value) { return IntegerContent(arena).of(value); }

}  // namespace xflow::ops
