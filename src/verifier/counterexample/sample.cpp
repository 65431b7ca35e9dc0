#include "src/verifier/counterexample/sample.h"

#include <algorithm>

namespace xflow::verifier {

using ir::Poly;
using ir::SymbolId;
using ir::SymbolKind;
using ops::Atom;
using ops::Relation;

Sampler::Sampler(const rules::RuleInstance& instance, const Concrete& concrete, std::uint64_t seed, std::uint64_t resource_limit,
                 const Deadline& deadline)
    : instance_(instance),
      concrete_(concrete),
      state_(seed * 2 + 1),
      deadline_(deadline),
      solver_(instance.arena->symbols(), resource_limit, deadline) {
  for (const rules::Fact& f : instance.facts) solver_.assume(f.atom);
  for (const Poly& p : concrete.open_sizes()) solver_.assume(ops::at_least(p, Poly(1)));
}

// The linear congruential generator of Knuth's MMIX; only the high bits are used.
std::uint64_t Sampler::next_random() {
  state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return state_ >> 33U;
}

bool Sampler::time_is_up() const { return deadline_.is_over(); }

bool Sampler::about_elements(const Atom& atom) const {
  const auto& symbols = instance_.arena->symbols();
  const auto all = symbols.all_symbols(atom.poly);
  return std::any_of(all.begin(), all.end(), [&](SymbolId s) { return symbols.info(s).kind == SymbolKind::element; });
}

bool Sampler::satisfies_facts(const Assignment& assignment) const {
  const auto& symbols = instance_.arena->symbols();
  for (const auto& [s, v] : assignment.integers)
    if (symbols.info(s).kind == SymbolKind::dimension && v < 1) return false;
  if (concrete_.has_empty_tensors(assignment)) return false;
  return std::all_of(instance_.facts.begin(), instance_.facts.end(),
                     [&](const rules::Fact& f) { return about_elements(f.atom) || concrete_.holds(f.atom, assignment).value_or(false); });
}

void Sampler::draw_reals(Assignment& assignment) {
  for (const std::string& name : concrete_.reals()) {
    const auto numerator = static_cast<std::int64_t>(next_random() % 7) - 3;
    assignment.reals[name] = *ir::Rational::make(numerator == 0 ? 5 : numerator, static_cast<std::int64_t>(next_random() % 2) + 1);
  }
}

Assignment Sampler::random_assignment(std::int64_t largest) {
  // If there are many symbols, most are given the smallest value, so that tensors are small.
  const bool many = concrete_.symbols().size() > 9;
  // Attributes may be sizes, where 0 leaves nothing to compare, or pads, where 1 makes tensors large.
  const bool sizes = next_random() % 2 == 0;
  Assignment a;
  for (const SymbolId s : concrete_.symbols()) {
    const bool dimension = instance_.arena->symbols().info(s).kind == SymbolKind::dimension;
    auto n = static_cast<std::int64_t>(next_random() % static_cast<std::uint64_t>(largest));
    if (many && next_random() % 10 < 7) n = dimension || !sizes ? 0 : 1;
    a.integers[s] = dimension ? n + 1 : n;
  }
  draw_reals(a);
  return a;
}

// Moves towards the facts. A failing equation assigns one of its symbols (with coefficient 1 or -1) the
// value that solves it. A failing inequality moves one of its symbols by the missing amount.
void Sampler::repair(Assignment& assignment, const std::vector<Atom>& facts) {
  const auto& symbols = instance_.arena->symbols();
  for (int round = 0; round < 8; ++round) {
    bool moved = false;
    for (const Atom& f : facts) {
      if (about_elements(f) || concrete_.holds(f, assignment).value_or(true)) continue;
      const auto value = symbols.evaluate(f.poly, [&](SymbolId s) -> std::optional<std::int64_t> {
        const auto known = assignment.integers.find(s);
        return known == assignment.integers.end() ? std::nullopt : std::optional(known->second);
      });
      if (!value) continue;
      std::vector<std::pair<SymbolId, std::int64_t>> candidates;
      for (const auto& [s, v] : assignment.integers) {
        const auto linear = f.poly.linear_in(s);
        if (!linear || !linear->first.is_constant() || symbols.occurs(linear->second, s)) continue;
        const std::int64_t c = *linear->first.constant();
        if (c == 1 || c == -1) candidates.emplace_back(s, c);
      }
      // For a product: factors whose other factors are 1.
      for (const auto& [s, v] : assignment.integers) {
        if (f.relation != Relation::zero || !candidates.empty()) break;
        const auto linear = f.poly.linear_in(s);
        if (!linear || symbols.occurs(linear->first, s) || symbols.occurs(linear->second, s)) continue;
        const auto c = concrete_.value(linear->first, assignment);
        if (c == 1 || c == -1) candidates.emplace_back(s, *c);
      }
      if (candidates.empty()) continue;
      const auto [s, c] = candidates[next_random() % candidates.size()];
      assignment.integers[s] += f.relation == Relation::not_zero ? 1 : -c * *value;
      moved = true;
    }
    if (!moved) return;
  }
}

std::optional<Assignment> Sampler::model(ops::Condition extra, std::int64_t largest, bool pins) {
  ops::Condition conditions = std::move(extra);
  const auto& symbols = instance_.arena->symbols();
  for (const SymbolId s : concrete_.symbols()) {
    conditions.push_back(ops::at_least(Poly(largest), Poly(s)));
    if (symbols.info(s).kind != SymbolKind::dimension) conditions.push_back(ops::at_least(Poly(s), Poly(-largest)));
  }
  const std::size_t fixed = conditions.size();
  if (pins) {
    for (const SymbolId s : concrete_.symbols()) {
      if (next_random() % 3 != 0) continue;
      const auto n = static_cast<std::int64_t>(next_random() % 3) + (symbols.info(s).kind == SymbolKind::dimension ? 1 : 0);
      conditions.push_back(ops::equal(Poly(s), Poly(n)));
    }
  }
  for (;;) {
    if (const auto found = solver_.model(conditions, concrete_.symbols())) {
      Assignment a;
      a.integers = *found;
      draw_reals(a);
      return satisfies_facts(a) ? std::optional(a) : std::nullopt;
    }
    if (conditions.size() == fixed || time_is_up()) return std::nullopt;
    conditions.resize(fixed + (conditions.size() - fixed) / 2);
  }
}

// True if some output has an element.
bool Sampler::says_something(const Assignment& assignment) const {
  return std::any_of(instance_.source.outputs.begin(), instance_.source.outputs.end(), [&](ir::ValueId v) {
    const auto dims = concrete_.shape(v, assignment);
    return dims && std::find(dims->begin(), dims->end(), 0) == dims->end();
  });
}

std::vector<Assignment> Sampler::assignments(std::size_t wanted) {
  std::vector<Assignment> result;
  std::vector<Assignment> empty;  // used only if there are not enough others
  std::vector<Atom> facts;
  facts.reserve(instance_.facts.size());
  for (const rules::Fact& f : instance_.facts) facts.push_back(f.atom);
  const auto add = [&](Assignment a) {
    const bool known = std::any_of(result.begin(), result.end(), [&](const Assignment& b) { return a.integers == b.integers; });
    if (known || !satisfies_facts(a)) return;
    (says_something(a) ? result : empty).push_back(std::move(a));
  };
  for (int round = 0; round < 240 && result.size() < wanted && !time_is_up(); ++round) {
    Assignment a = random_assignment(round < 40 ? 2 : round < 160 ? 3 : round < 200 ? 5 : 12);
    repair(a, facts);
    add(std::move(a));
  }
  // Z3 is used only if random sampling found far too few.
  const std::size_t enough = wanted - wanted / 3;
  for (int round = 0; round < 12 && result.size() < enough && !concrete_.symbols().empty() && !time_is_up(); ++round) {
    if (auto a = model({}, round < 8 ? 6 : 12, true)) add(*std::move(a));
  }
  for (Assignment& a : empty)
    if (result.size() < wanted) result.push_back(std::move(a));
  return result;
}

std::vector<Assignment> Sampler::quick_assignments(std::size_t wanted) {
  std::vector<Assignment> result;
  std::vector<Atom> facts;
  facts.reserve(instance_.facts.size());
  for (const rules::Fact& f : instance_.facts) facts.push_back(f.atom);
  for (std::size_t round = 0; round < 8 * wanted && result.size() < wanted; ++round) {
    Assignment a = random_assignment(round % 2 == 0 ? 2 : 3);
    repair(a, facts);
    const bool known = std::any_of(result.begin(), result.end(), [&](const Assignment& b) { return a.integers == b.integers; });
    if (!known && satisfies_facts(a) && says_something(a)) result.push_back(std::move(a));
  }
  return result;
}

// Draws the symbols that the facts leave free, moves them towards the remaining facts, and computes the
// others.
std::optional<Assignment> Sampler::constructed(const SolvedFacts& solved, std::int64_t largest) {
  const auto& symbols = instance_.arena->symbols();
  Assignment a;
  const auto draw = [&](SymbolId s) {
    if (solved.solved.contains(s) || a.integers.contains(s)) return;
    const std::int64_t low = symbols.info(s).kind == SymbolKind::dimension ? 1 : 0;
    a.integers[s] = low + static_cast<std::int64_t>(next_random() % static_cast<std::uint64_t>(largest));
  };
  const auto is_drawn = [&](SymbolId s) {
    const SymbolKind kind = symbols.info(s).kind;
    return kind == SymbolKind::dimension || kind == SymbolKind::parameter;
  };
  const auto draw_all = [&](const Poly& p) {
    for (const SymbolId s : symbols.all_symbols(p))
      if (is_drawn(s)) draw(s);
  };
  for (const SymbolId s : concrete_.symbols()) draw(s);
  for (const auto& [s, value] : solved.solved) draw_all(value);
  for (const Atom& f : solved.facts) draw_all(f.poly);
  repair(a, solved.facts);
  const Assignment free = a;
  for (const SymbolId s : concrete_.symbols()) {
    const auto found = solved.solved.find(s);
    if (found == solved.solved.end()) continue;
    const auto value = symbols.evaluate(found->second, [&](SymbolId x) -> std::optional<std::int64_t> {
      const auto known = free.integers.find(x);
      return known == free.integers.end() ? std::nullopt : std::optional(known->second);
    });
    if (!value) return std::nullopt;
    a.integers[s] = *value;
  }
  std::erase_if(a.integers, [&](const auto& entry) {
    return std::find(concrete_.symbols().begin(), concrete_.symbols().end(), entry.first) == concrete_.symbols().end();
  });
  draw_reals(a);
  return satisfies_facts(a) ? std::optional(a) : std::nullopt;
}

std::vector<Assignment> Sampler::others(const std::vector<Assignment>& known, std::size_t wanted) {
  if (concrete_.symbols().empty()) return {};
  std::vector<Assignment> result;
  std::vector<Assignment> empty;  // appended last
  const auto add = [&](std::optional<Assignment> a) {
    if (!a) return;
    const auto has = [&](const std::vector<Assignment>& list) {
      return std::any_of(list.begin(), list.end(), [&](const Assignment& b) { return a->integers == b.integers; });
    };
    if (has(known) || has(result) || has(empty)) return;
    (says_something(*a) ? result : empty).push_back(*std::move(a));
  };
  const SolvedFacts solved = solve_facts(instance_.arena->symbols(), instance_.facts);
  for (int round = 0; round < 400 && result.size() < wanted && !time_is_up(); ++round) {
    add(constructed(solved, round < 100 ? 2 : round < 300 ? 3 : 5));
  }
  const auto random_symbol = [&] { return concrete_.symbols()[next_random() % concrete_.symbols().size()]; };
  for (int round = 0; round < 48 && result.size() < wanted && !time_is_up(); ++round) {
    ops::Condition differ;
    for (const auto* list :
         {&known, static_cast<const std::vector<Assignment>*>(&result), static_cast<const std::vector<Assignment>*>(&empty)}) {
      for (const Assignment& a : *list) {
        const SymbolId s = random_symbol();
        differ.push_back(ops::different(Poly(s), Poly(a.integers.at(s))));
      }
    }
    add(model(std::move(differ), round < 16 ? 4 : round < 32 ? 8 : 24, false));
  }
  result.insert(result.end(), empty.begin(), empty.end());
  return result;
}

bool Sampler::are_all(const std::vector<Assignment>& known) {
  if (concrete_.symbols().empty()) return !known.empty();
  std::vector<ops::Condition> goals;
  for (const Assignment& a : known) {
    ops::Condition same;
    for (const auto& [s, v] : a.integers) same.push_back(ops::equal(Poly(s), Poly(v)));
    goals.push_back(std::move(same));
  }
  return solver_.implies_one_of({}, goals, Solver::Effort::full);
}

std::optional<Assignment> Sampler::satisfying(const ops::Condition& condition) {
  for (const std::int64_t largest : {4, 8, 32})
    if (auto a = model(condition, largest, false)) return a;
  return std::nullopt;
}

}  // namespace xflow::verifier
