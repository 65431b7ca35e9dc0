#include "src/generator/rules/rule_directions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "src/rules/rule_parts.h"
#include "src/verifier/proof/assumptions.h"

namespace xflow::generator {
namespace {

void names_of(const rules::Term& term, std::set<std::string>& names) {
  if (term.kind == rules::Term::Kind::variable || term.kind == rules::Term::Kind::list) names.insert(term.name);
  for (const rules::Term& t : term.operands) names_of(t, names);
}

// The statements that define `wanted`, in order.
std::vector<rules::Statement> slice(const std::vector<rules::Statement>& statements, std::set<std::string> wanted) {
  std::vector<rules::Statement> result;
  for (std::size_t k = statements.size(); k-- > 0;) {
    const rules::Statement& s = statements[k];
    if (std::none_of(s.outputs.begin(), s.outputs.end(), [&](const std::string& o) { return wanted.contains(o); })) continue;
    names_of(s.term, wanted);
    result.insert(result.begin(), s);
  }
  return result;
}

// Turns the other outputs of the rule into inner values, with different names on the two sides.
void hide(std::vector<rules::Statement>& statements, const std::vector<std::string>& outputs, const std::string& kept, const char* suffix) {
  const auto rename = [&](std::string& name) {
    if (name != kept && std::find(outputs.begin(), outputs.end(), name) != outputs.end()) name += suffix;
  };
  const auto in_term = [&](auto&& self, rules::Term& term) -> void {
    if (term.kind == rules::Term::Kind::variable) rename(term.name);
    for (rules::Term& t : term.operands) self(self, t);
  };
  for (rules::Statement& s : statements) {
    for (std::string& o : s.outputs) rename(o);
    in_term(in_term, s.term);
  }
}

// Makes a rule of two sides; nothing if they form none.
std::optional<rules::Rule> rule_of(const rules::Rule& rule, std::vector<rules::Statement> source, std::vector<rules::Statement> target) {
  rules::Rule result;
  result.name = rule.name;
  result.source = std::move(source);
  result.target = std::move(target);
  std::set<std::string> names;
  for (const auto* side : {&result.source, &result.target})
    for (const rules::Statement& s : *side) names_of(s.term, names);
  for (const rules::Declaration& d : rule.declarations)
    if (names.contains(d.variable)) result.declarations.push_back(d);
  for (const rules::Guard& g : rule.guards)
    if (verifier::enters_proof(g) && !is_about_values(g)) result.guards.push_back(g);
  result.file = rule.name;
  auto checked = rules::checked(std::move(result));
  if (!checked) return std::nullopt;
  return *std::move(checked);
}

}  // namespace

bool is_about_values(const rules::Guard& guard) {
  return guard.kind == rules::Guard::Kind::is_nonzero || guard.kind == rules::Guard::Kind::is_positive ||
         guard.kind == rules::Guard::Kind::is_nonnegative;
}

std::vector<rules::Rule> directions_of(const rules::Rule& rule, bool as_written) {
  std::vector<rules::Rule> result;
  const auto add = [&](const std::vector<rules::Statement>& source, const std::vector<rules::Statement>& target) {
    if (auto direction = rule_of(rule, source, target)) result.push_back(*std::move(direction));
  };
  if (rule.outputs.size() > 1 || as_written) add(rule.source, rule.target);
  if (as_written) return result;
  if (rule.outputs.size() > 1) add(rule.target, rule.source);
  for (const std::string& output : rule.outputs) {
    std::vector<rules::Statement> source = slice(rule.source, {output});
    std::vector<rules::Statement> target = slice(rule.target, {output});
    hide(source, rule.outputs, output, "_source");
    hide(target, rule.outputs, output, "_target");
    add(source, target);
    add(target, source);
  }
  return result;
}

}  // namespace xflow::generator
