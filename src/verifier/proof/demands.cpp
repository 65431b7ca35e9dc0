#include "src/verifier/proof/demands.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/ir/type.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

namespace {

constexpr std::size_t kMostChecked = 256;

Piece with_predicate(const Piece& demand, std::string name, std::vector<Expression> arguments) {
  auto f = std::make_shared<Factor>();
  f->kind = FactorKind::predicate;
  f->name = std::move(name);
  f->arguments = std::move(arguments);
  NormalTerm t;
  t.factors.push_back({std::move(f), 1});
  return {demand.binders, demand.conditions, Expression{{std::move(t)}}};
}

bool same_but_for_names(ir::Symbols& symbols, const Piece& a, const Piece& b) {
  const auto as_factor = [](const Piece& p) {
    Factor f;
    f.kind = FactorKind::maximum;
    f.pieces.push_back(p);
    return f;
  };
  return equal_up_to_renaming(symbols, as_factor(a), as_factor(b));
}

// Splits demands until they cannot be simplified further.
class Refinement {
 public:
  Refinement(Normalizer& normalizer, const Condition& context)
      : normalizer_(normalizer), algebra_(normalizer.algebra()), context_(context) {}

  void add(const Piece& demand, bool given) {
    const Factor* predicate = predicate_of(demand);
    if (predicate == nullptr) {
      if (!given) keep(demand);
      return;
    }
    const std::size_t arity = predicate_arity(predicate->name);
    std::vector<Expression> guards;
    for (std::size_t k = arity; k < predicate->arguments.size(); ++k) {
      const Expression& g = predicate->arguments[k];
      const auto known = constant_value(g);
      if (known && *known == Rational(0)) return;
      if (!known) guards.push_back(g);
    }
    const Expression& value = predicate->arguments[0];
    where_ = &demand;
    const Condition here = joined(context_, demand.conditions);
    const Algebra::Under under(algebra_, here, booleans_of(guards));
    guards_ = std::move(guards);
    if (predicate->name == "nonzero") return nonzero(value);
    if (predicate->name == "positive") return positive(value);
    if (predicate->name == "nonnegative") return nonnegative(value);
    if (predicate->name == "power") {
      // For a positive p, (p t)^e has a value where t^e has one.
      if (!algebra_.positive(value)) emit(predicate->name, {without_positive_factors(value), predicate->arguments[1]});
      return;
    }
    if (predicate->name == "divisor") {
      const auto c = constant_value(value);
      if ((c && !(*c == Rational(0))) || algebra_.positive(value)) return;
    }
    if (predicate->name.starts_with("fits ")) {
      const auto type = ir::data_type_from_name(std::string_view(predicate->name).substr(5));
      if (type && algebra_.holds_values_of(value, *type)) return;
    }
    emit(predicate->name, {predicate->arguments.begin(), predicate->arguments.begin() + static_cast<std::ptrdiff_t>(arity)});
  }

  std::vector<Piece> take() { return std::move(done_); }

 private:
  void emit(std::string name, std::vector<Expression> arguments) {
    arguments.insert(arguments.end(), guards_.begin(), guards_.end());
    keep(with_predicate(*where_, std::move(name), std::move(arguments)));
  }

  void keep(Piece demand) {
    if (done_.size() >= kMostChecked) throw Stop{true, "an element depends on too many divisions, roots and logarithms"};
    for (const Piece& d : done_)
      if (same_but_for_names(algebra_.symbols(), d, demand)) return;
    done_.push_back(std::move(demand));
  }

  // A product is nonzero if no factor is 0. A sum is the product of the common factors of its terms and the
  // rest.
  void nonzero(const Expression& e) {
    if (const auto c = constant_value(e)) {
      if (*c == Rational(0) && !broken(Fault::demands_zero_is_not_zero)) emit("nonzero", {e});
      return;
    }
    if (algebra_.positive(e) || algebra_.positive(algebra_.negate(e))) return;
    const Expression inverse = algebra_.reciprocal(e);
    if (inverse.terms.size() != 1 || !inverse.terms[0].is_plain()) return emit("nonzero", {e});
    for (const FactorPower& f : inverse.terms[0].factors) {
      if (algebra_.nonzero(*f.factor) || is_nonzero_integer(*f.factor)) continue;
      if (f.factor->kind == FactorKind::function && f.factor->data_type == ir::DataType::undefined) {
        if (f.factor->function == Function::reciprocal) {
          // The rest of the sum, or the argument of a reciprocal.
          emit("nonzero", {f.factor->arguments[0]});
          continue;
        }
        if (f.factor->function == Function::sqrt) {
          positive(f.factor->arguments[0]);
          continue;
        }
      }
      emit("nonzero", {algebra_.factor(f.factor)});
      if (broken(Fault::demands_of_the_first_factor)) break;
    }
  }

  bool is_nonzero_integer(const Factor& f) {
    return f.kind == FactorKind::integer &&
           normalizer_.solver().implies(joined(context_, where_->conditions), {f.integer, Relation::not_zero}, Solver::Effort::linear);
  }

  // Demands c t > 0, without the factors of t that are positive anyway.
  void positive(const Expression& e) {
    if (algebra_.positive(e)) return;
    if (algebra_.nonnegative(e) && !e.is_zero()) return nonzero(e);
    emit("positive", {without_positive_factors(e)});
  }

  void nonnegative(const Expression& e) {
    if (algebra_.nonnegative(e)) return;
    emit("nonnegative", {without_positive_factors(e)});
  }

  Expression without_positive_factors(const Expression& e) const {
    if (e.is_zero()) return e;
    Expression result = algebra_.scale(e, inverse(content({&e})));
    if (result.terms.size() != 1) return result;
    std::erase_if(result.terms[0].factors, [&](const FactorPower& f) {
      const bool is_bound = std::any_of(result.terms[0].binders.begin(), result.terms[0].binders.end(),
                                        [&](SymbolId b) { return mentions(algebra_.symbols(), *f.factor, b); });
      return !is_bound && (algebra_.positive(*f.factor) || broken(Fault::demands_sign_of_some_factors));
    });
    result.terms[0].dimensions.clear();
    return result;
  }

  Normalizer& normalizer_;
  Algebra& algebra_;
  const Condition& context_;
  const Piece* where_ = nullptr;
  std::vector<Expression> guards_;
  std::vector<Piece> done_;
};

// Joins demands "p if g" and "p if not g" to p. Handles demands without binders that differ in one guard.
void join_cases(Normalizer& normalizer, const Condition& context, std::vector<Piece>& given) {
  for (std::size_t i = 0; i < given.size() && given.size() < kMostChecked; ++i) {
    for (std::size_t j = i + 1; j < given.size(); ++j) {
      const Factor* a = predicate_of(given[i]);
      const Factor* b = predicate_of(given[j]);
      if (!given[i].binders.empty() || !given[j].binders.empty() || a->name != b->name || a->arguments.size() != b->arguments.size())
        continue;
      std::size_t different = 0;
      std::size_t guard = 0;
      for (std::size_t k = 0; k < a->arguments.size(); ++k) {
        if (equal_up_to_renaming(normalizer.symbols(), a->arguments[k], b->arguments[k])) continue;
        ++different;
        guard = k;
      }
      if (different != 1 || guard < predicate_arity(a->name)) continue;
      const Condition here = joined(context, given[i].conditions);
      const Algebra& algebra = normalizer.algebra();
      const auto sum = constant_value(normalizer.simplify(algebra.sum(a->arguments[guard], b->arguments[guard]), here));
      if ((!sum || !(*sum == Rational(1))) && !broken(Fault::demands_of_any_two_cases)) continue;
      std::vector<Expression> arguments = a->arguments;
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(guard));
      Piece both = with_predicate(given[i], a->name, std::move(arguments));
      both.conditions = joined(given[i].conditions, given[j].conditions);
      const auto is_known = [&](const Piece& p) { return same_but_for_names(normalizer.symbols(), p, both); };
      if (std::none_of(given.begin(), given.end(), is_known)) given.push_back(std::move(both));
      break;
    }
  }
}

bool implies(std::string_view known, std::string_view wanted) {
  if (known == wanted || broken(Fault::demands_all_imply_all)) return true;
  if (wanted == "nonzero") return known == "positive" || known == "divisor";
  return wanted == "nonnegative" && known == "positive";
}

}  // namespace

const Factor* predicate_of(const Piece& demand) {
  if (demand.body.terms.size() != 1) return nullptr;
  const NormalTerm& t = demand.body.terms[0];
  const bool is_factor =
      t.is_plain() && t.dimensions.empty() && t.coefficient == Rational(1) && t.factors.size() == 1 && t.factors[0].power == 1;
  return is_factor && t.factors[0].factor->kind == FactorKind::predicate ? t.factors[0].factor.get() : nullptr;
}

std::size_t predicate_arity(std::string_view predicate) { return predicate == "power" || predicate == "in_range" ? 2 : 1; }

std::vector<Piece> simplify_demands(Normalizer& normalizer, const std::vector<Piece>& demands, const Condition& context, bool given) {
  Refinement refinement(normalizer, context);
  for (const Piece& d : normalizer.simplify_pieces(demands, context)) refinement.add(d, given);
  std::vector<Piece> result = refinement.take();
  if (given) join_cases(normalizer, context, result);
  return result;
}

std::optional<std::size_t> guard_count(const Piece& demand) {
  const Factor* predicate = predicate_of(demand);
  if (predicate == nullptr || predicate->arguments.size() < predicate_arity(predicate->name)) return std::nullopt;
  return predicate->arguments.size() - predicate_arity(predicate->name);
}

std::optional<Piece> with_guards(const Piece& demand, const std::vector<std::size_t>& kept) {
  const auto count = guard_count(demand);
  if (!count) return std::nullopt;
  const Factor& predicate = *predicate_of(demand);
  const std::size_t arity = predicate_arity(predicate.name);
  std::vector<Expression> arguments(predicate.arguments.begin(), predicate.arguments.begin() + static_cast<std::ptrdiff_t>(arity));
  for (std::size_t k = 0; k < kept.size(); ++k) {
    if (kept[k] >= *count || (k > 0 && kept[k] <= kept[k - 1])) return std::nullopt;
    arguments.push_back(predicate.arguments[arity + kept[k]]);
  }
  return with_predicate(demand, predicate.name, std::move(arguments));
}

std::vector<Piece> candidates_for(const Piece& wanted, const std::vector<Piece>& given) {
  std::vector<Piece> result;
  const Factor* predicate = predicate_of(wanted);
  if (predicate == nullptr) return result;
  for (const Piece& p : given) {
    const Factor* known = predicate_of(p);
    if (known == nullptr || known->arguments.size() != predicate->arguments.size() || !implies(known->name, predicate->name)) continue;
    result.push_back(with_predicate(p, predicate->name, known->arguments));
  }
  return result;
}

std::string demand_text(const Names& names, const Piece& demand) {
  const std::string where = to_string(names, demand.conditions);
  return to_string(names, demand.body) + (where.empty() ? "" : " where " + where);
}

}  // namespace xflow::verifier
