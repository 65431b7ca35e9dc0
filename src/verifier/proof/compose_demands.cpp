// Demands of the elements of a graph to have values: operations that are undefined for some operands, with
// the conditions under which an element is computed from them.
#include <algorithm>

#include "src/ops/operator.h"
#include "src/verifier/algebra/conversions.h"
#include "src/verifier/faults.h"
#include "src/verifier/proof/compose.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ops::ExprKind;
using ops::ExprNode;

namespace {

constexpr std::size_t kMostDemands = 512;

bool is_nonzero_literal(const ExprNode& e) {
  const auto value = e.kind == ExprKind::literal && !e.literal.is_variable() ? e.literal.rational() : std::nullopt;
  return value && !(*value == Rational(0));
}

bool is_negative_infinity(const ExprNode& e) {
  return e.kind == ExprKind::literal && !e.literal.is_variable() && e.literal == ir::negative_infinity();
}

// True for a division if its operands are integers.
bool is_integer_division(const ExprNode& e) {
  return e.kind == ExprKind::apply &&
         (e.function == Function::integer_divide || e.function == Function::modulo || e.function == Function::remainder);
}

std::vector<Poly> polynomials_of(const std::vector<SymbolId>& symbols) { return {symbols.begin(), symbols.end()}; }

}  // namespace

// The demand of a power depends on its exponent; none if the exponent is a natural number.
std::string_view Composer::demand_of_power(const Expression& exponent) {
  const auto c = constant_value(exponent);
  if (!c || broken(Fault::demands_powers_are_open)) return "power";
  const bool is_negative = c->numerator() < 0;
  if (c->denominator() == 1) return is_negative ? "nonzero" : "";
  return is_negative ? "positive" : "nonnegative";
}

// The predicate of the operation's own demand, and the index of the argument that it applies to. An empty
// name: no demand.
std::pair<std::string_view, std::size_t> Composer::demand_of(const ExprNode& e, Scope node) const {
  switch (e.function) {
    case Function::reciprocal:
      return {is_nonzero_literal(*e.arguments[0]) ? "" : "nonzero", 0};
    case Function::divide:
      return {is_nonzero_literal(*e.arguments[1]) ? "" : "nonzero", 1};
    case Function::modulo:
    case Function::remainder:
      if (ir::is_integer(element_type(arena_, node, e))) return {"", 0};
      return {is_nonzero_literal(*e.arguments[1]) ? "" : "nonzero", 1};
    case Function::log:
      return {broken(Fault::demands_logarithms_have_values) ? "" : "positive", 0};
    case Function::sqrt:
      return {broken(Fault::demands_roots_have_values) ? "" : "nonnegative", 0};
    case Function::power:
      return {"power", 0};
    default:
      return {"", 0};
  }
}

// The elements of integer operands on which the indices, sizes and conditions of an expression depend. The
// indices do not mention an index of a dimension of size 1.
std::vector<SymbolId> Composer::elements_in(const ExprNode& e) const {
  std::vector<SymbolId> result;
  const ir::Symbols& symbols = algebra_.symbols();
  if (!symbols.has_elements()) return result;
  const auto add = [&](const Poly& p) {
    for (const SymbolId s : symbols.all_symbols(p)) {
      const ir::SymbolInfo& info = symbols.info(s);
      if (info.kind != SymbolKind::element || is_tensor_number(info.tensor)) continue;
      if (std::find(result.begin(), result.end(), s) == result.end()) result.push_back(s);
    }
  };
  std::for_each(e.indices.begin(), e.indices.end(), add);
  for (const ops::WrappedIndex& w : e.wrapped)
    if (!broken(Fault::demands_single_indices_have_values)) add(algebra_.symbols().element(static_cast<std::uint32_t>(w.operand), w.at));
  for (const Atom& a : e.condition) add(a.poly);
  add(e.integer);
  add(e.extent);
  return result;
}

bool Composer::has_demands(const ops::Expr& e, Scope node) {
  const auto is_of_demanding = [&](SymbolId s) { return has_demands(node.operands[algebra_.symbols().info(s).tensor]); };
  const std::vector<SymbolId> elements = elements_in(*e);
  if (std::any_of(elements.begin(), elements.end(), is_of_demanding)) return true;
  switch (e->kind) {
    case ExprKind::literal:
    case ExprKind::integer:
      return false;
    case ExprKind::read:
      return has_demands(node.operands[static_cast<std::size_t>(e->operand)]);
    case ExprKind::cast: {
      const bool truncates = ir::is_integer(e->data_type) && ir::is_floating(element_type(arena_, node, *e->arguments[0]));
      if (truncates && !broken(Fault::demands_conversions_have_values)) return true;
      break;
    }
    case ExprKind::apply:
      if (!demand_of(*e, node).first.empty()) return true;
      break;
    case ExprKind::maximum:
      if (may_be_of_nothing(e, node)) return true;
      break;
    case ExprKind::sum:
    case ExprKind::select:
      break;
  }
  return std::any_of(e->arguments.begin(), e->arguments.end(), [&](const ops::Expr& a) { return has_demands(a, node); });
}

bool Composer::has_demands(ir::ValueId value) {
  const ir::Node& node = arena_.node(value);
  if (node.kind != ir::NodeKind::operation) return false;
  if (const auto found = has_demands_.find(value); found != has_demands_.end()) return found->second;
  const bool result = has_demands(semantics(value, polynomials_of(fresh_index(arena_.type(value).rank()))), node);
  has_demands_.emplace(value, result);
  return result;
}

std::vector<Piece> Composer::demands(ir::ValueId value, const std::vector<Poly>& index) {
  if (!has_demands(value)) return {};
  auto found = generic_demands_.find(value);
  if (found == generic_demands_.end()) {
    GenericPieces g{fresh_index(arena_.type(value).rank()), {}};
    collect(semantics(value, polynomials_of(g.index)), arena_.node(value), {}, g.pieces);
    found = generic_demands_.emplace(value, std::move(g)).first;
  }
  ir::Symbols::Substitution by;
  for (std::size_t k = 0; k < index.size(); ++k) by.emplace(found->second.index[k], index[k]);
  std::vector<Piece> result;
  result.reserve(found->second.pieces.size());
  for (const Piece& p : found->second.pieces) result.push_back(refresh(algebra_.symbols(), p, by));
  return result;
}

Composer::Where Composer::under(const Where& where, const Condition& condition) const {
  Where result = where;
  if (!broken(Fault::demands_without_conditions)) result.conditions = joined(where.conditions, condition);
  return result;
}

Composer::Where Composer::within(const Where& where, const ExprNode& e, Scope node) {
  Where result = where;
  result.binders.push_back(e.binder);
  result.conditions.push_back({Poly(e.binder), Relation::at_least_zero});
  result.conditions.push_back(ops::less_than(Poly(e.binder), resolve(e.extent, node)));
  return result;
}

void Composer::demand(std::string name, std::vector<Expression> arguments, const Where& where, std::vector<Piece>& into) const {
  if (into.size() >= kMostDemands) throw Stop{true, "an element depends on too many divisions, roots and logarithms"};
  arguments.insert(arguments.end(), where.guards.begin(), where.guards.end());
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::predicate;
  f->name = std::move(name);
  f->arguments = std::move(arguments);
  into.push_back({where.binders, where.conditions, algebra_.factor(std::move(f))});
}

// Adds the demands of an element of an operand.
void Composer::collect_read(ir::ValueId operand, const std::vector<Poly>& indices, Scope node, const Where& where,
                            std::vector<Piece>& into) {
  if (!has_demands(operand)) return;
  for (const Case& c : cases(indices, node)) {
    const Where here = under(where, c.condition);
    for (const Piece& p : demands(operand, c.values)) {
      const Factor& predicate = *p.body.terms[0].factors[0].factor;
      Where inner = under(here, p.conditions);
      inner.binders.insert(inner.binders.end(), p.binders.begin(), p.binders.end());
      demand(predicate.name, predicate.arguments, inner, into);
    }
  }
}

// A maximum demands that the number of its values is not 0.
void Composer::collect_maximum(const ops::Expr& e, Scope node, const Where& where, std::vector<Piece>& into) {
  if (may_be_of_nothing(e, node)) {
    Expression count;
    count_numbers(e, node, {}, count);
    demand("nonzero", {std::move(count)}, where, into);
  }
  Where inside = where;
  ops::Expr body = e;
  for (; body->kind == ExprKind::maximum; body = body->arguments[0]) inside = within(inside, *body, node);
  collect(body, node, inside, into);
}

bool Composer::may_be_of_nothing(const ops::Expr& e, Scope node) {
  if (broken(Fault::demands_maxima_have_values)) return false;
  const auto may_be = [&](const ops::Expr& a) { return may_be_of_nothing(a, node); };
  switch (e->kind) {
    case ExprKind::literal:
      return is_negative_infinity(*e);
    case ExprKind::read:
      return may_be_of_nothing(node.operands[static_cast<std::size_t>(e->operand)]);
    case ExprKind::maximum:
    case ExprKind::select:
      return std::any_of(e->arguments.begin(), e->arguments.end(), may_be);
    case ExprKind::apply:
      return e->function == Function::maximum && std::all_of(e->arguments.begin(), e->arguments.end(), may_be);
    case ExprKind::integer:
    case ExprKind::sum:
    case ExprKind::cast:
      break;
  }
  return false;
}

bool Composer::may_be_of_nothing(ir::ValueId value) {
  const ir::Node& node = arena_.node(value);
  if (node.kind != ir::NodeKind::operation) return false;
  if (const auto found = may_be_of_nothing_.find(value); found != may_be_of_nothing_.end()) return found->second;
  const bool result = may_be_of_nothing(semantics(value, polynomials_of(fresh_index(arena_.type(value).rank()))), node);
  may_be_of_nothing_.emplace(value, result);
  return result;
}

void Composer::count_numbers(const ops::Expr& e, Scope node, const Where& where, Expression& count) {
  const bool is_number = !may_be_of_nothing(e, node);
  if (!is_number && e->kind == ExprKind::read) {
    const ir::ValueId operand = node.operands[static_cast<std::size_t>(e->operand)];
    for (const Case& c : cases(e->indices, node))
      count_numbers(semantics(operand, c.values), arena_.node(operand), under(where, c.condition), count);
    return;
  }
  if (e->kind == ExprKind::maximum) return count_numbers(e->arguments[0], node, within(where, *e, node), count);
  if (!is_number && e->kind == ExprKind::select) {
    for (const Case& c : condition_cases(e->condition, node)) {
      const Condition holds = with_values(e->condition, c.values);
      count_numbers(e->arguments[0], node, under(where, joined(c.condition, holds)), count);
      for (const Condition& fails : complement(holds))
        count_numbers(e->arguments[1], node, under(where, joined(c.condition, fails)), count);
    }
    return;
  }
  if (!is_number) {
    for (const ops::Expr& a : e->arguments) count_numbers(a, node, where, count);
    return;
  }
  for (NormalTerm t : algebra_.constant(Rational(1)).terms) {
    t.binders.insert(t.binders.end(), where.binders.begin(), where.binders.end());
    t.conditions = joined(t.conditions, where.conditions);
    count.terms.push_back(std::move(t));
  }
}

void Composer::collect(const ops::Expr& e, Scope node, const Where& where, std::vector<Piece>& into) {
  if (!has_demands(e, node)) return;
  for (const SymbolId s : elements_in(*e)) {
    const ir::SymbolInfo info = algebra_.symbols().info(s);
    collect_read(node.operands[info.tensor], info.arguments, node, where, into);
  }
  switch (e->kind) {
    case ExprKind::literal:
    case ExprKind::integer:
      return;
    case ExprKind::read:
      return collect_read(node.operands[static_cast<std::size_t>(e->operand)], e->indices, node, where, into);
    case ExprKind::sum:
      return collect(e->arguments[0], node, within(where, *e, node), into);
    case ExprKind::maximum:
      return collect_maximum(e, node, where, into);
    case ExprKind::select:
      for (const Case& c : condition_cases(e->condition, node)) {
        const Condition holds = with_values(e->condition, c.values);
        collect(e->arguments[0], node, under(where, joined(c.condition, holds)), into);
        for (const Condition& fails : complement(holds)) collect(e->arguments[1], node, under(where, joined(c.condition, fails)), into);
      }
      return;
    case ExprKind::cast:
      collect(e->arguments[0], node, where, into);
      if (ir::is_integer(e->data_type) && ir::is_floating(element_type(arena_, node, *e->arguments[0])))
        demand("fits " + std::string(ir::name(e->data_type)), {convert(e->arguments[0], node)}, where, into);
      return;
    case ExprKind::apply:
      break;
  }
  if (e->function == Function::choose && !broken(Fault::demands_without_guards)) {
    // The branch that is not chosen need not have a value.
    collect(e->arguments[0], node, where, into);
    const Expression fails = algebra_.apply(Function::logical_not, {convert(e->arguments[0], node)});
    Where then = where;
    then.guards.push_back(algebra_.apply(Function::logical_not, {fails}));
    collect(e->arguments[1], node, then, into);
    Where otherwise = where;
    otherwise.guards.push_back(fails);
    collect(e->arguments[2], node, otherwise, into);
    return;
  }
  for (const ops::Expr& a : e->arguments) collect(a, node, where, into);
  auto [name, argument] = demand_of(*e, node);
  std::optional<Expression> exponent;
  if (name == "power") {
    exponent = convert(e->arguments[1], node);
    name = demand_of_power(*exponent);
  }
  if (name.empty()) return;
  std::vector<Expression> arguments = {convert(e->arguments[argument], node)};
  if (name == "power") arguments.push_back(*std::move(exponent));
  demand(std::string(name), std::move(arguments), where, into);
}

// Whole nodes. ---------------------------------------------------------------------------------------------------------------------

std::vector<Piece> Composer::demands_of_nodes(const ir::Graph& graph, const ir::Graph& source, const Known& known) {
  run_.clear();
  valueless_.clear();
  for (const ir::NodeId id : ir::topological_order(arena_, source)) {
    const ir::Node& node = arena_.node(id);
    run_.insert(&node);
    for (std::uint32_t output = 0; output < node.outputs.size() && node.kind == ir::NodeKind::operation; ++output)
      note_valueless(semantics({id, output}, polynomials_of(fresh_index(node.outputs[output].rank()))), node);
  }
  std::vector<Piece> result;
  for (const ir::NodeId id : ir::topological_order(arena_, graph)) {
    const ir::Node& node = arena_.node(id);
    if (node.kind != ir::NodeKind::operation) continue;
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      Where where;
      where.binders = fresh_index(node.outputs[output].rank());
      for (std::size_t k = 0; k < where.binders.size(); ++k) {
        const Poly size =
            solved_.empty() ? node.outputs[output].shape[k] : algebra_.symbols().substitute(node.outputs[output].shape[k], solved_);
        where.conditions.push_back({Poly(where.binders[k]), Relation::at_least_zero});
        where.conditions.push_back(ops::less_than(Poly(where.binders[k]), size));
      }
      collect_of_node(semantics({id, output}, polynomials_of(where.binders)), node, where, known, result);
    }
  }
  return result;
}

// The divisor if the operation is an integer division by an element of an operand.
std::optional<Composer::Stopping> Composer::divisor_of(const ExprNode& e, Scope node) {
  const ExprNode& divisor = *e.arguments[1];
  const auto is_whole = [](const Poly& p) { return p.as_symbol() || p.is_zero(); };
  if (divisor.kind != ExprKind::read || !std::all_of(divisor.indices.begin(), divisor.indices.end(), is_whole)) return std::nullopt;
  return Stopping{node.operands[static_cast<std::size_t>(divisor.operand)], std::nullopt};
}

void Composer::note_valueless(const ops::Expr& e, Scope node) {
  for (const ops::WrappedIndex& w : e->wrapped) {
    const ir::ValueId tensor = node.operands[static_cast<std::size_t>(w.operand)];
    const bool is_whole = std::all_of(w.at.begin(), w.at.end(), [](const Poly& p) { return p.as_symbol().has_value(); });
    if (is_whole && has_demands(tensor)) valueless_.emplace_back(tensor, w.size);
  }
  if (is_integer_division(*e)) {
    const auto divisor = divisor_of(*e, node);
    if (divisor && has_demands(divisor->first)) valueless_.push_back(*divisor);
  }
  for (const ops::Expr& a : e->arguments) note_valueless(a, node);
}

// True if what stops this node stops the source.
bool Composer::stops_alike(const std::optional<Stopping>& operand, Scope node) const {
  if (broken(Fault::source_facts_of_what_has_no_value)) return false;
  return run_.contains(&node) || (operand && std::find(valueless_.begin(), valueless_.end(), *operand) != valueless_.end());
}

void Composer::collect_of_node(const ops::Expr& e, Scope node, const Where& where, const Known& known, std::vector<Piece>& into) {
  switch (e->kind) {
    case ExprKind::literal:
    case ExprKind::integer:
      return;
    case ExprKind::read:
      return collect_indices(*e, node, where, known, into);
    case ExprKind::sum:
    case ExprKind::maximum:
      return collect_of_node(e->arguments[0], node, within(where, *e, node), known, into);
    case ExprKind::select:
      for (const Case& c : condition_cases(e->condition, node)) {
        const Condition holds = with_values(e->condition, c.values);
        collect_of_node(e->arguments[0], node, under(where, joined(c.condition, holds)), known, into);
        for (const Condition& fails : complement(holds))
          collect_of_node(e->arguments[1], node, under(where, joined(c.condition, fails)), known, into);
      }
      return;
    case ExprKind::cast:
    case ExprKind::apply:
      break;
  }
  for (const ops::Expr& a : e->arguments) collect_of_node(a, node, where, known, into);
  if (!is_integer_division(*e) || is_nonzero_literal(*e->arguments[1]) || !ir::is_integer(element_type(arena_, node, *e))) return;
  if (has_demands(e->arguments[1], node) && stops_alike(divisor_of(*e, node), node)) return;
  if (!broken(Fault::demands_integers_divide_by_anything)) demand("divisor", {convert(e->arguments[1], node)}, where, into);
}

// For each element e of an integer tensor that is an index of a dimension d, demands -d <= e < d.
void Composer::collect_indices(const ExprNode& e, Scope node, const Where& where, const Known& known, std::vector<Piece>& into) {
  if (broken(Fault::demands_indices_are_in_range)) return;
  for (const ops::WrappedIndex& w : e.wrapped) {
    const ir::ValueId tensor = node.operands[static_cast<std::size_t>(w.operand)];
    const Poly size = solved_.empty() ? w.size : algebra_.symbols().substitute(w.size, solved_);
    if (size.is_one() && broken(Fault::demands_single_indices_are_in_range)) continue;
    const bool has_value = !has_demands(tensor);
    if (!has_value && stops_alike(Stopping{tensor, w.size}, node)) continue;
    for (const Case& c : cases(w.at, node)) {
      const Where here = under(where, c.condition);
      if (!has_value && !broken(Fault::demands_indices_have_values)) {
        demand("has_value", {element(tensor, c.values)}, here, into);
        continue;
      }
      const auto values = element_cases(tensor, c.values);
      const auto is_known = [&](const Case& v) {
        const Condition condition = joined(here.conditions, v.condition);
        return known(condition, {v.values[0] + size, Relation::at_least_zero}) && known(condition, ops::less_than(v.values[0], size));
      };
      if (values && known && std::all_of(values->begin(), values->end(), is_known)) continue;
      demand("in_range", {element(tensor, c.values), algebra_.integer(size)}, here, into);
    }
  }
}

}  // namespace xflow::verifier
