#include "src/verifier/guards/assumed_guards.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/rules/evaluate.h"
#include "src/rules/instantiate.h"
#include "src/verifier/guards/formula_translator.h"

namespace xflow::verifier {

using namespace formulas;
using ir::Poly;
using rules::Guard;

namespace {

// Replaces element k of lists by the lists themselves, for a relation that holds for every element k:
// d[k] >= 1 becomes d >= 1. Returns false if another element occurs. `lists` receives the lists.
bool lift(Formula& e, const Formula& k, std::vector<Formula>& lists) {
  if (e.kind == Formula::Kind::index) {
    if (rules::print(e.arguments[1]) != rules::print(k)) return false;
    Formula list = e.arguments[0];
    lists.push_back(list);
    e = std::move(list);
    return true;
  }
  if (e.kind == Formula::Kind::call && rules::takes_tensor(e.name)) return false;
  return std::all_of(e.arguments.begin(), e.arguments.end(), [&](Formula& a) { return lift(a, k, lists); });
}

}  // namespace

std::vector<std::string> assumed_guards(const rules::Rule& rule, const rules::RuleInstance& instance) {
  const FormulaTranslator translate(rule, instance, Wording::any_rank);
  std::vector<std::string> lines;
  std::vector<Guard> guards;
  std::set<std::string> known;
  const auto add = [&](std::optional<Guard> g, const Poly& p) {
    if (!g) {
      lines.push_back(instance.arena->symbols().to_string(p));
    } else if (known.insert(rules::print(*g)).second) {
      guards.push_back(*std::move(g));
    }
  };
  // Dimensions that share one name in the types, although the rule gives them different names.
  for (std::size_t k = 0; k < instance.variables.size(); ++k) {
    const ir::Shape& shape = instance.arena->type(instance.variables[k]).shape;
    const std::vector<Formula> own = translate.dimensions_of(instance.variable_names[k], shape.size());
    for (std::size_t d = 0; d < own.size(); ++d) {
      // Skips products of names: their factors are described elsewhere.
      if (own[d].kind != Formula::Kind::name && own[d].kind != Formula::Kind::call && own[d].kind != Formula::Kind::index) continue;
      if (translate.is_called(shape[d], instance.variable_names[k], own[d], d)) continue;
      const auto actual = translate.poly(shape[d]);
      if (actual && rules::print(*actual) == rules::print(own[d])) continue;
      add(actual ? std::optional(equal(own[d], *actual)) : std::nullopt, shape[d]);
    }
  }
  for (const rules::Fact& f : instance.facts)
    if (!f.reason.starts_with("guard ")) add(translate.atom(f.atom), f.atom.poly);
  // Joins relations that hold for all elements of lists.
  std::map<std::string, std::size_t> elements;
  const auto lifted = [&](const Guard& g, std::size_t k, std::vector<Formula>& lists) -> std::optional<Guard> {
    Guard result = g;
    for (Formula& e : result.arguments)
      if (!lift(e, number(static_cast<std::int64_t>(k)), lists)) return std::nullopt;
    return lists.empty() ? std::nullopt : std::optional(std::move(result));
  };
  std::vector<std::vector<std::string>> wholes(guards.size());
  for (std::size_t n = 0; n < guards.size(); ++n) {
    for (std::size_t k = 0; k < rules::kMaxRank; ++k) {
      std::vector<Formula> lists;
      const auto whole = lifted(guards[n], k, lists);
      if (!whole) continue;
      wholes[n].push_back(rules::print(*whole));
      ++elements[wholes[n].back()];
    }
  }
  std::set<std::string> said;
  for (std::size_t n = 0; n < guards.size(); ++n) {
    std::string line = rules::print(guards[n]);
    for (const std::string& whole : wholes[n]) {
      std::vector<Formula> lists;
      for (std::size_t k = 0; k < rules::kMaxRank && lists.empty(); ++k) lifted(guards[n], k, lists);
      if (std::all_of(lists.begin(), lists.end(), [&](const Formula& list) { return translate.size_of(list) == elements[whole]; }))
        line = whole;
    }
    if (said.insert(line).second) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace xflow::verifier
