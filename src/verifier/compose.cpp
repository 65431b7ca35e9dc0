#include "src/verifier/compose.h"

#include <algorithm>
#include <cmath>

#include "src/ops/operator.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ops::ExprKind;
using ops::ExprNode;

namespace {

constexpr std::uint32_t kFirstTensor = 1U << 20U;
constexpr std::uint32_t kOutputs = 256;

bool is_infinite(const ops::Expr& e, bool positive) {
  if (e->kind != ExprKind::literal || e->literal.is_variable()) return false;
  const double value = e->literal.to_double();
  return std::isinf(value) && (value > 0) == positive;
}

// Conversions between types that keep every value (over the reals: integers do not overflow).
bool keeps_values(ir::DataType from, ir::DataType to) {
  if (from == to) return true;
  if (from == ir::DataType::boolean) return true;
  if (ir::is_integer(from)) return to != ir::DataType::boolean;
  if (!ir::is_floating(from) || !ir::is_floating(to)) return false;
  if (to == ir::DataType::float64) return true;
  return to == ir::DataType::float32 && from != ir::DataType::float64;
}

}  // namespace

std::uint32_t tensor_number(ir::ValueId value) { return kFirstTensor + static_cast<std::uint32_t>(value.node) * kOutputs + value.output; }

std::optional<ir::ValueId> tensor_of(std::uint32_t number) {
  if (number < kFirstTensor) return std::nullopt;
  const std::uint32_t n = number - kFirstTensor;
  return ir::ValueId{static_cast<ir::NodeId>(n / kOutputs), n % kOutputs};
}

Composer::Composer(Algebra& algebra, ir::Arena& arena, const ir::Symbols::Substitution& solved)
    : algebra_(algebra), arena_(arena), solved_(solved) {}

Expression Composer::element(ir::ValueId value, const std::vector<Poly>& index) {
  const Generic& g = generic(value);
  ir::Symbols::Substitution by;
  for (std::size_t k = 0; k < index.size(); ++k) by.emplace(g.index[k], index[k]);
  return refresh(algebra_.symbols(), g.expression, by);
}

std::vector<SymbolId> Composer::fresh_index(std::size_t rank) {
  std::vector<SymbolId> result;
  for (std::size_t k = 0; k < rank; ++k) result.push_back(algebra_.symbols().fresh(SymbolKind::index, "i"));
  return result;
}

const Composer::Generic& Composer::generic(ir::ValueId value) {
  if (const auto found = generic_.find(value); found != generic_.end()) return found->second;
  const std::vector<SymbolId> index = fresh_index(arena_.type(value).rank());
  const ir::Node& node = arena_.node(value);
  Generic g{index, node.kind == ir::NodeKind::operation ? convert(semantics(value, index), node) : leaf(value, index)};
  return generic_.emplace(value, std::move(g)).first->second;
}

const Composer::GenericPieces& Composer::generic_pieces(ir::ValueId value) {
  if (const auto found = generic_pieces_.find(value); found != generic_pieces_.end()) return found->second;
  const std::vector<SymbolId> index = fresh_index(arena_.type(value).rank());
  GenericPieces g{index, pieces(semantics(value, index), arena_.node(value))};
  return generic_pieces_.emplace(value, std::move(g)).first->second;
}

ops::Expr Composer::semantics(ir::ValueId value, const std::vector<SymbolId>& index) {
  const ir::Node& node = arena_.node(value);
  const std::vector<ir::TensorType> operands = ops::operand_types(arena_, node);
  const ops::Operation operation{operands, node.attributes, node.outputs};
  std::vector<Poly> polys;
  polys.reserve(index.size());
  for (const SymbolId s : index) polys.emplace_back(s);
  ops::Builder builder(algebra_.symbols());
  return ops::get(node.op).semantics(builder, operation, static_cast<int>(value.output), polys);
}

// Variables and constants.
Expression Composer::leaf(ir::ValueId value, const std::vector<SymbolId>& index) {
  const ir::Node& node = arena_.node(value);
  if (node.kind == ir::NodeKind::opaque) throw Stop{false, "cannot evaluate an operator outside of the known ones"};
  if (node.kind == ir::NodeKind::constant && node.constant.is_small() && node.constant.elements() > 0) {
    const auto all_equal = [](const auto& list) {
      return std::all_of(list->begin(), list->end(), [&](const auto& x) { return x == list->front(); });
    };
    if (ir::is_floating(node.constant.data_type)) {
      const auto values = ir::doubles(node.constant);
      if (values && all_equal(values)) return convert_literal(ir::Real::from_double(values->front()));
    } else if (const auto values = ir::integers(node.constant); values && all_equal(values)) {
      return convert_literal(ir::Real(values->front()));
    }
  }
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::read;
  f->variable = value;
  f->boolean = arena_.type(value).data_type == ir::DataType::boolean;
  for (const SymbolId s : index) f->indices.emplace_back(s);
  return algebra_.factor(std::move(f));
}

Poly Composer::resolve(const Poly& p, Scope node) {
  ir::Symbols& symbols = algebra_.symbols();
  Poly result = p;
  ir::Symbols::Substitution elements;
  for (const SymbolId s : symbols.all_symbols(p)) {
    const ir::SymbolInfo info = symbols.info(s);
    if (info.kind != SymbolKind::element || info.tensor >= kFirstTensor) continue;
    std::vector<Poly> arguments;
    for (const Poly& a : info.arguments) arguments.push_back(resolve(a, node));
    elements.emplace(s, symbols.element(tensor_number(node.operands[info.tensor]), std::move(arguments)));
  }
  if (!elements.empty()) result = symbols.substitute(result, elements);
  if (!solved_.empty()) result = symbols.substitute(result, solved_);
  if (result.is_poisoned()) throw Stop{false, "cannot compute an index: it does not fit 64 bits"};
  return result;
}

Condition Composer::convert(const Condition& condition, Scope node) {
  Condition result;
  for (const Atom& a : condition) result.push_back({resolve(a.poly, node), a.relation});
  return result;
}

Expression Composer::convert_literal(const ir::Real& value) {
  if (const auto r = value.rational(); r && !value.is_variable()) return algebra_.constant(*r);
  if (!value.is_variable() && !std::isfinite(value.to_double())) throw Stop{false, "cannot compute with an infinite number over the reals"};
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::real;
  f->name = value.to_string();
  return algebra_.factor(std::move(f));
}

namespace {

// The complement of a conjunction as disjoint conjunctions.
std::vector<Condition> complement(const Condition& condition) {
  std::vector<Condition> result;
  for (std::size_t k = 0; k < condition.size(); ++k) {
    Condition c(condition.begin(), condition.begin() + static_cast<std::ptrdiff_t>(k));
    switch (condition[k].relation) {
      case Relation::at_least_zero:
        c.push_back({Poly(-1) - condition[k].poly, Relation::at_least_zero});
        break;
      case Relation::zero:
        c.push_back({condition[k].poly, Relation::not_zero});
        break;
      case Relation::not_zero:
        c.push_back({condition[k].poly, Relation::zero});
        break;
    }
    result.push_back(std::move(c));
  }
  return result;
}

}  // namespace

Expression Composer::convert(const ops::Expr& e, Scope node) {
  switch (e->kind) {
    case ExprKind::literal:
      return convert_literal(e->literal);
    case ExprKind::integer:
      return algebra_.integer(resolve(e->integer, node));
    case ExprKind::read: {
      std::vector<Poly> index;
      for (const Poly& p : e->indices) index.push_back(resolve(p, node));
      return element(node.operands[static_cast<std::size_t>(e->operand)], index);
    }
    case ExprKind::sum: {
      Expression body = convert(e->arguments[0], node);
      const Poly extent = resolve(e->extent, node);
      for (Term& t : body.terms) {
        t.binders.insert(t.binders.begin(), e->binder);
        const Condition range = {{Poly(e->binder), Relation::at_least_zero}, ops::less_than(Poly(e->binder), extent)};
        t.conditions.insert(t.conditions.begin(), range.begin(), range.end());
      }
      return body;
    }
    case ExprKind::maximum:
      return algebra_.maximum(pieces(e, node));
    case ExprKind::select: {
      const Condition condition = convert(e->condition, node);
      Expression result = convert(e->arguments[0], node);
      for (Term& t : result.terms) t.conditions.insert(t.conditions.begin(), condition.begin(), condition.end());
      const Expression otherwise = convert(e->arguments[1], node);
      for (const Condition& c : complement(condition)) {
        for (Term t : otherwise.terms) {
          t.conditions.insert(t.conditions.begin(), c.begin(), c.end());
          result.terms.push_back(std::move(t));
        }
      }
      return result;
    }
    case ExprKind::apply:
      return convert_apply(*e, node);
    case ExprKind::cast:
      break;
  }
  return convert_cast(*e, node);
}

Expression Composer::convert_apply(const ExprNode& e, Scope node) {
  const auto& a = e.arguments;
  if (e.function == Function::minimum) {
    if (is_infinite(a[0], true)) return convert(a[1], node);
    if (is_infinite(a[1], true)) return convert(a[0], node);
  }
  if (e.function == Function::maximum) {
    std::vector<Piece> all = pieces(a[0], node);
    std::vector<Piece> more = pieces(a[1], node);
    all.insert(all.end(), more.begin(), more.end());
    return algebra_.maximum(all);
  }
  std::vector<Expression> arguments;
  arguments.reserve(a.size());
  for (const ops::Expr& x : a) arguments.push_back(convert(x, node));
  return algebra_.apply(e.function, std::move(arguments));
}

ir::DataType Composer::type_of(const ExprNode& e, Scope node) const {
  switch (e.kind) {
    case ExprKind::read:
      return arena_.type(node.operands[static_cast<std::size_t>(e.operand)]).data_type;
    case ExprKind::cast:
      return e.data_type;
    case ExprKind::integer:
      return ir::DataType::int64;
    case ExprKind::select:
    case ExprKind::sum:
    case ExprKind::maximum:
      return type_of(*e.arguments[0], node);
    case ExprKind::apply:
      switch (e.function) {
        case Function::logical_and:
        case Function::logical_or:
        case Function::logical_xor:
        case Function::logical_not:
        case Function::less:
        case Function::equal:
        case Function::is_nan:
          return ir::DataType::boolean;
        case Function::choose:
          return type_of(*e.arguments[1], node);
        default:
          return type_of(*e.arguments[0], node);
      }
    case ExprKind::literal:
      break;
  }
  return ir::DataType::undefined;
}

Expression Composer::convert_cast(const ExprNode& e, Scope node) {
  Expression argument = convert(e.arguments[0], node);
  if (keeps_values(type_of(*e.arguments[0], node), e.data_type)) return argument;
  if (e.data_type == ir::DataType::boolean) {
    return algebra_.apply(Function::logical_not, {algebra_.apply(Function::equal, {std::move(argument), {}})});
  }
  return algebra_.convert(e.data_type, std::move(argument));
}

std::vector<Piece> Composer::pieces(const ops::Expr& e, Scope node) {
  if (is_infinite(e, false)) return {};
  if (e->kind == ExprKind::maximum) {
    std::vector<Piece> result = pieces(e->arguments[0], node);
    const Poly extent = resolve(e->extent, node);
    for (Piece& p : result) {
      p.binders.insert(p.binders.begin(), e->binder);
      const Condition range = {{Poly(e->binder), Relation::at_least_zero}, ops::less_than(Poly(e->binder), extent)};
      p.conditions.insert(p.conditions.begin(), range.begin(), range.end());
    }
    return result;
  }
  if (e->kind == ExprKind::select) {
    const Condition condition = convert(e->condition, node);
    std::vector<Piece> result = pieces(e->arguments[0], node);
    for (Piece& p : result) p.conditions.insert(p.conditions.begin(), condition.begin(), condition.end());
    const std::vector<Piece> otherwise = pieces(e->arguments[1], node);
    for (const Condition& c : complement(condition)) {
      for (const Piece& q : otherwise) {
        Piece p = refresh(algebra_.symbols(), q);
        p.conditions.insert(p.conditions.begin(), c.begin(), c.end());
        result.push_back(std::move(p));
      }
    }
    return result;
  }
  if (e->kind == ExprKind::apply && e->function == Function::maximum) {
    std::vector<Piece> result = pieces(e->arguments[0], node);
    std::vector<Piece> more = pieces(e->arguments[1], node);
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }
  if (e->kind == ExprKind::read) {
    const ir::ValueId operand = node.operands[static_cast<std::size_t>(e->operand)];
    if (arena_.node(operand).kind == ir::NodeKind::operation) {
      const GenericPieces& g = generic_pieces(operand);
      ir::Symbols::Substitution by;
      for (std::size_t k = 0; k < e->indices.size(); ++k) by.emplace(g.index[k], resolve(e->indices[k], node));
      std::vector<Piece> result;
      for (const Piece& p : g.pieces) result.push_back(refresh(algebra_.symbols(), p, by));
      return result;
    }
  }
  Piece whole;
  whole.body = convert(e, node);
  return {std::move(whole)};
}

}  // namespace xflow::verifier
