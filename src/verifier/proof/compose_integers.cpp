// Integer tensors that the graph computes and uses as indices: each element is an index polynomial, case by
// case.
#include <algorithm>

#include "src/verifier/algebra/conversions.h"
#include "src/verifier/faults.h"
#include "src/verifier/proof/compose.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ir::Symbols;
using ops::ExprKind;
using ops::ExprNode;

namespace {

constexpr std::size_t kCases = 16;
constexpr int kIntegerDepth = 8;

}  // namespace

std::vector<Condition> complement(const Condition& condition) {
  std::vector<Condition> result;
  for (std::size_t k = 0; k < condition.size(); ++k) {
    Condition c(condition.begin(), condition.begin() + static_cast<std::ptrdiff_t>(k));
    if (broken(Fault::compose_complement_overlaps)) c.clear();
    switch (condition[k].relation) {
      case Relation::at_least_zero:
        c.push_back({Poly(broken(Fault::compose_complement_off_by_one) ? 0 : -1) - condition[k].poly, Relation::at_least_zero});
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

std::vector<Composer::Case> Composer::cases(const std::vector<Poly>& polys, Scope node) {
  Symbols& symbols = algebra_.symbols();
  std::vector<SymbolId> elements;
  for (std::size_t k = 0; k < polys.size() && symbols.has_elements(); ++k) {
    const Poly& p = polys[k];
    for (const SymbolId s : symbols.all_symbols(p)) {
      if (symbols.info(s).kind != SymbolKind::element || is_tensor_number(symbols.info(s).tensor)) continue;
      if (std::find(elements.begin(), elements.end(), s) == elements.end()) elements.push_back(s);
    }
  }
  // The cases of each element, and all combinations.
  struct Choice {
    Condition condition;
    Symbols::Substitution by;
  };
  std::vector<Choice> choices(1);
  for (const SymbolId s : elements) {
    const ir::SymbolInfo info = symbols.info(s);
    const ir::ValueId tensor = node.operands[info.tensor];
    std::vector<Choice> next;
    for (const Case& at : cases(info.arguments, node)) {
      auto values = element_cases(tensor, at.values);
      if (!values || values->size() * choices.size() > kCases) {
        values = std::vector<Case>{{{}, {symbols.element(tensor_number(tensor), at.values)}}};
      }
      for (const Choice& c : choices) {
        for (const Case& value : *values) {
          Choice more = c;
          if (!broken(Fault::compose_cases_without_conditions))
            more.condition = joined(joined(more.condition, at.condition), value.condition);
          more.by.emplace(s, value.values[0]);
          next.push_back(std::move(more));
        }
      }
    }
    choices = std::move(next);
  }
  std::vector<Case> result;
  for (const Choice& c : choices) {
    Case one{c.condition, {}};
    for (const Poly& p : polys) {
      Poly value = c.by.empty() ? p : symbols.substitute(p, c.by);
      if (!unrolled_.empty()) value = symbols.substitute(value, unrolled_);
      if (!solved_.empty() && !broken(Fault::compose_solved_symbols_stay)) value = symbols.substitute(value, solved_);
      if (value.is_poisoned()) throw Stop{false, "cannot compute an index: it does not fit 64 bits"};
      one.values.push_back(std::move(value));
    }
    result.push_back(std::move(one));
  }
  return result;
}

std::optional<std::vector<Composer::Case>> Composer::element_cases(ir::ValueId value, const std::vector<Poly>& index) {
  const ir::Node& node = arena_.node(value);
  if (node.kind == ir::NodeKind::input) return std::vector<Case>{{{}, {algebra_.symbols().element(tensor_number(value), index)}}};
  if (node.kind != ir::NodeKind::operation || depth_ > kIntegerDepth) return std::nullopt;
  ++depth_;
  auto found = integer_cases(semantics(value, index), node);
  --depth_;
  const auto overflows = [](const Case& c) { return c.values[0].is_poisoned(); };
  if (found && std::any_of(found->begin(), found->end(), overflows)) return std::nullopt;
  return found;
}

std::optional<std::vector<Composer::Case>> Composer::integer_cases(const ops::Expr& e, Scope node) {
  switch (e->kind) {
    case ExprKind::literal: {
      const auto value = e->literal.is_variable() ? std::nullopt : e->literal.rational();
      if (!value || value->denominator() != 1) return std::nullopt;
      return std::vector<Case>{{{}, {Poly(value->numerator())}}};
    }
    case ExprKind::integer:
      return cases({e->integer}, node);
    case ExprKind::read: {
      const ir::ValueId operand = node.operands[static_cast<std::size_t>(e->operand)];
      if (!ir::is_integer(arena_.type(operand).data_type)) return std::nullopt;
      std::vector<Case> result;
      for (const Case& at : cases(e->indices, node)) {
        const auto values = element_cases(operand, at.values);
        if (!values || result.size() + values->size() > kCases) return std::nullopt;
        for (const Case& v : *values) result.push_back({joined(at.condition, v.condition), v.values});
      }
      return result;
    }
    case ExprKind::select: {
      const auto then = integer_cases(e->arguments[0], node);
      const auto otherwise = then ? integer_cases(e->arguments[1], node) : std::nullopt;
      if (!otherwise) return std::nullopt;
      std::vector<Case> result;
      for (const Case& c : condition_cases(e->condition, node)) {
        const Condition holds = with_values(e->condition, c.values);
        for (const Case& v : *then) result.push_back({joined(joined(c.condition, holds), v.condition), v.values});
        for (const Condition& fails : complement(holds))
          for (const Case& v : *otherwise) result.push_back({joined(joined(c.condition, fails), v.condition), v.values});
      }
      return result.size() > kCases ? std::nullopt : std::optional(result);
    }
    case ExprKind::cast:
      if (!ir::is_integer(e->data_type) || !ir::is_integer(element_type(arena_, node, *e->arguments[0]))) return std::nullopt;
      if (!keeps_values(element_type(arena_, node, *e->arguments[0]), e->data_type) && !broken(Fault::compose_narrow_indices_are_kept))
        return std::nullopt;
      return integer_cases(e->arguments[0], node);
    case ExprKind::apply:
      break;
    case ExprKind::sum:
    case ExprKind::maximum:
      return std::nullopt;
  }
  return applied_cases(*e, node);
}

std::optional<std::vector<Composer::Case>> Composer::applied_cases(const ExprNode& e, Scope node) {
  // Combines the cases of two expressions with f.
  const auto combined = [&](const ops::Expr& x, const ops::Expr& y, const auto& f) -> std::optional<std::vector<Case>> {
    const auto a = integer_cases(x, node);
    const auto b = a ? integer_cases(y, node) : std::nullopt;
    if (!b || a->size() * b->size() > kCases) return std::nullopt;
    std::vector<Case> result;
    for (const Case& p : *a) {
      for (const Case& q : *b) {
        const std::optional<Poly> value = f(p.values[0], q.values[0]);
        if (!value || value->is_poisoned()) return std::nullopt;
        result.push_back({joined(p.condition, q.condition), {*value}});
      }
    }
    return result;
  };
  Symbols& symbols = algebra_.symbols();
  const auto& a = e.arguments;
  using P = const Poly&;
  switch (e.function) {
    case Function::negate:
      return combined(a[0], a[0], [](P x, P) { return std::optional(-x); });
    case Function::add:
      return combined(a[0], a[1], [](P x, P y) { return std::optional(x + y); });
    case Function::subtract:
      return combined(a[0], a[1], [](P x, P y) { return std::optional(broken(Fault::compose_integers_subtract_adds) ? x + y : x - y); });
    case Function::multiply:
      return combined(a[0], a[1], [](P x, P y) { return std::optional(x * y); });
    case Function::modulo:
      return combined(a[0], a[1],
                      [&](P x, P y) { return symbols.lower_bound(y).value_or(0) >= 1 ? std::optional(symbols.mod(x, y)) : std::nullopt; });
    case Function::minimum:
    case Function::maximum:
      return extreme_cases(e, node);
    case Function::choose:
      return chosen_cases(e, node);
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<Composer::Case>> Composer::extreme_cases(const ExprNode& e, Scope node) {
  const auto a = integer_cases(e.arguments[0], node);
  const auto b = a ? integer_cases(e.arguments[1], node) : std::nullopt;
  if (!b || 2 * a->size() * b->size() > kCases) return std::nullopt;
  const bool largest = (e.function == Function::maximum) != broken(Fault::compose_larger_index_is_smaller);
  std::vector<Case> result;
  for (const Case& x : *a) {
    for (const Case& y : *b) {
      const Condition both = joined(x.condition, y.condition);
      const Poly d = x.values[0] - y.values[0];
      if (d.is_poisoned()) return std::nullopt;
      // Where both are equal, the first one.
      const Condition first = {{largest ? d : -d, Relation::at_least_zero}};
      result.push_back({joined(both, first), x.values});
      for (const Condition& fails : complement(first)) result.push_back({joined(both, fails), y.values});
    }
  }
  return result;
}

std::optional<std::vector<Composer::Truth>> Composer::truth_cases(const ops::Expr& e, Scope node) {
  std::vector<Truth> result;
  if (e->kind == ExprKind::read) {
    const ir::ValueId operand = node.operands[static_cast<std::size_t>(e->operand)];
    const ir::Node& made = arena_.node(operand);
    if (made.kind != ir::NodeKind::operation || depth_ > kIntegerDepth) return std::nullopt;
    for (const Case& at : cases(e->indices, node)) {
      ++depth_;
      const auto truths = truth_cases(semantics(operand, at.values), made);
      --depth_;
      if (!truths || result.size() + truths->size() > kCases) return std::nullopt;
      for (const Truth& t : *truths) result.push_back({joined(at.condition, t.condition), t.holds});
    }
    return result;
  }
  if (e->kind != ExprKind::apply || (e->function != Function::less && e->function != Function::equal)) return std::nullopt;
  const auto a = integer_cases(e->arguments[0], node);
  const auto b = a ? integer_cases(e->arguments[1], node) : std::nullopt;
  if (!b || 3 * a->size() * b->size() > kCases) return std::nullopt;
  for (const Case& x : *a) {
    for (const Case& y : *b) {
      const Condition both = joined(x.condition, y.condition);
      const Poly d = y.values[0] - x.values[0];
      if (d.is_poisoned()) return std::nullopt;
      const Condition holds = {e->function == Function::less ? Atom{d - Poly(1), Relation::at_least_zero} : Atom{d, Relation::zero}};
      result.push_back({joined(both, holds), true});
      for (const Condition& fails : complement(holds)) result.push_back({joined(both, fails), false});
    }
  }
  return result;
}

std::optional<std::vector<Composer::Case>> Composer::chosen_cases(const ExprNode& e, Scope node) {
  const auto truths = truth_cases(e.arguments[0], node);
  const auto then = truths ? integer_cases(e.arguments[1], node) : std::nullopt;
  const auto otherwise = then ? integer_cases(e.arguments[2], node) : std::nullopt;
  if (!otherwise) return std::nullopt;
  std::vector<Case> result;
  for (const Truth& t : *truths)
    for (const Case& v : t.holds != broken(Fault::compose_chosen_index_is_the_other) ? *then : *otherwise)
      result.push_back({joined(t.condition, v.condition), v.values});
  return result.size() > kCases ? std::nullopt : std::optional(std::move(result));
}

std::vector<Composer::Case> Composer::condition_cases(const Condition& condition, Scope node) {
  std::vector<Poly> polys;
  for (const Atom& a : condition) polys.push_back(a.poly);
  return cases(polys, node);
}

Condition with_values(const Condition& condition, const std::vector<Poly>& values) {
  Condition result;
  for (std::size_t k = 0; k < condition.size(); ++k) result.push_back({values[k], condition[k].relation});
  return result;
}

std::optional<Expression> Composer::compared(const ExprNode& e, Scope node) {
  const auto is_integer = [&](const ops::Expr& x) {
    return x->kind == ExprKind::literal || ir::is_integer(element_type(arena_, node, *x));
  };
  if (!is_integer(e.arguments[0]) || !is_integer(e.arguments[1])) return std::nullopt;
  const auto a = integer_cases(e.arguments[0], node);
  const auto b = a ? integer_cases(e.arguments[1], node) : std::nullopt;
  if (!b) return std::nullopt;
  // If both sides mention only elements of variables, conditions gain nothing. An index that is compared
  // with a size chooses what is read.
  const auto mentions = [&](const std::vector<Case>& list, SymbolKind kind) {
    return std::any_of(list.begin(), list.end(), [&](const Case& c) {
      const auto symbols = c.values[0].symbols();
      return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return algebra_.symbols().info(s).kind == kind; });
    });
  };
  const auto either = [&](SymbolKind kind) { return mentions(*a, kind) || mentions(*b, kind); };
  const bool compares_with_size = either(SymbolKind::element) && either(SymbolKind::dimension);
  if (!either(SymbolKind::index) && !compares_with_size) return std::nullopt;
  Expression result;
  for (const Case& x : *a) {
    for (const Case& y : *b) {
      NormalTerm t;
      t.conditions = joined(x.condition, y.condition);
      const Poly d = y.values[0] - x.values[0];
      t.conditions.push_back(e.function == Function::less
                                 ? Atom{d - Poly(broken(Fault::compose_less_is_at_most) ? 0 : 1), Relation::at_least_zero}
                                 : Atom{d, Relation::zero});
      result.terms.push_back(std::move(t));
    }
  }
  return result;
}

}  // namespace xflow::verifier
