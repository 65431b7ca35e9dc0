#include "src/ops/integer_content.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "src/ops/operator.h"

namespace xflow::ops {
namespace {

using Fraction = IntegerContent::Fraction;
using Elements = std::vector<Fraction>;

// The largest numerator and denominator of floating literals and constants that are not integers. The
// denominator must be a power of two. Products of such numbers with sizes up to 2^16 are exact in float32.
constexpr std::int64_t kExactPart = 256;

// The longest chain of nodes that is followed. Shape arithmetic is far shorter.
constexpr int kDeepest = 200;

std::optional<Fraction> exact_fraction(const std::optional<ir::Rational>& value) {
  if (!value) return std::nullopt;
  const std::int64_t below = value->denominator();
  if (below == 1) return Fraction{value->numerator(), 1};
  const bool power_of_two = (below & (below - 1)) == 0;
  if (!power_of_two || below > kExactPart || std::abs(value->numerator()) > kExactPart) return std::nullopt;
  return Fraction{value->numerator(), below};
}

bool is_exact_floating(ir::DataType type) { return type == ir::DataType::float32 || type == ir::DataType::float64; }

// Evaluates index notation over fractions of polynomials. All functions return nothing if the value is not
// known.
class ContentEvaluator {
 public:
  // `find(value)` returns the elements of a value in row-major order, or null.
  using Find = std::function<const Elements*(ir::ValueId)>;
  ContentEvaluator(ir::Arena& arena, const ir::Node& node, std::uint32_t output, Find find)
      : symbols_(arena.symbols()),
        node_(node),
        floating_(ir::is_floating(node.outputs[output].data_type)),
        find_(std::move(find)),
        types_(operand_types(arena, node)) {}

  std::optional<Fraction> element(std::uint32_t output, std::span<const ir::Poly> index) {
    Builder builder(symbols_);
    const Expr expr = get(node_.op).semantics(builder, Operation{types_, node_.attributes, node_.outputs}, static_cast<int>(output), index);
    auto value = evaluate(*expr);
    return value && value->numerator.is_poisoned() ? std::nullopt : value;
  }

 private:
  static std::optional<Fraction> whole(const std::optional<ir::Poly>& p) { return p ? std::optional(Fraction{*p, 1}) : std::nullopt; }

  std::optional<Fraction> evaluate(const ExprNode& expr) {
    switch (expr.kind) {
      case ExprKind::literal:
        return exact_fraction(expr.literal.rational());
      case ExprKind::integer:
        return whole(resolve(expr.integer));
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

  // Replaces the binders and the elements of integer operands in p by their values.
  std::optional<ir::Poly> resolve(const ir::Poly& p) {
    ir::Poly value = symbols_.substitute(p, binders_);
    for (;;) {
      ir::Symbols::Substitution elements;
      for (const ir::SymbolId symbol : symbols_.all_symbols(value)) {
        const ir::SymbolInfo info = symbols_.info(symbol);
        if (info.kind != ir::SymbolKind::element) continue;
        // Innermost first: an element whose index contains elements waits for the next round.
        const bool ready = std::all_of(info.arguments.begin(), info.arguments.end(), [&](const ir::Poly& a) { return a.is_constant(); });
        if (!ready) continue;
        const auto element = read(static_cast<int>(info.tensor), info.arguments);
        if (!element || element->denominator != 1) return std::nullopt;
        elements.emplace(symbol, element->numerator);
      }
      if (elements.empty()) break;
      value = symbols_.substitute(value, elements);
    }
    for (const ir::SymbolId symbol : symbols_.all_symbols(value)) {
      if (symbols_.info(symbol).kind == ir::SymbolKind::element) return std::nullopt;
    }
    return value.is_poisoned() ? std::nullopt : std::optional(std::move(value));
  }

  std::optional<Fraction> read(int operand, const std::vector<ir::Poly>& indices) {
    const auto k = static_cast<std::size_t>(operand);
    const Elements* elements = find_(node_.operands[k]);
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

  std::optional<Fraction> fold(const ExprNode& expr) {
    const auto extent = resolve(expr.extent);
    const auto count = extent ? extent->constant() : std::nullopt;
    if (!count || *count > static_cast<std::int64_t>(ir::Constant::kSmall)) return std::nullopt;
    std::optional<Fraction> total;
    if (expr.kind == ExprKind::sum) total = Fraction{0, 1};
    for (std::int64_t k = 0; k < *count; ++k) {
      binders_[expr.binder] = k;
      const auto term = evaluate(*expr.arguments[0]);
      if (!term) return std::nullopt;
      total = total ? binary(expr.kind == ExprKind::sum ? Function::add : Function::maximum, *total, *term) : term;
      if (!total) return std::nullopt;
    }
    return total;
  }

  bool non_negative(const ir::Poly& p) const { return symbols_.lower_bound(p).value_or(-1) >= 0; }

  // Whether p = 0; nothing if the bounds of its symbols do not decide it.
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

  // Whether a conjunction holds. It fails if any atom fails, even if other atoms are not known.
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

  static std::optional<Fraction> boolean(std::optional<bool> value) {
    return value ? std::optional(Fraction{*value ? 1 : 0, 1}) : std::nullopt;
  }

  std::optional<Fraction> cast(const ExprNode& expr) {
    auto value = evaluate(*expr.arguments[0]);
    if (!value) return std::nullopt;
    if (expr.data_type == ir::DataType::boolean) {
      const auto zero = is_zero(value->numerator);
      return zero ? boolean(!*zero) : std::nullopt;
    }
    if (ir::is_integer(expr.data_type)) return Fraction{towards_zero(value->numerator, value->denominator), 1};
    return is_exact_floating(expr.data_type) ? value : std::nullopt;
  }

  std::optional<Fraction> apply(const ExprNode& expr) {
    if (expr.function == Function::choose) {
      const auto condition = evaluate(*expr.arguments[0]);
      const auto zero = condition ? is_zero(condition->numerator) : std::nullopt;
      return zero ? evaluate(*expr.arguments[*zero ? 2 : 1]) : std::nullopt;
    }
    const auto a = evaluate(*expr.arguments[0]);
    if (!a) return std::nullopt;
    if (expr.arguments.size() == 1) return unary(expr.function, *a);
    const auto b = evaluate(*expr.arguments[1]);
    return b ? binary(expr.function, *a, *b) : std::nullopt;
  }

  std::optional<Fraction> unary(Function function, const Fraction& a) {
    const ir::Poly& n = a.numerator;
    switch (function) {
      case Function::negate:
        return Fraction{-n, a.denominator};
      case Function::abs:
      case Function::sign: {
        const auto up = is_at_least_zero(n);
        if (function == Function::abs) return up ? std::optional(Fraction{*up ? n : -n, a.denominator}) : std::nullopt;
        const auto zero = is_zero(n);
        return up && zero ? std::optional(Fraction{*zero ? 0 : *up ? 1 : -1, 1}) : std::nullopt;
      }
      case Function::floor:
        return Fraction{symbols_.floor_div(n, a.denominator), 1};
      case Function::ceil:
        return Fraction{symbols_.floor_div(n + (a.denominator - 1), a.denominator), 1};
      case Function::round_even:
        return a.denominator == 1 ? std::optional(a) : std::nullopt;
      case Function::logical_not:
        return boolean(is_zero(n));
      default:
        return std::nullopt;
    }
  }

  // a and b over a common denominator.
  struct Common {
    ir::Poly a;
    ir::Poly b;
    std::int64_t denominator;
  };
  static Common common(const Fraction& a, const Fraction& b) {
    const std::int64_t denominator = std::max(a.denominator, b.denominator);  // both are powers of two
    return {a.numerator * (denominator / a.denominator), b.numerator * (denominator / b.denominator), denominator};
  }

  static std::optional<Fraction> lowest(const ir::Poly& numerator, std::int64_t denominator) {
    Fraction result{numerator, denominator};
    while (result.denominator > 1) {
      const auto half = ir::exact_divide(result.numerator, 2);
      if (!half) break;
      result = {*half, result.denominator / 2};
    }
    return result.denominator <= kExactPart ? std::optional(std::move(result)) : std::nullopt;
  }

  std::optional<Fraction> binary(Function function, const Fraction& x, const Fraction& y) {
    const auto [a, b, denominator] = common(x, y);
    switch (function) {
      case Function::add:
        return lowest(a + b, denominator);
      case Function::subtract:
        return lowest(a - b, denominator);
      case Function::multiply:
        // A product of sizes may not be exact in float.
        if (floating_ && !a.is_constant() && !b.is_constant()) return std::nullopt;
        return lowest(x.numerator * y.numerator, x.denominator * y.denominator);
      case Function::minimum:
        return lowest(symbols_.min(a, b), denominator);
      case Function::maximum:
        return lowest(symbols_.max(a, b), denominator);
      case Function::equal:
        return boolean(is_zero(a - b));
      case Function::less:
        return boolean(is_at_least_zero(b - a - 1));
      case Function::logical_and:
      case Function::logical_or:
      case Function::logical_xor:
        return logical(function, is_zero(a), is_zero(b));
      case Function::divide: {
        const auto divisor = exact_fraction(b.constant() ? ir::Rational::make(y.denominator, *y.numerator.constant()) : std::nullopt);
        return divisor ? binary(Function::multiply, x, *divisor) : std::nullopt;
      }
      case Function::integer_divide:
        return whole(divide(a, b));
      case Function::modulo:
        return denominator == 1 && non_negative(b - 1) ? std::optional(Fraction{symbols_.mod(a, b), 1}) : std::nullopt;
      case Function::remainder:
        return denominator == 1 && non_negative(a) && non_negative(b - 1) ? std::optional(Fraction{symbols_.mod(a, b), 1}) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  static std::optional<Fraction> logical(Function function, std::optional<bool> a_is_zero, std::optional<bool> b_is_zero) {
    if (!a_is_zero || !b_is_zero) return std::nullopt;
    const bool a = !*a_is_zero;
    const bool b = !*b_is_zero;
    return boolean(function == Function::logical_and ? a && b : function == Function::logical_or ? a || b : a != b);
  }

  std::optional<ir::Poly> divide(ir::Poly a, ir::Poly b) {
    const auto b_up = is_at_least_zero(b);
    const auto b_zero = is_zero(b);
    if (!b_up || !b_zero || *b_zero) return std::nullopt;
    if (!*b_up) {
      a = -a;
      b = -b;
    }
    return towards_zero(a, b);
  }

  // a / b rounded towards zero, for b > 0: floor(a / b) if a >= 0, -floor(-a / b) if a <= 0. If the sign of
  // a is not known: floor(max(a, 0) / b) - floor(max(-a, 0) / b).
  ir::Poly towards_zero(const ir::Poly& a, const ir::Poly& b) {
    if (auto exact = ir::exact_divide(a, b)) return *std::move(exact);
    if (const auto a_up = is_at_least_zero(a)) return *a_up ? symbols_.floor_div(a, b) : -symbols_.floor_div(-a, b);
    return symbols_.floor_div(symbols_.max(a, 0), b) - symbols_.floor_div(symbols_.max(-a, 0), b);
  }

  ir::Symbols& symbols_;
  const ir::Node& node_;
  bool floating_;
  Find find_;
  std::vector<ir::TensorType> types_;
  ir::Symbols::Substitution binders_;
};

// Whether an element is a value of the type. For example, -1 is not a uint8.
bool fits(const Fraction& element, ir::DataType type) {
  if (element.numerator.is_poisoned()) return false;
  if (ir::is_floating(type)) return true;
  if (element.denominator != 1) return false;
  const auto value = element.numerator.constant();
  if (!value || type == ir::DataType::int64) return true;
  if (type == ir::DataType::boolean) return *value == 0 || *value == 1;
  if (ir::is_unsigned(type)) return *value >= 0 && (ir::bits(type) == 64 || *value < (std::int64_t{1} << ir::bits(type)));
  const std::int64_t limit = std::int64_t{1} << (ir::bits(type) - 1);
  return *value >= -limit && *value < limit;
}

std::optional<Elements> constant_elements(const ir::Constant& constant) {
  Elements elements;
  if (!ir::is_floating(constant.data_type)) {
    const auto integers = ir::integers(constant);
    if (!integers) return std::nullopt;
    for (const std::int64_t value : *integers) elements.push_back({value, 1});
    return elements;
  }
  const auto reals = ir::doubles(constant);
  if (!reals) return std::nullopt;
  for (const double value : *reals) {
    auto element = exact_fraction(ir::Rational::from_double(value));
    if (!element) return std::nullopt;
    elements.push_back(*std::move(element));
  }
  return elements;
}

}  // namespace

std::optional<std::vector<ir::Poly>> IntegerContent::of(ir::ValueId value) {
  if (ir::is_floating(arena_.type(value).data_type)) return std::nullopt;
  const Elements* elements = find(value);
  if (elements == nullptr) return std::nullopt;
  std::vector<ir::Poly> integers;
  integers.reserve(elements->size());
  for (const Fraction& element : *elements) integers.push_back(element.numerator);
  return integers;
}

const Elements* IntegerContent::find(ir::ValueId value) {
  auto found = known_.find(value);
  if (found == known_.end()) {
    if (depth_ == kDeepest) return nullptr;
    ++depth_;
    std::optional<Elements> elements = compute(value);
    --depth_;
    found = known_.emplace(value, std::move(elements)).first;
  }
  return found->second ? &*found->second : nullptr;
}

std::optional<Elements> IntegerContent::compute(ir::ValueId value) {
  const ir::Node& node = arena_.node(value);
  if (node.is_absent) return std::nullopt;
  const ir::TensorType& type = arena_.type(value);
  const bool known_type = ir::is_integer(type.data_type) || type.data_type == ir::DataType::boolean || is_exact_floating(type.data_type);
  if (!type.ranked || !known_type) return std::nullopt;
  const auto dims = ir::constant_shape(type.shape);
  if (!dims) return std::nullopt;
  std::uint64_t count = 1;
  for (const std::int64_t dim : *dims) {
    if (dim > static_cast<std::int64_t>(ir::Constant::kSmall)) return std::nullopt;
    count *= static_cast<std::uint64_t>(dim);
    if (count > ir::Constant::kSmall) return std::nullopt;
  }
  if (node.kind == ir::NodeKind::constant) return constant_elements(node.constant);
  if (node.kind != ir::NodeKind::operation) return std::nullopt;

  ContentEvaluator evaluator(arena_, node, value.output, [this](ir::ValueId operand) { return find(operand); });
  Elements elements;
  std::vector<ir::Poly> index(dims->size());
  for (std::uint64_t k = 0; k < count; ++k) {
    auto rest = static_cast<std::int64_t>(k);
    for (std::size_t d = dims->size(); d-- > 0; rest /= (*dims)[d]) index[d] = rest % (*dims)[d];
    auto element = evaluator.element(value.output, index);
    if (!element || !fits(*element, type.data_type)) return std::nullopt;
    elements.push_back(*std::move(element));
  }
  return elements;
}

std::optional<std::vector<ir::Poly>> integer_content(ir::Arena& arena, ir::ValueId value) { return IntegerContent(arena).of(value); }

}  // namespace xflow::ops
