#include "src/verifier/proof/proof.h"

#include <algorithm>

#include "src/verifier/counterexample/explain.h"
#include "src/verifier/faults.h"
#include "src/verifier/proof/demands.h"
#include "src/verifier/proof/proof_engine.h"

namespace xflow::verifier {

using ir::SymbolKind;
using ir::Symbols;

namespace {

// The divisors of all divisions in the types and integer attributes of a graph, and in the given relations.
std::vector<Poly> divisors_of(const ir::Arena& arena, const ir::Graph* graph, const std::vector<rules::Fact>& relations) {
  const Symbols& symbols = arena.symbols();
  std::vector<Poly> result;
  const auto poly = [&](const Poly& p) {
    for (const SymbolId s : symbols.all_symbols(p)) {
      const ir::SymbolInfo& info = symbols.info(s);
      if (info.kind != SymbolKind::floor_div || info.arguments[1].is_constant()) continue;
      if (std::find(result.begin(), result.end(), info.arguments[1]) == result.end()) result.push_back(info.arguments[1]);
    }
  };
  if (!broken(Fault::proof_relations_divide_by_anything))
    for (const rules::Fact& f : relations) poly(f.atom.poly);
  if (graph == nullptr) return result;
  for (const ir::NodeId id : ir::topological_order(arena, *graph)) {
    const ir::Node& node = arena.node(id);
    for (const ir::TensorType& t : node.outputs) std::for_each(t.shape.begin(), t.shape.end(), poly);
    for (const ir::Attribute& a : node.attributes.list()) {
      if (const auto* p = std::get_if<Poly>(&a.value)) poly(*p);
      if (const auto* list = std::get_if<std::vector<Poly>>(&a.value)) std::for_each(list->begin(), list->end(), poly);
    }
  }
  return result;
}

// The facts, and the fact that each divisor of the source and of the facts is at least 1. Otherwise the
// source has no meaning, and a guard with such a division does not hold.
std::vector<rules::Fact> with_divisors(const rules::RuleInstance& instance) {
  std::vector<rules::Fact> facts = instance.facts;
  for (const Poly& d : divisors_of(*instance.arena, &instance.source, instance.facts)) {
    if (instance.arena->symbols().lower_bound(d).value_or(0) >= 1) continue;
    facts.push_back({ops::at_least(d, Poly(1)), "a divisor"});
  }
  return facts;
}

}  // namespace

Proof::Proof(rules::RuleInstance& instance, const Options& options)
    : instance_(instance),
      solved_(solve_facts(instance.arena->symbols(), with_divisors(instance))),
      engine_(std::make_unique<Engine>(instance, solved_, options)),
      options_(options) {}
Proof::~Proof() = default;

std::uint64_t Proof::steps() const { return steps_ + engine_->normalizer.steps(); }

bool Proof::facts_are_contradictory() { return engine_->solver.contradictory({}, Solver::Effort::full); }

bool Proof::obligations_are_contradictory() {
  Condition all;
  for (const rules::Fact& o : instance_.obligations) {
    all.push_back({instance_.arena->symbols().substitute(o.atom.poly, solved_.solved), o.atom.relation});
  }
  return engine_->solver.contradictory(all, Solver::Effort::full);
}

std::optional<rules::Fact> Proof::unguarded_division() {
  Symbols& symbols = instance_.arena->symbols();
  const Ranges ranges(symbols, {solved_.facts});
  for (const Poly& divisor : divisors_of(*instance_.arena, &instance_.target, instance_.obligations)) {
    const Poly d = symbols.substitute(divisor, solved_.solved);
    if (ranges.at_least_zero(d - Poly(1))) continue;
    if (!engine_->solver.implies({}, ops::at_least(d, Poly(1)), Solver::Effort::full)) {
      return rules::Fact{ops::at_least(divisor, Poly(1)), "a divisor of at least 1, found " + symbols.to_string(divisor)};
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> Proof::failed_obligation() {
  const Ranges ranges(instance_.arena->symbols(), {solved_.facts});
  for (std::size_t k = 0; k < instance_.obligations.size(); ++k) {
    const Atom& original = instance_.obligations[k].atom;
    const Atom atom{instance_.arena->symbols().substitute(original.poly, solved_.solved), original.relation};
    if (atom.poly.is_poisoned()) return k;
    if (k > 0 && broken(Fault::proof_one_obligation)) break;
    const auto tidied = tidy(instance_.arena->symbols(), atom);
    if (tidied && tidied->empty()) continue;
    if (atom.relation != Relation::not_zero && ranges.at_least_zero(atom.poly) &&
        (atom.relation == Relation::at_least_zero || ranges.at_least_zero(-atom.poly))) {
      continue;
    }
    if (!engine_->solver.implies({}, atom, Solver::Effort::full)) return k;
  }
  return std::nullopt;
}

bool Proof::run() {
  if (attempt()) return true;
  if (stopped_ || options_.deadline.is_over() || !source_asks()) return false;
  const std::string open = open_;
  restart(true);
  if (attempt()) return true;
  // If the second attempt did not end, the message of the first one is more informative.
  if (stopped_) open_ = open;
  stopped_by_steps_ = stopped_by_steps_ && options_.deadline.is_over();
  return false;
}

bool Proof::attempt() {
  engine_->solver.note_answers(&shown_);
  const bool proved = guarded([this] {
    normalise();
    engine_->solver.stop_answers();
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      if (!match_output(k) && !(k > 0 && broken(Fault::proof_of_first_output))) return false;
    return true;
  });
  engine_->solver.stop_answers();
  if (!proved || !with_facts_) return proved;
  given_.assign(engine_->signs.used().begin(), engine_->signs.used().end());
  given_.insert(given_.end(), ranges_.begin(), ranges_.end());
  std::sort(given_.begin(), given_.end());
  given_.erase(std::unique(given_.begin(), given_.end()), given_.end());
  return true;
}

void Proof::restart(bool with_facts) {
  steps_ = steps();
  engine_ = std::make_unique<Engine>(instance_, solved_, options_);
  outputs_.clear();
  is_normalised_ = false;
  shown_.clear();
  asked_.clear();
  signs_of_nodes_.clear();
  ranges_.clear();
  with_facts_ = with_facts;
}

bool Proof::replay(const std::vector<std::size_t>& shown, const std::vector<std::size_t>& given, const Read& read) {
  if (given != allowed_.value_or(std::vector<std::size_t>())) restart(!given.empty());
  allowed_ = given;
  engine_->solver.replay_answers(shown);
  return guarded([&] {
    normalise();
    engine_->solver.stop_answers();
    if (!given.empty() && given.back() >= asked_.size() && !broken(Fault::source_facts_that_are_not_asked)) {
      open_ = "the source does not ask for what the record says";
      return false;
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      outputs_[k].certificate.reset();
      auto certificate = read(k, outputs_[k]);
      if (!certificate) {
        open_ = "output " + std::to_string(k) + ": the certificate does not fit: " + certificate.error().message;
        return false;
      }
      if (!check_output(k, *std::move(certificate))) return false;
    }
    return true;
  });
}

bool Proof::guarded(const std::function<bool()>& work) {
  if (instance_.source.outputs.size() != instance_.target.outputs.size()) {
    open_ = "the two sides have different numbers of outputs";
    return false;
  }
  try {
    return work();
  } catch (const Stop& stop) {
    stopped_ = true;
    open_ = stop.message;
    stopped_by_steps_ = stop.steps;
  }
  return false;
}

void Proof::normalise() {
  if (is_normalised_) return;
  outputs_.clear();
  if (with_facts_) add_facts_of_nodes();
  for (std::size_t k = 0; k < instance_.source.outputs.size(); ++k) {
    normalise_output(k);
    add_demands(k);
  }
  add_demands_of_nodes();
  is_normalised_ = true;
}

std::string Proof::normal_source() const { return normal_forms(&OutputProof::source); }
std::string Proof::normal_target() const { return normal_forms(&OutputProof::target); }

std::string Proof::normal_forms(Expression OutputProof::*side) const {
  const Names names{instance_.arena->symbols(), instance_.variables, instance_.variable_names};
  std::string text;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (instance_.source.outputs[k] == instance_.target.outputs[k]) continue;
    text += (text.empty() ? "" : "\n") + Readable(names, outputs_[k].free).expression(outputs_[k].*side);
  }
  return text;
}

std::string Proof::output_name(std::size_t output) const {
  return output < instance_.output_names.size() ? instance_.output_names[output] : std::to_string(output);
}

void Proof::normalise_output(std::size_t output) {
  Engine& e = *engine_;
  Symbols& symbols = instance_.arena->symbols();
  const ir::ValueId source = instance_.source.outputs[output];
  const ir::ValueId target = instance_.target.outputs[output];
  if (source == target) {
    outputs_.emplace_back();
    return;
  }
  // A generic output index in range.
  std::vector<Poly> index;
  std::vector<SymbolId> free;
  Condition context;
  for (const Poly& d : instance_.arena->type(source).shape) {
    free.push_back(symbols.fresh(SymbolKind::index, "o"));
    index.emplace_back(free.back());
    context.push_back({index.back(), Relation::at_least_zero});
    context.push_back(ops::less_than(index.back(), symbols.substitute(d, solved_.solved)));
  }
  OutputProof proof;
  proof.index = index;
  proof.context = context;
  if (with_facts_) add_facts(source, proof);
  Expression a = e.composer.element(source, index);
  Expression b = e.composer.element(target, index);
  if (with_facts_) e.composer.set_branches({});
  for (;;) {
    e.normalizer.set_output_indices(free);
    e.normalizer.clear_split_request();
    a = e.normalizer.simplify(a, context);
    b = e.normalizer.simplify(b, context);
    const auto request = e.normalizer.split_request();
    if (!request) break;
    // i = q * high + low with 0 <= low < q is a bijection.
    const SymbolId high = symbols.fresh(SymbolKind::index, "o");
    const SymbolId low = symbols.fresh(SymbolKind::index, "o");
    const Symbols::Substitution by = {{request->index, request->divisor * Poly(high) + Poly(low)}};
    a = substitute(symbols, a, by);
    b = substitute(symbols, b, by);
    for (Poly& p : index) p = symbols.substitute(p, by);
    const Poly end = broken(Fault::proof_digit_ends_early) ? request->divisor - Poly(1) : request->divisor;
    Condition next = {{Poly(high), Relation::at_least_zero}, {Poly(low), Relation::at_least_zero}, ops::less_than(Poly(low), end)};
    for (const Atom& atom : substitute(symbols, context, by)) {
      // The ranges of the digits follow from the range of the index if the divisor divides its size.
      Condition one = {atom};
      for (const Poly& d : {request->divisor}) {
        const auto [quotient, rest] = split_by(atom.poly, d);
        const Ranges ranges(symbols, {std::span<const Atom>(next)});
        if (atom.relation == Relation::at_least_zero && !quotient.is_zero() && ranges.in_range(rest, d)) {
          one = {{quotient, Relation::at_least_zero}};
        } else if (atom.relation == Relation::at_least_zero && !quotient.is_zero() && ranges.in_range(rest + d, d)) {
          one = {{quotient - Poly(broken(Fault::proof_digit_goes_further) ? 0 : 1), Relation::at_least_zero}};
        }
      }
      next.insert(next.end(), one.begin(), one.end());
    }
    context = std::move(next);
    std::erase(free, request->index);
    free.push_back(high);
    free.push_back(low);
    proof.index = index;
    proof.context = context;
    if (with_facts_) add_facts(source, proof);
  }
  proof.free = std::move(free);
  proof.terms = verifier::difference(a, b);
  proof.source = std::move(a);
  proof.target = std::move(b);
  outputs_.push_back(std::move(proof));
}

// Demands that an element of the target has a value wherever that of the source has one.
void Proof::add_demands(std::size_t output) {
  const ir::ValueId source = instance_.source.outputs[output];
  const ir::ValueId target = instance_.target.outputs[output];
  OutputProof& proof = outputs_[output];
  if (source == target || broken(Fault::proof_without_demands)) return;
  Engine& e = *engine_;
  know_signs(&proof);
  proof.demanded = simplify_demands(e.normalizer, e.composer.demands(target, proof.index), proof.context, false);
  e.algebra.know(nullptr);
  if (!proof.demanded.empty()) proof.given = simplify_demands(e.normalizer, e.composer.demands(source, proof.index), proof.context, true);
  e.normalizer.clear_split_request();
}

// Demands that the target runs wherever the source runs. These demands are stored with the first output.
void Proof::add_demands_of_nodes() {
  if (outputs_.empty() || broken(Fault::proof_without_demands_of_nodes)) return;
  Engine& e = *engine_;
  const auto known = [&](const Condition& condition, const Atom& atom) {
    return e.solver.implies(condition, atom, Solver::Effort::linear);
  };
  know_signs(broken(Fault::source_facts_where_a_node_stops) ? &outputs_[0] : nullptr);
  const auto demanded = simplify_demands(e.normalizer, e.composer.demands_of_nodes(instance_.target, instance_.source, known), {}, false);
  e.algebra.know(nullptr);
  outputs_[0].demanded_of_nodes = demanded.size();
  outputs_[0].demanded.insert(outputs_[0].demanded.end(), demanded.begin(), demanded.end());
  const bool any = std::any_of(outputs_.begin(), outputs_.end(), [](const OutputProof& p) { return !p.demanded.empty(); });
  if (!any) return;
  const auto given = simplify_demands(e.normalizer, e.composer.demands_of_nodes(instance_.source, instance_.source, {}), {}, true);
  for (OutputProof& p : outputs_)
    if (!p.demanded.empty()) p.given.insert(p.given.end(), given.begin(), given.end());
}

// Matching and checking. -----------------------------------------------------------------------------------------------------------

bool Proof::match_output(std::size_t output) {
  OutputProof& proof = outputs_[output];
  know_signs(&proof);
  std::vector<std::size_t> left;
  auto certificate = engine_->matcher.zero(proof.terms, proof.context, &left);
  if (!certificate && vanish(proof, left)) {
    left.clear();
    certificate = engine_->matcher.zero(proof.terms, proof.context, &left);
  }
  if (!certificate) {
    const Names names{instance_.arena->symbols(), instance_.variables, instance_.variable_names};
    Expression rest;
    for (const std::size_t k : left) rest.terms.push_back(proof.terms[k]);
    note_hints(rest.terms, proof.context);
    const Readable readable(names, proof.free);
    const std::string where = readable.condition(proof.context);
    open_ = "output " + output_name(output) + ": " + readable.expression(rest) + " = 0" + (where.empty() ? "" : " where " + where);
    return false;
  }
  const Names names{instance_.arena->symbols(), instance_.variables, instance_.variable_names};
  for (const Piece& wanted : proof.demanded) {
    know_signs_of_demand(proof, certificate->demands.size());
    auto found = engine_->matcher.demand(wanted, proof.given, proof.context);
    if (!found) {
      open_ = "output " + output_name(output) + ": the target has a value only where " + Readable(names, proof.free).demand(wanted);
      return false;
    }
    certificate->demands.push_back(*std::move(found));
  }
  // The checker replays the search result without search.
  return check_output(output, *std::move(certificate));
}

// Drops the terms that are left if the caller says that they sum to 0.
bool Proof::vanish(OutputProof& proof, const std::vector<std::size_t>& left) {
  if (!options_.vanishes) return false;
  std::vector<NormalTerm> rest;
  std::vector<NormalTerm> others;
  for (std::size_t k = 0; k < proof.terms.size(); ++k) (std::ranges::find(left, k) == left.end() ? others : rest).push_back(proof.terms[k]);
  if (rest.empty() || !options_.vanishes(rest, proof.context)) return false;
  proof.terms = std::move(others);
  return true;
}

bool Proof::check_output(std::size_t output, Certificate certificate) {
  OutputProof& proof = outputs_[output];
  know_signs(&proof);
  bool accepted = engine_->checker.zero(proof.terms, proof.context, certificate);
  if (certificate.demands.size() != proof.demanded.size() && !broken(Fault::proof_of_some_demands)) accepted = false;
  for (std::size_t k = 0; k < std::min(certificate.demands.size(), proof.demanded.size()); ++k) {
    know_signs_of_demand(proof, k);
    accepted = accepted && engine_->checker.demand(proof.demanded[k], proof.given, proof.context, certificate.demands[k]);
  }
  if (!accepted) {
    open_ = "output " + output_name(output) + ": the certificate was not accepted";
    return false;
  }
  proof.certificate = std::move(certificate);
  return true;
}

void Proof::note_hints(const std::vector<NormalTerm>& left, const Condition& context) {
  constexpr std::size_t kHints = 8;
  // The symbols that the facts determine equal their values.
  Condition base = context;
  for (const auto& [s, value] : solved_.solved) base.push_back(ops::equal(Poly(s), value));
  const auto together = [&](const NormalTerm& a, const NormalTerm& b, const Atom& difference) {
    Condition c = base;
    c.insert(c.end(), a.conditions.begin(), a.conditions.end());
    c.insert(c.end(), b.conditions.begin(), b.conditions.end());
    c.push_back(difference);
    hints_.push_back(std::move(c));
  };
  for (std::size_t i = 0; i < left.size(); ++i) {
    for (std::size_t j = i + 1; j < left.size(); ++j) {
      if (left[i].factors.size() != left[j].factors.size()) continue;
      for (std::size_t k = 0; k < left[i].factors.size(); ++k) {
        const Factor& a = *left[i].factors[k].factor;
        const Factor& b = *left[j].factors[k].factor;
        if (a.kind != FactorKind::read || b.kind != FactorKind::read || a.variable != b.variable) continue;
        for (std::size_t d = 0; d < a.indices.size() && hints_.size() < kHints; ++d) {
          if (!(a.indices[d] == b.indices[d])) together(left[i], left[j], ops::different(a.indices[d], b.indices[d]));
        }
      }
    }
  }
  for (const NormalTerm& t : left) {
    if (hints_.size() >= 2 * kHints) break;
    // A term that is not excluded by its conditions.
    Condition c = base;
    c.insert(c.end(), t.conditions.begin(), t.conditions.end());
    hints_.push_back(std::move(c));
  }
}

}  // namespace xflow::verifier
