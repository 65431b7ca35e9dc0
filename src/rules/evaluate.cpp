#include "src/rules/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace xflow::rules {
namespace {

using Polys = std::vector<ir::Poly>;

Unexpected ill_typed(std::string message) { return fail(ErrorCode::ill_typed, std::move(message)); }

constexpr std::array kFunctions = {
    FunctionSignature{"dim", 2, "dim(x, i): the size of axis i, which may be negative"},
    FunctionSignature{"rank", 1, "rank(x): the number of dimensions of a tensor or a sequence"},
    FunctionSignature{"dims", 1, "dims(x): all dimensions"},
    FunctionSignature{"outer", 1, "outer(x): all dimensions but the last"},
    FunctionSignature{"elements", 1, "elements(x): the number of elements"},
    FunctionSignature{"type", 1, "type(x): the data type"},
    FunctionSignature{"count", 1, "count(xs): the number of operands of a list"},
    FunctionSignature{"dims_at", 2, "dims_at(xs, i): the size of axis i of each operand of a list"},
    FunctionSignature{"length", 1, "length(p): the number of elements of a list"},
    FunctionSignature{"max", 2, "max(a, b)"},
    FunctionSignature{"min", 2, "min(a, b)"},
    FunctionSignature{"floor_div", 2, "floor_div(a, b): the quotient rounded down, b >= 1"},
    FunctionSignature{"ceil_div", 2, "ceil_div(a, b): the quotient rounded up, b >= 1"},
    FunctionSignature{"mod", 2, "mod(a, b): the remainder in [0, b)"},
    FunctionSignature{"sum", 1, "sum(p): the sum of the elements of a list"},
    FunctionSignature{"product", 1, "product(p): the product of the elements of a list"},
    FunctionSignature{"repeat", 2, "repeat(a, n): a list of n times a"},
    FunctionSignature{"range", 2, "range(a, b): the list a, a + 1, ..., b - 1"},
    FunctionSignature{"slice", 3, "slice(p, a, b): the elements of a list from a to b - 1"},
    FunctionSignature{"begins", 1, "begins(p): the first half of a list of pads"},
    FunctionSignature{"ends", 1, "ends(p): the second half of a list of pads"},
    FunctionSignature{"permute", 2, "permute(p, q): the list p[q[0]], p[q[1]], ..."},
    FunctionSignature{"inverse", 1, "inverse(q): the inverse of a permutation"},
    FunctionSignature{"replace", 3, "replace(p, i, a): the list with element i replaced by a"},
    FunctionSignature{"remove", 2, "remove(p, i): the list without the elements at index i, or at the indices of list i"},
    FunctionSignature{"insert", 3, "insert(p, i, a): the list with a inserted before element i"},
};

class Evaluator {
 public:
  Evaluator(const Scope& scope, ir::Symbols& symbols) : scope_(scope), symbols_(symbols) {}

  Result<ir::AttributeValue> value(const Expression& e) {
    switch (e.kind) {
      case Expression::Kind::number: {
        const auto rational = e.number.rational();
        if (rational && rational->denominator() == 1) return ir::AttributeValue(ir::Poly(rational->numerator()));
        return ir::AttributeValue(e.number);
      }
      case Expression::Kind::name:
      case Expression::Kind::sequence:
        return named(e.name);
      case Expression::Kind::ones: {
        XFLOW_TRY(const Polys sequence, sequence_of(e.name));
        return ir::AttributeValue(Polys(sequence.size(), ir::Poly(1)));
      }
      case Expression::Kind::optional:
        return ill_typed(fmt::format("{} has a meaning in declared types only", print(e)));
      case Expression::Kind::list:
        return list(e);
      case Expression::Kind::negate: {
        XFLOW_TRY(const ir::AttributeValue a, value(e.arguments[0]));
        return combine(ir::AttributeValue(ir::Poly(0)), a, Expression::Kind::subtract);
      }
      case Expression::Kind::add:
      case Expression::Kind::subtract:
      case Expression::Kind::multiply: {
        XFLOW_TRY(const ir::AttributeValue a, value(e.arguments[0]));
        XFLOW_TRY(const ir::AttributeValue b, value(e.arguments[1]));
        return combine(a, b, e.kind);
      }
      case Expression::Kind::index: {
        XFLOW_TRY(const Polys p, integers(e.arguments[0]));
        XFLOW_TRY(const std::size_t at, position(e.arguments[1], p.size()));
        return ir::AttributeValue(p[at]);
      }
      case Expression::Kind::call:
        return call(e);
    }
    return ill_typed("unknown expression");
  }

  Result<ir::Poly> integer(const Expression& e) {
    XFLOW_TRY(const ir::AttributeValue v, value(e));
    if (const auto* p = std::get_if<ir::Poly>(&v)) {
      if (p->is_poisoned()) return ill_typed(fmt::format("{} overflows 64 bits", print(e)));
      return *p;
    }
    return ill_typed(fmt::format("expected {} to be an integer", print(e)));
  }

 private:
  Result<ir::AttributeValue> named(const std::string& name) {
    if (const ir::AttributeValue* v = scope_.attribute(name)) return *v;
    return ill_typed(fmt::format("'{}' is not known here", name));
  }
  Result<Polys> sequence_of(const std::string& name) {
    XFLOW_TRY(const ir::AttributeValue v, named(name));
    if (const auto* p = std::get_if<Polys>(&v)) return *p;
    return ill_typed(fmt::format("expected '{}' to be a sequence of dimensions", name));
  }
  Result<Polys> integers(const Expression& e) {
    XFLOW_TRY(const ir::AttributeValue v, value(e));
    if (const auto* p = std::get_if<Polys>(&v)) return *p;
    return ill_typed(fmt::format("expected {} to be a list", print(e)));
  }
  Result<std::int64_t> known(const Expression& e) {
    XFLOW_TRY(const ir::Poly p, integer(e));
    if (const auto v = p.constant()) return *v;
    return ill_typed(fmt::format("expected {} to be a known integer", print(e)));
  }
  Result<std::size_t> position_of(std::int64_t at, std::size_t size, const Expression& e) {
    const auto n = static_cast<std::int64_t>(size);
    if (at < -n || at >= n) return ill_typed(fmt::format("expected {} to be an index of {} elements, found {}", print(e), n, at));
    return static_cast<std::size_t>(at < 0 ? at + n : at);
  }
  Result<std::size_t> position(const Expression& e, std::size_t size) {
    XFLOW_TRY(const std::int64_t at, known(e));
    return position_of(at, size, e);
  }
  Result<std::vector<std::size_t>> permutation(const Expression& e) {
    XFLOW_TRY(const Polys p, integers(e));
    std::vector<std::size_t> result;
    std::vector<bool> seen(p.size(), false);
    for (const ir::Poly& q : p) {
      const auto v = q.constant();
      if (!v || *v < 0 || *v >= static_cast<std::int64_t>(p.size()) || seen[static_cast<std::size_t>(*v)]) {
        return ill_typed(fmt::format("expected {} to be a permutation", print(e)));
      }
      seen[static_cast<std::size_t>(*v)] = true;
      result.push_back(static_cast<std::size_t>(*v));
    }
    return result;
  }

  Result<ir::AttributeValue> list(const Expression& e) {
    Polys result;
    for (const Expression& element : e.arguments) {
      XFLOW_TRY(const ir::AttributeValue v, value(element));
      if (const auto* p = std::get_if<ir::Poly>(&v)) {
        result.push_back(*p);
      } else if (const auto* ps = std::get_if<Polys>(&v)) {
        result.insert(result.end(), ps->begin(), ps->end());
      } else {
        return ill_typed(fmt::format("expected {} to be an integer or a list", print(element)));
      }
    }
    return ir::AttributeValue(std::move(result));
  }

  static ir::Poly combine(const ir::Poly& a, const ir::Poly& b, Expression::Kind kind) {
    if (kind == Expression::Kind::add) return a + b;
    if (kind == Expression::Kind::subtract) return a - b;
    return a * b;
  }
  Result<ir::AttributeValue> combine(const ir::AttributeValue& a, const ir::AttributeValue& b, Expression::Kind kind) {
    const auto* p = std::get_if<ir::Poly>(&a);
    const auto* q = std::get_if<ir::Poly>(&b);
    if (p != nullptr && q != nullptr) return ir::AttributeValue(combine(*p, *q, kind));
    const auto* ps = std::get_if<Polys>(&a);
    const auto* qs = std::get_if<Polys>(&b);
    if ((p == nullptr && ps == nullptr) || (q == nullptr && qs == nullptr)) {
      return ill_typed("attributes allow arithmetic on integers and lists of integers only");
    }
    if (ps != nullptr && qs != nullptr && ps->size() != qs->size()) {
      return ill_typed(fmt::format("expected lists of equal length, found {} and {} elements", ps->size(), qs->size()));
    }
    Polys result;
    const std::size_t n = ps != nullptr ? ps->size() : qs->size();
    for (std::size_t k = 0; k < n; ++k) {
      result.push_back(combine(ps != nullptr ? (*ps)[k] : *p, qs != nullptr ? (*qs)[k] : *q, kind));
    }
    return ir::AttributeValue(std::move(result));
  }

  Result<ir::AttributeValue> call(const Expression& e) {
    if (takes_tensor(e.name)) return tensor_call(e);
    const std::string& f = e.name;
    const std::vector<Expression>& args = e.arguments;
    if (f == "max" || f == "min" || f == "floor_div" || f == "ceil_div" || f == "mod") return arithmetic(e);
    if (f == "repeat") {
      XFLOW_TRY(const ir::Poly a, integer(args[0]));
      XFLOW_TRY(const std::int64_t n, known(args[1]));
      if (n < 0 || n > 64) return ill_typed(fmt::format("expected {} to be at least 0 and at most 64, found {}", print(args[1]), n));
      return ir::AttributeValue(Polys(static_cast<std::size_t>(n), a));
    }
    if (f == "range") {
      XFLOW_TRY(const std::int64_t a, known(args[0]));
      XFLOW_TRY(const std::int64_t b, known(args[1]));
      if (b < a || b - a > 64) return ill_typed(fmt::format("expected a range of 0 to 64 integers, found {} to {}", a, b));
      Polys result;
      for (std::int64_t k = a; k < b; ++k) result.emplace_back(k);
      return ir::AttributeValue(std::move(result));
    }
    return list_call(e);
  }

  Result<ir::AttributeValue> arithmetic(const Expression& e) {
    XFLOW_TRY(const ir::AttributeValue first, value(e.arguments[0]));
    XFLOW_TRY(const ir::AttributeValue second, value(e.arguments[1]));
    const auto one = [&](const ir::Poly& a, const ir::Poly& b) {
      if (e.name == "max") return symbols_.max(a, b);
      if (e.name == "min") return symbols_.min(a, b);
      if (e.name == "floor_div") return symbols_.floor_div(a, b);
      if (e.name == "ceil_div") return symbols_.ceil_div(a, b);
      return symbols_.mod(a, b);
    };
    const auto* p = std::get_if<ir::Poly>(&first);
    const auto* ps = std::get_if<Polys>(&first);
    const auto* q = std::get_if<ir::Poly>(&second);
    const auto* qs = std::get_if<Polys>(&second);
    if ((p == nullptr && ps == nullptr) || (q == nullptr && qs == nullptr)) {
      return ill_typed(fmt::format("expected the arguments of {} to be integers", print(e)));
    }
    if (ps != nullptr && qs != nullptr && ps->size() != qs->size()) return ill_typed("expected lists of equal length");
    if (p != nullptr && q != nullptr) {
      const ir::Poly result = one(*p, *q);
      if (result.is_poisoned()) return ill_typed(fmt::format("{} has no value", print(e)));
      return ir::AttributeValue(result);
    }
    Polys result;
    for (std::size_t k = 0; k < (ps != nullptr ? ps->size() : qs->size()); ++k) {
      result.push_back(one(ps != nullptr ? (*ps)[k] : *p, qs != nullptr ? (*qs)[k] : *q));
      if (result.back().is_poisoned()) return ill_typed(fmt::format("{} has no value", print(e)));
    }
    return ir::AttributeValue(std::move(result));
  }

  Result<ir::AttributeValue> list_call(const Expression& e) {
    const std::string& f = e.name;
    const std::vector<Expression>& args = e.arguments;
    XFLOW_TRY(Polys p, integers(args[0]));
    const auto size = static_cast<std::int64_t>(p.size());
    if (f == "length") return ir::AttributeValue(ir::Poly(size));
    if (f == "sum" || f == "product") {
      ir::Poly result(f == "sum" ? 0 : 1);
      for (const ir::Poly& q : p) f == "sum" ? result += q : result *= q;
      return ir::AttributeValue(result);
    }
    if (f == "begins") return ir::AttributeValue(Polys(p.begin(), p.begin() + size / 2));
    if (f == "ends") return ir::AttributeValue(Polys(p.begin() + size / 2, p.end()));
    if (f == "slice") {
      XFLOW_TRY(std::int64_t a, known(args[1]));
      XFLOW_TRY(std::int64_t b, known(args[2]));
      if (a < 0) a += size;
      if (b < 0) b += size;
      if (a < 0 || b < a || b > size) return ill_typed(fmt::format("{} is out of the range of {} elements", print(e), size));
      return ir::AttributeValue(Polys(p.begin() + a, p.begin() + b));
    }
    if (f == "inverse") {
      XFLOW_TRY(const std::vector<std::size_t> q, permutation(args[0]));
      Polys result(q.size());
      for (std::size_t k = 0; k < q.size(); ++k) result[q[k]] = ir::Poly(static_cast<std::int64_t>(k));
      return ir::AttributeValue(std::move(result));
    }
    if (f == "permute") {
      XFLOW_TRY(const std::vector<std::size_t> q, permutation(args[1]));
      if (q.size() != p.size()) return ill_typed(fmt::format("expected {} to have {} elements", print(args[1]), size));
      Polys result;
      for (const std::size_t k : q) result.push_back(p[k]);
      return ir::AttributeValue(std::move(result));
    }
    if (f == "remove") {
      XFLOW_TRY(const ir::AttributeValue which, value(args[1]));
      Polys positions;
      if (const auto* one = std::get_if<ir::Poly>(&which)) positions.push_back(*one);
      if (const auto* many = std::get_if<Polys>(&which)) positions = *many;
      std::vector<bool> gone(p.size(), false);
      for (const ir::Poly& q : positions) {
        const auto at = q.constant();
        if (!at) return ill_typed(fmt::format("expected {} to be known", print(args[1])));
        XFLOW_TRY(const std::size_t k, position_of(*at, p.size(), args[1]));
        gone[k] = true;
      }
      Polys result;
      for (std::size_t k = 0; k < p.size(); ++k) {
        if (!gone[k]) result.push_back(p[k]);
      }
      return ir::AttributeValue(std::move(result));
    }
    XFLOW_TRY(const std::size_t at, position(args[1], p.size() + (f == "insert" ? 1 : 0)));
    XFLOW_TRY(const ir::Poly a, integer(args[2]));
    if (f == "insert") {
      p.insert(p.begin() + static_cast<std::ptrdiff_t>(at), a);
    } else {
      p[at] = a;
    }
    return ir::AttributeValue(std::move(p));
  }

  Result<ir::AttributeValue> tensor_call(const Expression& e) {
    const std::string& f = e.name;
    const Expression& tensor = e.arguments[0];
    if (f == "count" || f == "dims_at") {
      const std::vector<ir::TensorType> types = scope_.types(tensor.name);
      if (types.empty()) return ill_typed(fmt::format("list '{}' is not known here", tensor.name));
      if (f == "count") return ir::AttributeValue(ir::Poly(static_cast<std::int64_t>(types.size())));
      Polys result;
      for (const ir::TensorType& type : types) {
        XFLOW_TRY(const std::size_t at, position(e.arguments[1], type.rank()));
        result.push_back(type.shape[at]);
      }
      return ir::AttributeValue(std::move(result));
    }
    const ir::TensorType* type = scope_.type(tensor.name);
    if (f == "rank" && type == nullptr) {
      XFLOW_TRY(const Polys sequence, sequence_of(tensor.name));
      return ir::AttributeValue(ir::Poly(static_cast<std::int64_t>(sequence.size())));
    }
    if (type == nullptr) return ill_typed(fmt::format("'{}' is not known here", tensor.name));
    if (f == "type") return ir::AttributeValue(type->data_type);
    if (!type->ranked) return ill_typed(fmt::format("the rank of '{}' is not known", tensor.name));
    if (f == "rank") return ir::AttributeValue(ir::Poly(static_cast<std::int64_t>(type->rank())));
    if (f == "dims") return ir::AttributeValue(type->shape);
    if (f == "elements") return ir::AttributeValue(ir::element_count(type->shape));
    if (f == "outer") {
      if (type->shape.empty()) return ill_typed(fmt::format("outer({}) of a scalar", tensor.name));
      return ir::AttributeValue(Polys(type->shape.begin(), type->shape.end() - 1));
    }
    XFLOW_TRY(const std::size_t at, position(e.arguments[1], type->rank()));
    return ir::AttributeValue(type->shape[at]);
  }

  const Scope& scope_;
  ir::Symbols& symbols_;
};

}  // namespace

std::span<const FunctionSignature> functions() { return kFunctions; }

bool takes_tensor(std::string_view f) {
  return f == "dim" || f == "rank" || f == "dims" || f == "outer" || f == "elements" || f == "type" || f == "count" || f == "dims_at";
}

Result<ir::AttributeValue> evaluate(const Expression& expression, const Scope& scope, ir::Symbols& symbols) {
  return Evaluator(scope, symbols).value(expression);
}

Result<ir::Poly> evaluate_integer(const Expression& expression, const Scope& scope, ir::Symbols& symbols) {
  return Evaluator(scope, symbols).integer(expression);
}

Result<ir::AttributeValue> evaluate_attribute(const Expression& expression, ops::AttributeKind kind, std::optional<std::size_t> length,
                                              const Scope& scope, ir::Symbols& symbols) {
  if (expression.kind == Expression::Kind::name && scope.attribute(expression.name) == nullptr) {
    if (kind == ops::AttributeKind::word) return ir::AttributeValue(expression.name);
    if (kind == ops::AttributeKind::data_type) {
      if (const auto type = ir::data_type_from_name(expression.name)) return ir::AttributeValue(*type);
      return ill_typed(fmt::format("'{}' is not a data type", expression.name));
    }
  }
  XFLOW_TRY(ir::AttributeValue v, evaluate(expression, scope, symbols));
  const auto* p = std::get_if<ir::Poly>(&v);
  if (kind == ops::AttributeKind::integers && p != nullptr) {
    if (!length) return ill_typed(fmt::format("expected {} to be a list", print(expression)));
    return ir::AttributeValue(Polys(*length, *p));
  }
  if (kind == ops::AttributeKind::real && p != nullptr && p->is_constant()) return ir::AttributeValue(ir::Real(p->constant_term()));
  return v;
}

std::optional<std::size_t> list_length(const ops::Signature& op, std::string_view attribute, std::span<const ir::TensorType> operands) {
  if (operands.empty() || !operands[0].ranked) return std::nullopt;
  const std::size_t rank = operands[0].rank();
  const std::size_t spatial = rank >= 2 ? rank - 2 : 0;
  for (const ops::AttributeSignature& a : op.attributes) {
    if (a.name != attribute) continue;
    if (a.per_spatial > 0) return static_cast<std::size_t>(a.per_spatial) * spatial;
    if (a.per_dimension) return rank;
  }
  return std::nullopt;
}

std::optional<bool> holds(Guard::Kind relation, const ir::Poly& a, const ir::Poly& b, const ir::Symbols& symbols) {
  const ir::Poly difference = a - b;
  if (difference.is_poisoned()) return std::nullopt;
  const auto low = symbols.lower_bound(difference);
  const auto minus_high = symbols.lower_bound(b - a);
  switch (relation) {
    case Guard::Kind::equal:
    case Guard::Kind::not_equal: {
      std::optional<bool> same;
      if (difference.is_zero()) same = true;
      if ((low && *low > 0) || (minus_high && *minus_high > 0)) same = false;
      if (!same) return std::nullopt;
      return relation == Guard::Kind::equal ? *same : !*same;
    }
    case Guard::Kind::at_least:
      if (low && *low >= 0) return true;
      if (minus_high && *minus_high > 0) return false;
      return std::nullopt;
    case Guard::Kind::greater:
      if (low && *low > 0) return true;
      if (minus_high && *minus_high >= 0) return false;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace xflow::rules
