#include "src/verifier/proof/queries.h"

#include <z3++.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::Monomial;
using ir::Poly;
using ir::SymbolId;
using ir::SymbolInfo;
using ir::SymbolKind;
using ops::Atom;
using ops::Condition;
using ops::Relation;

std::string solver_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned build = 0;
  unsigned revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(build);
}

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20};  // between checks whether the caller wants to stop

// Disables Z3's Diophantine equation solver, which does not count resource units: one query about four
// dimensions ran for minutes.
bool limit_linear_arithmetic() {
  static const bool done = [] {
    z3::set_param("lp.dio", false);
    return true;
  }();
  return done;
}

}  // namespace

// A Z3 solver with its own context. It has one encoding in which monomials are products, and one in which
// they are abstracted integers.
class Queries::Encoder {
 public:
  Encoder(const ir::Symbols& symbols, const Ranges::ElementRanges& elements, std::uint64_t limit, const Deadline& deadline)
      : symbols_(symbols),
        elements_(elements),
        limit_(static_cast<unsigned>(std::min<std::uint64_t>(limit, 4'000'000'000U))),
        deadline_(deadline) {}

  z3::context& context() { return context_; }

  void assume(const Atom& fact) {
    facts_.push_back(fact);
    for (Encoding* e : {&linear_, &full_})
      if (e->solver) add_fact(*e, fact);
  }

  // Checks the facts with `condition` and `extra`, a callback because encodings differ.
  template <typename Extra>
  z3::check_result check(std::span<const Atom> condition, bool real, const Extra& extra) {
    Encoding& e = encoding(real);
    z3::solver& s = *e.solver;
    Known known = e.known;
    s.push();
    z3::check_result result = z3::unknown;
    try {
      for (const Atom& a : condition)
        if (!broken(Fault::solver_condition_is_lost)) s.add(atom(a, real, known));
      extra(s, known);
      flush(s, known);
      if (!real) add_products(s, condition, known);
      result = answer(s);
      if (result == z3::unknown && broken(Fault::solver_unknown_is_no)) result = z3::unsat;
    } catch (const z3::exception&) {
      result = broken(Fault::solver_exception_is_no) ? z3::unsat : z3::unknown;  // a resource limit inside Z3
    }
    s.pop();
    return result;
  }

  // The symbols and monomials whose defining constraints are asserted in the current scope.
  struct Known {
    std::set<SymbolId> symbols;
    std::set<Monomial> monomials;
    std::vector<z3::expr> pending;
  };

  z3::expr poly(const Poly& p, bool real, Known& known) {
    if (p.is_poisoned()) throw z3::exception("overflow");
    z3::expr_vector sum(context_);
    sum.push_back(context_.int_val(p.constant_term()));
    for (const ir::PolyTerm& t : p.terms()) sum.push_back(context_.int_val(t.coefficient) * monomial(t.monomial, real, known));
    return sum.size() == 1 ? sum[0] : z3::sum(sum);
  }

  z3::expr atom(const Atom& a, bool real, Known& known) {
    const z3::expr p = poly(a.poly, real, known);
    switch (a.relation) {
      case Relation::at_least_zero:
        return p >= 0;
      case Relation::zero:
        return p == 0;
      case Relation::not_zero:
        break;
    }
    return p != 0;
  }

  z3::expr conjunction(const Condition& condition, bool real, Known& known) {
    z3::expr_vector all(context_);
    for (const Atom& a : condition) all.push_back(atom(a, real, known));
    return z3::mk_and(all);
  }

  z3::expr real_expr(const RealExpr& e, Known& known) {
    using Kind = RealNode::Kind;
    switch (e->kind) {
      case Kind::literal:
        return rational(e->literal);
      case Kind::variable:
        return context_.real_const(("r" + std::to_string(e->variable)).c_str());
      case Kind::sum: {
        z3::expr sum = context_.real_val(0);
        for (const RealExpr& a : e->arguments) sum = sum + real_expr(a, known);
        return sum;
      }
      case Kind::product: {
        z3::expr product = context_.real_val(1);
        for (const RealExpr& a : e->arguments) product = product * real_expr(a, known);
        return product;
      }
      case Kind::maximum: {
        z3::expr best = real_expr(e->arguments.front(), known);
        for (std::size_t k = 1; k < e->arguments.size(); ++k) {
          const z3::expr next = real_expr(e->arguments[k], known);
          best = broken(Fault::solver_maximum_is_minimum) ? z3::ite(best >= next, next, best) : z3::ite(best >= next, best, next);
        }
        return best;
      }
      case Kind::conditional:
        break;
    }
    if (broken(Fault::solver_reals_without_conditions)) return real_expr(e->arguments.front(), known);
    return z3::ite(conjunction(e->condition, false, known), real_expr(e->arguments.front(), known), context_.real_val(0));
  }

  z3::expr rational(const ir::Rational& r) { return context_.real_val(r.to_string().c_str()); }

  z3::expr fact(const RealFact& f, Known& known) {
    const z3::expr v = real_expr(f.value, known);
    switch (f.relation) {
      case RealFact::Relation::zero:
        return v == 0;
      case RealFact::Relation::not_zero:
        return v != 0;
      case RealFact::Relation::positive:
        return v > 0;
      case RealFact::Relation::at_least_zero:
        break;
    }
    return v >= 0;
  }

  std::optional<Solver::Model> model(std::span<const Atom> condition, std::span<const SymbolId> wanted) {
    Encoding& e = encoding(true);
    z3::solver& full = *e.solver;
    Known known = e.known;
    full.push();
    std::optional<Solver::Model> result;
    try {
      for (const Atom& a : condition) full.add(atom(a, true, known));
      for (const SymbolId s : wanted) symbol(s, true, known);
      flush(full, known);
      const z3::check_result found = answer(full);
      undecided_models_ += found == z3::unknown ? 1 : 0;
      if (found == z3::sat) {
        const z3::model m = full.get_model();
        Solver::Model values;
        bool all = true;
        for (const SymbolId s : wanted) {
          std::int64_t value = 0;
          const z3::expr v = m.eval(symbol(s, true, known), true);
          all = all && v.is_numeral_i64(value);
          values[s] = value;
        }
        if (all) result = std::move(values);
      }
    } catch (const z3::exception&) {
      ++undecided_models_;
      result.reset();
    }
    full.pop();
    return result;
  }

  std::size_t undecided_models() const { return undecided_models_; }

  // Z3's own timer interrupts it at the deadline.
  z3::check_result answer(z3::solver& s) {
    if (deadline_.is_over()) return z3::unknown;
    if (deadline_.moment() == Deadline::Moment::max()) return interruptible(s);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_.moment() - std::chrono::steady_clock::now()).count();
    if (left <= 0) return z3::unknown;
    s.set("timeout", static_cast<unsigned>(std::min<std::int64_t>(left, 1'000'000'000)));
    return interruptible(s);
  }

  // The caller's thread checks whether to stop while another thread runs Z3. An interrupted query has no
  // answer.
  z3::check_result interruptible(z3::solver& s) {
    if (!deadline_.can_interrupt()) return s.check();
    auto found = std::async(std::launch::async, [&s] { return s.check(); });
    bool stopped = false;
    while (found.wait_for(kBetweenLooks) == std::future_status::timeout) {
      stopped = stopped || deadline_.is_over();
      if (stopped) context_.interrupt();  // repeated: Z3 may not listen yet at the first interruption
    }
    const z3::check_result result = found.get();
    return stopped ? z3::unknown : result;
  }

  void flush(z3::solver& s, Known& known) {
    for (const z3::expr& e : known.pending) s.add(e);
    known.pending.clear();
  }

 private:
  struct Encoding {
    bool real;
    std::unique_ptr<z3::solver> solver;
    Known known;
  };

  Encoding& encoding(bool real) {
    Encoding& e = real ? full_ : linear_;
    if (!e.solver) {
      e.solver = std::make_unique<z3::solver>(context_, z3::solver::simple());
      z3::params parameters(context_);
      parameters.set("rlimit", limit_);
      parameters.set("random_seed", 0U);
      parameters.set("ctrl_c", false);  // otherwise a check handles the interruption itself, and nobody else sees it
      e.solver->set(parameters);
      for (const Atom& f : facts_) add_fact(e, f);
    }
    return e;
  }

  // Drops a fact whose polynomials do not fit 64 bits, which only weakens what is known.
  void add_fact(Encoding& e, const Atom& fact) {
    try {
      const z3::expr encoded = atom(fact, e.real, e.known);
      flush(*e.solver, e.known);
      e.solver->add(encoded);
    } catch (const z3::exception&) {
      e.known.pending.clear();
    }
  }

  z3::expr symbol(SymbolId id, bool real, Known& known) {
    const auto found = constants_.find(id);
    z3::expr constant =
        found != constants_.end() ? found->second : context_.int_const(("s" + std::to_string(static_cast<std::uint32_t>(id))).c_str());
    if (found == constants_.end()) constants_.emplace(id, constant);
    if (!known.symbols.insert(id).second) return constant;
    const SymbolInfo& info = symbols_.info(id);
    switch (info.kind) {
      case SymbolKind::dimension:
        known.pending.push_back(constant >= (broken(Fault::solver_dimensions_from_two) ? 2 : 1));
        break;
      case SymbolKind::floor_div: {
        // b q <= a <= b q + b - 1
        const Poly rest = info.arguments[0] - info.arguments[1] * Poly(id);
        known.pending.push_back(poly(rest, real, known) >= 0);
        known.pending.push_back(poly(info.arguments[1] - Poly(broken(Fault::solver_remainder_too_small) ? 2 : 1) - rest, real, known) >= 0);
        break;
      }
      case SymbolKind::maximum: {
        const z3::expr a = poly(info.arguments[0], real, known);
        const z3::expr b = poly(info.arguments[1], real, known);
        known.pending.push_back(constant >= a && constant >= b && (constant == a || constant == b));
        if (broken(Fault::solver_maximum_is_first)) known.pending.push_back(constant == a);
        break;
      }
      case SymbolKind::element:
        if (const auto ranges = elements_.find(info.tensor); ranges != elements_.end()) {
          for (const Ranges::Elements& of_some : ranges->second) {
            const auto range = of_some.at(symbols_, info.arguments);
            if (!range) continue;
            const z3::expr low = constant >= poly(range->low, real, known);
            const z3::expr high = constant < poly(range->end, real, known) - (broken(Fault::solver_elements_below_end) ? 1 : 0);
            const bool everywhere = range->conditions.empty() || broken(Fault::source_questions_of_all_elements);
            known.pending.push_back(everywhere ? low && high : z3::implies(conjunction(range->conditions, real, known), low && high));
          }
        }
        break;
      default:
        break;
    }
    return constant;
  }

  bool is_dimension(SymbolId id) const { return symbols_.info(id).kind == SymbolKind::dimension; }

  z3::expr monomial(const Monomial& m, bool real, Known& known) {
    if (m.size() == 1 && m[0].power == 1) return symbol(m[0].symbol, real, known);
    if (real) {
      z3::expr_vector factors(context_);
      for (const ir::Power& p : m)
        for (std::uint32_t k = 0; k < p.power; ++k) factors.push_back(symbol(p.symbol, real, known));
      z3::expr product = factors[0];
      for (unsigned k = 1; k < factors.size(); ++k) product = product * factors[k];
      return product;
    }
    const auto found = products_.find(m);
    z3::expr constant = found != products_.end() ? found->second : context_.int_const(("m" + std::to_string(products_.size())).c_str());
    if (found == products_.end()) products_.emplace(m, constant);
    if (!known.monomials.insert(m).second) return constant;
    if (std::all_of(m.begin(), m.end(), [&](const ir::Power& p) { return is_dimension(p.symbol); }) ||
        broken(Fault::solver_products_are_positive)) {
      known.pending.push_back(constant >= 1);
      for (const ir::Power& p : m) known.pending.push_back(constant >= symbol(p.symbol, real, known));
    }
    return constant;
  }

  // For each known inequality or equation on p and each dimension d of a known product, adds the one on d p
  // if it mentions only known products.
  void add_products(z3::solver& s, std::span<const Atom> condition, Known& known) {
    if (known.monomials.empty()) return;
    std::set<SymbolId> dimensions;
    for (const Monomial& m : known.monomials)
      for (const ir::Power& p : m)
        if (is_dimension(p.symbol)) dimensions.insert(p.symbol);
    const auto add = [&](const Atom& a) {
      if (a.relation == Relation::not_zero || a.poly.is_constant()) return;
      for (const SymbolId d : dimensions) {
        const Poly product = a.poly * Poly(d);
        const bool speaks_of_known = std::all_of(product.terms().begin(), product.terms().end(), [&](const ir::PolyTerm& t) {
          return (t.monomial.size() == 1 && t.monomial[0].power == 1) || known.monomials.contains(t.monomial);
        });
        if (!product.is_poisoned() && speaks_of_known && !broken(Fault::solver_conditions_are_not_multiplied))
          s.add(atom({product, a.relation}, false, known));
      }
    };
    for (const Atom& a : facts_) add(a);
    for (const Atom& a : condition) add(a);
    flush(s, known);
  }

  const ir::Symbols& symbols_;
  const Ranges::ElementRanges& elements_;
  unsigned limit_;
  Deadline deadline_;
  std::size_t undecided_models_ = 0;
  bool limited_ = limit_linear_arithmetic();  // before the context is created
  z3::context context_;
  std::unordered_map<SymbolId, z3::expr> constants_;
  std::map<Monomial, z3::expr> products_;
  std::vector<Atom> facts_;
  Encoding linear_{false, nullptr, {}};
  Encoding full_{true, nullptr, {}};
};

Queries::Queries(const ir::Symbols& symbols, const Ranges::ElementRanges& elements, std::uint64_t resource_limit, const Deadline& deadline)
    : encoder_(std::make_unique<Encoder>(symbols, elements, resource_limit, deadline)) {}
Queries::~Queries() = default;

void Queries::assume(const Atom& fact) { encoder_->assume(fact); }

bool Queries::contradictory(std::span<const Atom> condition, bool real) {
  return encoder_->check(condition, real, [](z3::solver&, Encoder::Known&) {}) == z3::unsat;
}

bool Queries::implies_one_of(std::span<const Atom> condition, std::span<const Condition> goals, bool real) {
  const auto none_of = [&](z3::solver& s, Encoder::Known& known) {
    for (const Condition& goal : goals) {
      const z3::expr holds = encoder_->conjunction(goal, real, known);
      s.add(broken(Fault::solver_goals_are_not_negated) ? holds : !holds);
    }
  };
  return encoder_->check(condition, real, none_of) == z3::unsat;
}

bool Queries::vanishes(std::span<const Atom> condition, std::span<const Indicator> indicators, bool real) {
  const auto differs = [&](z3::solver& s, Encoder::Known& known) {
    z3::context& c = encoder_->context();
    z3::expr sum = c.real_val(0);
    for (const Indicator& i : indicators)
      sum = sum + z3::ite(encoder_->conjunction(i.condition, real, known), encoder_->rational(i.coefficient), c.real_val(0));
    s.add(broken(Fault::solver_negative_sum_vanishes) ? sum > 0 : sum != 0);
  };
  return encoder_->check(condition, real, differs) == z3::unsat;
}

bool Queries::is_zero(std::span<const Atom> condition, std::span<const RealClause> clauses, const RealExpr& value) {
  const auto differs = [&](z3::solver& s, Encoder::Known& known) {
    for (const RealClause& clause : clauses) {
      z3::expr_vector any(encoder_->context());
      for (const RealFact& f : clause) any.push_back(encoder_->fact(f, known));
      s.add(broken(Fault::solver_clauses_hold_whole) ? z3::mk_and(any) : z3::mk_or(any));
    }
    s.add(encoder_->real_expr(value, known) != 0);
  };
  return encoder_->check(condition, false, differs) == z3::unsat;
}

std::size_t Queries::undecided_models() const { return encoder_->undecided_models(); }

std::optional<Solver::Model> Queries::model(std::span<const Atom> condition, std::span<const SymbolId> wanted) {
  return encoder_->model(condition, wanted);
}

}  // namespace xflow::verifier
