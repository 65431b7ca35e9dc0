#include "src/verifier/refute.h"

#include <algorithm>

#include "src/verifier/solver.h"

namespace xflow::verifier {

namespace {

constexpr std::uint64_t kWork = 400'000;    // scalar operations of one evaluation
constexpr std::size_t kAgreements = 8;      // comparisons that have to agree, over all assignments
constexpr std::size_t kDrawsToRefute = 32;  // comparisons to find a difference, over all assignments
constexpr std::size_t kDraws = 3;           // entries drawn for one comparison until the target is defined wherever the source is
constexpr std::size_t kEnough = 3;          // counterexamples found before the smallest is taken

std::string nested(const Entries& e, std::size_t dimension, std::size_t& position) {
  if (dimension == e.dims.size()) return e.values[position++].to_string();
  std::string text = "[";
  for (std::int64_t k = 0; k < e.dims[dimension]; ++k) text += (k == 0 ? "" : ", ") + nested(e, dimension + 1, position);
  return text + "]";
}

std::vector<std::pair<std::string, std::int64_t>> named_integers(const rules::RuleInstance& instance, const Concrete& concrete,
                                                                 const Assignment& assignment) {
  std::vector<std::pair<std::string, std::int64_t>> result;
  for (const ir::SymbolId s : concrete.symbols()) result.emplace_back(instance.arena->symbols().info(s).name, assignment.integers.at(s));
  return result;
}

}  // namespace

Refuter::Result Refuter::try_all(const std::vector<Assignment>& assignments, Purpose purpose) {
  using Entry = Concrete::Entry;
  static constexpr Entry kKinds[] = {Entry::small, Entry::bits, Entry::large, Entry::halves};
  // Few assignments (a rule on scalars has one) are tried with more entries.
  const std::size_t few = std::max<std::size_t>(assignments.size(), 1);
  const std::size_t wanted = purpose == Purpose::agreement ? (kAgreements + few - 1) / few : kDrawsToRefute / few + 1;
  Result result;
  std::vector<Found> found;
  std::uint64_t seed = seed_;
  for (const Assignment& a : assignments) {
    std::size_t agreed = 0;
    for (std::size_t draw = 0; draw < kDraws * wanted && agreed < wanted; ++draw) {
      const auto inputs = concrete_.draw(a, ++seed, kKinds[draw % 4]);
      if (!inputs) break;
      Concrete::Difference where;
      const Concrete::Agreement compared = concrete_.compare(a, *inputs, kWork, &where);
      if (compared == Concrete::Agreement::equal) ++agreed;
      if (compared != Concrete::Agreement::different) continue;
      std::size_t entries = 0;
      for (const Entries& e : *inputs) entries += e.values.size();
      found.push_back({a, *inputs, where, entries});
      break;
    }
    if (agreed >= wanted) ++result.agreed;
    if (found.size() >= kEnough) break;
  }
  if (!found.empty()) {
    Found& smallest = *std::min_element(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.entries < y.entries; });
    minimise(smallest);
    result.counterexample = describe(smallest);
  }
  return result;
}

void Refuter::minimise(Found& found) {
  int budget = 64;
  for (std::size_t t = 0; t < found.inputs.size(); ++t) {
    for (std::size_t k = 0; k < found.inputs[t].values.size(); ++k) {
      for (const std::int64_t simple : {0, 1}) {
        const ir::Rational before = found.inputs[t].values[k];
        if (before == ir::Rational(simple)) break;
        const bool constrained = std::any_of(instance_.value_facts.begin(), instance_.value_facts.end(),
                                             [&](const rules::ValueFact& f) { return f.value == instance_.variables[t]; });
        if ((constrained && simple == 0) || budget-- <= 0) continue;
        found.inputs[t].values[k] = ir::Rational(simple);
        Concrete::Difference where;
        if (concrete_.compare(found.assignment, found.inputs, kWork, &where) == Concrete::Agreement::different) {
          found.difference = where;
          break;
        }
        found.inputs[t].values[k] = before;
      }
    }
  }
}

Counterexample Refuter::describe(const Found& found) const {
  Counterexample c;
  c.integers = named_integers(instance_, concrete_, found.assignment);
  for (std::size_t t = 0; t < found.inputs.size(); ++t) {
    std::size_t position = 0;
    c.tensors.emplace_back(instance_.variable_names[t], nested(found.inputs[t], 0, position));
  }
  for (const auto& [name, value] : found.assignment.reals) c.tensors.emplace_back(name, value.to_string());
  c.output = found.difference.output;
  c.index = found.difference.index;
  c.source_value = found.difference.source;
  c.target_value = found.difference.target;
  return c;
}

Decision explain_obligation(const rules::RuleInstance& instance, Concrete& concrete, Sampler& sampler,
                            const std::vector<Assignment>& samples, Proof& proof, const rules::Fact& failed) {
  Decision decision;
  std::string text = to_string(Names{instance.arena->symbols(), instance.variables, instance.variable_names}, Condition{failed.atom});
  if (!failed.reason.empty()) text = failed.reason + " (" + text + ")";
  if (proof.obligations_are_contradictory()) {
    decision.verdict = Verdict::ill_typed;
    decision.open = "no shapes make both sides well typed: " + text;
    return decision;
  }
  std::optional<Assignment> witness;
  for (const Assignment& a : samples) {
    if (concrete.holds(failed.atom, a).value_or(true)) continue;
    witness = a;
    break;
  }
  if (!witness) witness = sampler.satisfying({negation(failed.atom)});
  if (witness && concrete.holds(failed.atom, *witness).value_or(true)) witness.reset();
  if (!witness) {
    decision.verdict = Verdict::unknown;
    decision.open = "typing of the target: " + text;
    return decision;
  }
  Counterexample c;
  c.integers = named_integers(instance, concrete, *witness);
  c.source_value = "the source has a type";
  c.target_value = "the target asks for " + text;
  decision.verdict = Verdict::refuted;
  decision.counterexample = std::move(c);
  return decision;
}

}  // namespace xflow::verifier
