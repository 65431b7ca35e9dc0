#include "src/verifier/proof/compose.h"

#include <algorithm>
#include <cmath>

#include "src/ops/operator.h"
#include "src/verifier/algebra/conversions.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ops::ExprKind;
using ops::ExprNode;

namespace {

constexpr std::uint32_t kFirstTensor = 1U << 20U;
constexpr std::uint32_t kOutputs = 256;
constexpr std::int64_t kMostUnrolled = 16;  // terms of a sum
constexpr int kMostUnrolledTerms = 64;      // of all sums

bool is_infinite(const ops::Expr& e, bool positive) {
  if (e->kind != ExprKind::literal || e->literal.is_variable()) return false;
  const double value = e->literal.to_double();
  return std::isinf(value) && (value > 0) == positive;
}

// The sum over the cases of [condition] f(case).
template <typename Cases, typename Function>
Expression in_cases(const Cases& cases, const Function& f) {
  Expression result;
  for (const auto& c : cases) {
    Expression value = f(c);
    for (NormalTerm& t : value.terms) {
      t.conditions.insert(t.conditions.begin(), c.condition.begin(), c.condition.end());
      result.terms.push_back(std::move(t));
    }
  }
  return result;
}

std::vector<Poly> polynomials(const std::vector<SymbolId>& symbols) { return {symbols.begin(), symbols.end()}; }

}  // namespace

std::uint32_t tensor_number(ir::ValueId value) { return kFirstTensor + static_cast<std::uint32_t>(value.node) * kOutputs + value.output; }

bool is_tensor_number(std::uint32_t number) { return number >= kFirstTensor; }

std::optional<ir::ValueId> tensor_of(std::uint32_t number) {
  if (!is_tensor_number(number)) return std::nullopt;
  const std::uint32_t n = number - kFirstTensor;
  return ir::ValueId{static_cast<ir::NodeId>(n / kOutputs), n % kOutputs};
}

Composer::Composer(Algebra& algebra, ir::Arena& arena, const ir::Symbols::Substitution& solved)
    : algebra_(algebra), arena_(arena), solved_(solved) {}

void Composer::set_branches(Branch branch) {
  branch_ = std::move(branch);
  read_.clear();
  read_as_pieces_.clear();
  generic_.clear();
  generic_pieces_.clear();
}

Expression Composer::element(ir::ValueId value, const std::vector<Poly>& index) {
  // Where a sum is written out, an index may be a number, and conditions on it are decided at once. Those on
  // the index of a generic element are not.
  if (arena_.node(value).kind != ir::NodeKind::operation || !unrolled_.empty() || read_.insert(value).second) return at(value, index);
  const Generic& g = generic(value);
  ir::Symbols::Substitution by;
  for (std::size_t k = 0; k < index.size(); ++k) by.emplace(g.index[k], index[k]);
  return refresh(algebra_.symbols(), g.expression, by);
}

Expression Composer::at(ir::ValueId value, const std::vector<Poly>& index) {
  const ir::Node& node = arena_.node(value);
  return node.kind == ir::NodeKind::operation ? convert(semantics(value, index), node) : leaf(value, index);
}

std::vector<Piece> Composer::element_pieces(ir::ValueId value, const std::vector<Poly>& index) {
  if (read_as_pieces_.insert(value).second) return pieces(semantics(value, index), arena_.node(value));
  const GenericPieces& g = generic_pieces(value);
  ir::Symbols::Substitution by;
  for (std::size_t k = 0; k < index.size(); ++k) by.emplace(g.index[k], index[k]);
  std::vector<Piece> result;
  result.reserve(g.pieces.size());
  for (const Piece& p : g.pieces) result.push_back(refresh(algebra_.symbols(), p, by));
  return result;
}

std::vector<SymbolId> Composer::fresh_index(std::size_t rank) {
  std::vector<SymbolId> result;
  result.reserve(rank);
  for (std::size_t k = 0; k < rank; ++k) result.push_back(algebra_.symbols().fresh(SymbolKind::index, "i"));
  return result;
}

const Composer::Generic& Composer::generic(ir::ValueId value) {
  if (const auto found = generic_.find(value); found != generic_.end()) return found->second;
  const std::vector<SymbolId> index = fresh_index(arena_.type(value).rank());
  Generic g{index, at(value, polynomials(index))};
  return generic_.emplace(value, std::move(g)).first->second;
}

const Composer::GenericPieces& Composer::generic_pieces(ir::ValueId value) {
  if (const auto found = generic_pieces_.find(value); found != generic_pieces_.end()) return found->second;
  const std::vector<SymbolId> index = fresh_index(arena_.type(value).rank());
  GenericPieces g{index, pieces(semantics(value, polynomials(index)), arena_.node(value))};
  return generic_pieces_.emplace(value, std::move(g)).first->second;
}

ops::Expr Composer::semantics(ir::ValueId value, const std::vector<Poly>& index) {
  const ir::Node& node = arena_.node(value);
  const std::vector<ir::TensorType> operands = ops::operand_types(arena_, node);
  const ops::Operation operation{operands, node.attributes, node.outputs};
  ops::Builder builder(algebra_.symbols());
  return ops::get(node.op).semantics(builder, operation, static_cast<int>(value.output), index);
}

// The element of a variable or constant.
Expression Composer::leaf(ir::ValueId value, const std::vector<Poly>& index) {
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
  f->integral = ir::is_integer(arena_.type(value).data_type);
  f->data_type = arena_.type(value).data_type;
  f->indices = index;
  return algebra_.factor(std::move(f));
}

Poly Composer::resolve(const Poly& p, Scope node) {
  std::vector<Case> all = cases({p}, node);
  if (all.size() != 1) throw Stop{false, "cannot compute a size that depends on which part of an integer tensor it is read from"};
  return std::move(all[0].values[0]);
}

Expression Composer::convert_literal(const ir::Real& value) {
  if (const auto r = value.rational(); r && !value.is_variable()) return algebra_.constant(*r);
  if (!value.is_variable() && !std::isfinite(value.to_double())) throw Stop{false, "cannot compute with an infinite number over the reals"};
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::real;
  f->name = value.to_string();
  return algebra_.factor(std::move(f));
}

Expression Composer::convert(const ops::Expr& e, Scope node) {
  switch (e->kind) {
    case ExprKind::literal:
      return convert_literal(e->literal);
    case ExprKind::integer:
      return in_cases(cases({e->integer}, node), [&](const Case& c) { return algebra_.integer(c.values[0]); });
    case ExprKind::read:
      return in_cases(cases(e->indices, node),
                      [&](const Case& c) { return element(node.operands[static_cast<std::size_t>(e->operand)], c.values); });
    case ExprKind::sum:
      return convert_sum(*e, node);
    case ExprKind::maximum:
      return algebra_.maximum(pieces(e, node));
    case ExprKind::select:
      return convert_select(*e, node);
    case ExprKind::apply:
      return convert_apply(*e, node);
    case ExprKind::cast:
      break;
  }
  return convert_cast(*e, node);
}

Expression Composer::convert_sum(const ExprNode& e, Scope node) {
  const Poly extent = resolve(e.extent, node);
  Expression body;
  try {
    body = convert(e.arguments[0], node);
  } catch (const ProductTooLarge&) {
    const auto count = extent.constant();
    if (!count || *count > kMostUnrolled) throw;
    return unrolled(e, *count, node);
  }
  const Poly end = broken(Fault::compose_sum_goes_further) ? extent + Poly(1) : extent;
  for (NormalTerm& t : body.terms) {
    t.binders.insert(t.binders.begin(), e.binder);
    const Condition range = {{Poly(e.binder), Relation::at_least_zero}, ops::less_than(Poly(e.binder), end)};
    t.conditions.insert(t.conditions.begin(), range.begin(), range.end());
  }
  return body;
}

Expression Composer::unrolled(const ExprNode& e, std::int64_t extent, Scope node) {
  // Also where a term throws, and an outer sum is written out after that.
  struct Binding {
    ir::Symbols::Substitution& bound;
    SymbolId binder;
    ~Binding() { bound.erase(binder); }
  };
  const Binding binding{unrolled_, e.binder};
  Expression result;
  for (std::int64_t k = broken(Fault::compose_unrolled_sum_begins_late) ? 1 : 0; k < extent; ++k) {
    if (++unrolled_terms_ > kMostUnrolledTerms) throw Stop{true, "products have too many terms"};
    unrolled_.insert_or_assign(e.binder, Poly(k));
    result = algebra_.sum(std::move(result), convert(e.arguments[0], node));
  }
  return result;
}

Expression Composer::convert_select(const ExprNode& e, Scope node) {
  const Expression then = convert(e.arguments[0], node);
  const Expression otherwise = convert(e.arguments[1], node);
  Expression result;
  const auto add = [&](const Expression& branch, const Condition& condition) {
    for (const NormalTerm& t : branch.terms) {
      NormalTerm copy = t;
      copy.conditions.insert(copy.conditions.begin(), condition.begin(), condition.end());
      result.terms.push_back(std::move(copy));
    }
  };
  for (const Case& c : condition_cases(e.condition, node)) {
    const Condition holds = with_values(e.condition, c.values);
    add(then, joined(c.condition, holds));
    if (broken(Fault::compose_otherwise_is_lost)) continue;
    for (const Condition& fails : complement(holds)) add(otherwise, joined(c.condition, fails));
  }
  return result;
}

std::vector<Piece> Composer::select_pieces(const ExprNode& e, Scope node) {
  const std::vector<Piece> then = pieces(e.arguments[0], node);
  const std::vector<Piece> otherwise = pieces(e.arguments[1], node);
  std::vector<Piece> result;
  const auto add = [&](const std::vector<Piece>& branch, const Condition& condition) {
    for (const Piece& p : branch) {
      Piece copy = result.empty() ? p : refresh(algebra_.symbols(), p);
      copy.conditions.insert(copy.conditions.begin(), condition.begin(), condition.end());
      result.push_back(std::move(copy));
    }
  };
  for (const Case& c : condition_cases(e.condition, node)) {
    const Condition holds = with_values(e.condition, c.values);
    add(then, joined(c.condition, holds));
    if (broken(Fault::compose_other_pieces_are_lost)) continue;
    for (const Condition& fails : complement(holds)) add(otherwise, joined(c.condition, fails));
  }
  return result;
}

Expression Composer::convert_apply(const ExprNode& e, Scope node) {
  if (e.function == Function::less || e.function == Function::equal) {
    if (auto condition = compared(e, node)) return *std::move(condition);
  }
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
  if (e.function == Function::choose && branch_) {
    const Expression fails = algebra_.apply(Function::logical_not, {arguments[0]});
    arguments[1] = branch_(arguments[1], algebra_.apply(Function::logical_not, {fails}));
    arguments[2] = branch_(arguments[2], fails);
  }
  return algebra_.apply(e.function, std::move(arguments));
}

Expression Composer::convert_cast(const ExprNode& e, Scope node) {
  Expression argument = convert(e.arguments[0], node);
  if (keeps_values(element_type(arena_, node, *e.arguments[0]), e.data_type)) return argument;
  if (e.data_type == ir::DataType::boolean && !broken(Fault::compose_cast_to_boolean_is_opaque)) {
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
      Condition range = {{Poly(e->binder), Relation::at_least_zero}, ops::less_than(Poly(e->binder), extent)};
      if (broken(Fault::compose_maximum_from_anywhere)) range.erase(range.begin());
      p.conditions.insert(p.conditions.begin(), range.begin(), range.end());
    }
    return result;
  }
  if (e->kind == ExprKind::select) return select_pieces(*e, node);
  if (e->kind == ExprKind::apply && e->function == Function::maximum) {
    std::vector<Piece> result = pieces(e->arguments[0], node);
    std::vector<Piece> more = pieces(e->arguments[1], node);
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }
  if (e->kind == ExprKind::read) {
    const ir::ValueId operand = node.operands[static_cast<std::size_t>(e->operand)];
    if (arena_.node(operand).kind == ir::NodeKind::operation) {
      std::vector<Piece> result;
      for (const Case& c : cases(e->indices, node)) {
        for (Piece& p : element_pieces(operand, c.values)) {
          p.conditions.insert(p.conditions.begin(), c.condition.begin(), c.condition.end());
          result.push_back(std::move(p));
        }
      }
      return result;
    }
  }
  Piece whole;
  whole.body = convert(e, node);
  return {std::move(whole)};
}

}  // namespace xflow::verifier
