#include "src/verifier/counterexample/refute.h"

#include <algorithm>
#include <functional>
#include <map>

#include "src/verifier/algebra/conversions.h"
#include "src/verifier/counterexample/explain.h"
#include "src/verifier/faults.h"
#include "src/verifier/proof/solver.h"

namespace xflow::verifier {

namespace {

constexpr std::uint64_t kRefutationWork = 400'000;  // scalar operations per evaluation
constexpr std::size_t kDrawsToRefute = 32;          // comparisons in search of a difference, over all assignments
constexpr std::size_t kDraws = 3;                   // draws of entries per comparison, until the target is defined wherever the source is
constexpr std::size_t kUndefined = 16;              // additional draws per comparison if the source has no value
constexpr std::uint64_t kShrinkWork = 40'000;
constexpr int kShrinkBudget = 120;    // smaller sizes tried
constexpr int kMinimiseBudget = 400;  // simpler entries tried
constexpr std::size_t kEnough = 3;    // counterexamples found before the smallest is chosen

std::string nested(const Entries& e, std::size_t dimension, std::size_t& position) {
  if (dimension == e.dims.size()) return e.values[position++].to_string();
  std::string text = "[";
  for (std::int64_t k = 0; k < e.dims[dimension]; ++k) text += (k == 0 ? "" : ", ") + nested(e, dimension + 1, position);
  return text + "]";
}

// Names that the instance replaced are listed, too, so that a reader need not solve equations. Dimensions
// among them are listed only if no tensors are given, because the shapes of tensors show them.
void name_integers(Counterexample& c, const rules::RuleInstance& instance, const Concrete& concrete, const Assignment& assignment) {
  c.choice = instance.choice;
  const ir::Symbols& symbols = instance.arena->symbols();
  std::map<ir::SymbolId, std::int64_t> values;
  for (const ir::SymbolId s : concrete.symbols()) values.emplace(s, assignment.integers.at(s));
  for (const auto& [s, poly] : instance.replaced) {
    if (!c.tensors.empty() && symbols.info(s).kind == ir::SymbolKind::dimension) continue;
    if (const auto value = concrete.value(poly, assignment)) values.emplace(s, *value);
  }
  for (const auto& [s, value] : values) {
    c.integers.emplace_back(symbols.info(s).name, value);
    if (symbols.info(s).kind != ir::SymbolKind::dimension) c.attributes.push_back(c.integers.back());
  }
}

std::size_t count_entries(const Inputs& inputs) {
  std::size_t entries = 0;
  for (const Entries& e : inputs) entries += e.values.size();
  return entries;
}

}  // namespace

Refuter::Result Refuter::try_all(const std::vector<Assignment>& assignments, Purpose purpose) {
  using Entry = Concrete::Entry;
  std::vector<Entry> kinds = {Entry::small, Entry::bits, Entry::large, Entry::halves};
  if (concrete_.loses_values()) kinds = {Entry::small, Entry::edges, Entry::halves, Entry::edges, Entry::large};
  // With few assignments (a rule on scalars has one), more entries are drawn for each.
  const std::size_t few = std::max<std::size_t>(assignments.size(), 1);
  std::size_t wanted = purpose == Purpose::agreement ? (kAgreements + few - 1) / few : kDrawsToRefute / few + 1;
  if (concrete_.loses_values()) wanted = std::max(wanted, kAgreements);
  Result result;
  std::vector<Found> found;
  std::uint64_t seed = seed_;
  for (const Assignment& a : assignments) {
    std::size_t agreed = 0;
    std::size_t undefined = 0;
    for (std::size_t draw = 0; draw < kDraws * wanted + undefined && agreed < wanted && !is_over(deadline_); ++draw) {
      const bool is_more = draw >= kDraws * wanted && draw % 2 == 0;
      const auto inputs = concrete_.draw(a, ++seed, is_more ? Entry::positive : kinds[draw % kinds.size()]);
      if (!inputs) break;
      Concrete::Difference where;
      const Concrete::Agreement compared = concrete_.compare(a, *inputs, kRefutationWork, &where);
      if (compared == Concrete::Agreement::undefined && undefined < kUndefined * wanted && purpose == Purpose::agreement) ++undefined;
      if (compared == Concrete::Agreement::equal || broken(Fault::refute_unclear_agrees)) ++agreed;
      if (compared != Concrete::Agreement::different && !broken(Fault::refute_equal_is_different)) continue;
      found.push_back({a, *inputs, where, count_entries(*inputs)});
      break;
    }
    if (agreed >= wanted) ++result.agreed;
    if (found.size() >= kEnough || is_over(deadline_)) break;
  }
  if (!found.empty()) {
    Found& smallest = *std::min_element(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.entries < y.entries; });
    if (shrink_) shrink(smallest);
    minimise(smallest);
    result.counterexample = describe(smallest);
  }
  return result;
}

bool satisfies_facts(const rules::RuleInstance& instance, const Concrete& concrete, const Assignment& assignment) {
  const ir::Symbols& symbols = instance.arena->symbols();
  for (const auto& [s, v] : assignment.integers)
    if (symbols.info(s).kind == ir::SymbolKind::dimension && v < 1) return false;
  if (concrete.has_empty_tensors(assignment) && !broken(Fault::refute_by_empty_tensors)) return false;
  return std::all_of(instance.facts.begin(), instance.facts.end(), [&](const rules::Fact& f) {
    const auto all = symbols.all_symbols(f.atom.poly);
    const bool elements =
        std::any_of(all.begin(), all.end(), [&](ir::SymbolId s) { return symbols.info(s).kind == ir::SymbolKind::element; });
    return elements || concrete.holds(f.atom, assignment).value_or(false);
  });
}

bool is_number_of(const rules::RuleInstance& instance, std::size_t variable, const ir::Rational& entry) {
  const ir::DataType type = instance.arena->type(instance.variables[variable]).data_type;
  return (!ir::is_integer(type) && type != ir::DataType::boolean) || is_value_of(entry, type);
}

bool satisfies_value_facts(const rules::RuleInstance& instance, const Concrete& concrete, const Assignment& assignment,
                           std::size_t variable, const ir::Rational& entry) {
  return std::all_of(instance.value_facts.begin(), instance.value_facts.end(), [&](const rules::ValueFact& f) {
    if (f.value != instance.variables[variable]) return true;
    switch (f.kind) {
      case rules::ValueFact::Kind::nonzero:
        return entry.numerator() != 0;
      case rules::ValueFact::Kind::positive:
        return entry.numerator() > 0;
      case rules::ValueFact::Kind::nonnegative:
        return entry.numerator() >= 0;
      case rules::ValueFact::Kind::in_range:
        break;
    }
    const ir::Poly e(entry.numerator());
    return entry.denominator() == 1 && concrete.holds(ops::at_least(e, f.low), assignment).value_or(false) &&
           concrete.holds(ops::less_than(e, f.end), assignment).value_or(false);
  });
}

std::optional<Refuter::Found> Refuter::differing(const Assignment& assignment) {
  using Entry = Concrete::Entry;
  for (const Entry kind : {Entry::bits, Entry::small, Entry::small, Entry::edges, Entry::edges, Entry::edges}) {
    if (kind == Entry::edges && !concrete_.loses_values()) break;
    const auto inputs = concrete_.draw(assignment, ++seed_, kind);
    if (!inputs) return std::nullopt;
    Concrete::Difference where;
    if (concrete_.compare(assignment, *inputs, kShrinkWork, &where) != Concrete::Agreement::different) continue;
    return Found{assignment, *inputs, where, count_entries(*inputs)};
  }
  return std::nullopt;
}

bool Refuter::shrink_once(Found& found, int& budget) {
  const ir::Symbols& symbols = instance_.arena->symbols();
  bool changed = false;
  for (const ir::SymbolId s : concrete_.symbols()) {
    const std::int64_t least = symbols.info(s).kind == ir::SymbolKind::dimension ? 1 : 0;
    const std::int64_t now = found.assignment.integers.at(s);
    // Tries the least value first, then one step towards it.
    for (const std::int64_t next : {least, now > least ? now - 1 : now + 1}) {
      if (next == now || (next == least && now == least) || budget <= 0 || is_over(deadline_)) continue;
      Assignment smaller = found.assignment;
      smaller.integers[s] = next;
      if (!satisfies_facts(instance_, concrete_, smaller) && !broken(Fault::refute_shrinks_beyond_facts)) continue;
      --budget;
      auto better = differing(smaller);
      if (!better || better->entries > found.entries) continue;
      found = *std::move(better);
      changed = true;
      break;
    }
  }
  return changed;
}

void Refuter::shrink(Found& found) {
  int budget = kShrinkBudget;
  while (budget > 0 && !is_over(deadline_) && shrink_once(found, budget)) {
  }
}

bool Refuter::still_differs(Found& found, ir::Rational& value, const ir::Rational& simple) {
  const ir::Rational before = value;
  value = simple;
  Concrete::Difference where;
  if (concrete_.compare(found.assignment, found.inputs, kShrinkWork, &where) == Concrete::Agreement::different) {
    if (!broken(Fault::refute_says_old_values)) found.difference = std::move(where);
    return true;
  }
  if (!broken(Fault::refute_keeps_simple_entries)) value = before;
  return false;
}

void Refuter::minimise(Found& found) {
  int budget = shrink_ ? kMinimiseBudget : 0;
  const auto reduce = [&](ir::Rational& value, const std::function<bool(const ir::Rational&)>& allowed) {
    for (const std::int64_t simple : {0, 1, 2, -1}) {
      if (value == ir::Rational(simple)) return;
      if ((simple < 0 && value.numerator() > 0) || !allowed(ir::Rational(simple)) || budget-- <= 0 || is_over(deadline_)) continue;
      if (still_differs(found, value, ir::Rational(simple))) return;
    }
  };
  for (auto& [name, value] : found.assignment.reals) reduce(value, [](const ir::Rational&) { return true; });
  for (std::size_t t = 0; t < found.inputs.size(); ++t) {
    for (ir::Rational& value : found.inputs[t].values) {
      reduce(value, [&](const ir::Rational& simple) {
        if (broken(Fault::refute_entries_beyond_facts)) return true;
        return is_number_of(instance_, t, simple) && satisfies_value_facts(instance_, concrete_, found.assignment, t, simple);
      });
    }
  }
}

Counterexample Refuter::describe(const Found& found) const {
  Counterexample c;
  for (std::size_t t = 0; t < found.inputs.size(); ++t) {
    std::size_t position = 0;
    c.tensors.emplace_back(instance_.variable_names[t], nested(found.inputs[t], 0, position));
    c.shapes.push_back(found.inputs[t].dims);
  }
  name_integers(c, instance_, concrete_, found.assignment);
  for (const auto& [name, value] : found.assignment.reals) c.tensors.emplace_back(name, value.to_string());
  c.output = found.difference.output;
  if (static_cast<std::size_t>(c.output) < instance_.output_names.size())
    c.output_name = instance_.output_names[static_cast<std::size_t>(c.output)];
  c.index = found.difference.index;
  c.source_value = found.difference.source;
  c.target_value = found.difference.target;
  return c;
}

Decision explain_obligation(const rules::RuleInstance& instance, Concrete& concrete, Sampler& sampler,
                            const std::vector<Assignment>& samples, Proof& proof, const rules::Fact& failed) {
  Decision decision;
  const Readable readable(Names{instance.arena->symbols(), instance.variables, instance.variable_names}, {});
  const std::string condition = readable.condition({failed.atom});
  const std::string text = failed.reason.empty() ? condition : failed.reason + " (" + condition + ")";
  const bool is_contradictory = proof.obligations_are_contradictory();
  // True if the source has a type for these sizes, and the target has none or other shapes.
  const auto fails = [&](const Assignment& a) {
    if (!satisfies_facts(instance, concrete, a) || concrete.holds(failed.atom, a).value_or(true)) return false;
    if (broken(Fault::refute_types_that_are_equal)) return true;
    const auto source = concrete.output_shapes(instance.source, a);
    return source && concrete.output_shapes(instance.target, a) != source;
  };
  std::optional<Assignment> witness;
  if (const auto found = std::find_if(samples.begin(), samples.end(), fails); found != samples.end()) witness = *found;
  if (!witness) witness = sampler.satisfying({negation(failed.atom)});
  if (witness && !fails(*witness)) witness.reset();
  if (!witness && is_contradictory) {
    decision.verdict = Verdict::ill_typed;
    decision.open = "no shapes make both sides well typed: " + text;
    return decision;
  }
  if (!witness) {
    decision.verdict = Verdict::unknown;
    decision.open = "typing of the target: " + text;
    return decision;
  }
  // Reduces the sizes one after the other, as long as the obligation fails.
  for (auto& [symbol, value] : witness->integers) {
    const std::int64_t least = instance.arena->symbols().info(symbol).kind == ir::SymbolKind::dimension ? 1 : 0;
    for (std::int64_t next = least; next < value; ++next) {
      Assignment smaller = *witness;
      smaller.integers[symbol] = next;
      if (!fails(smaller)) continue;
      value = next;
      break;
    }
  }
  Counterexample c;
  name_integers(c, instance, concrete, *witness);
  c.source_value = "the source has a type";
  c.target_value = is_contradictory
                       ? "no sizes make both sides well typed: " + text
                       : "the target has it only where " + condition + (failed.reason.empty() ? "" : " (" + failed.reason + ")");
  decision.verdict = Verdict::refuted;
  decision.counterexample = std::move(c);
  return decision;
}

}  // namespace xflow::verifier
