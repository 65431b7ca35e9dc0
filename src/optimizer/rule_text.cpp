#include "src/optimizer/rule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <vector>

#include "src/rules/instantiate.h"
#include "src/verifier/counterexample/explain_rule.h"
#include "src/verifier/proof/assumptions.h"

namespace xflow::api {
namespace {

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? std::string() : line.substr(begin);
}

std::string side_text(const std::vector<rules::Statement>& statements) {
  std::string text;
  for (const rules::Statement& statement : statements) {
    text += text.empty() ? "" : "; ";
    if (statements.size() > 1 || statement.outputs.size() > 1) text += fmt::format("{} := ", fmt::join(statement.outputs, ", "));
    text += rules::print(statement.term);
  }
  return text;
}

// The facts that the source requires are known only if a proof is found within a second.
std::string assumed_text(const rules::Rule& rule) {
  auto instances = rules::instantiate(rule);
  if (!instances) return fmt::format("  no shapes: {}\n", instances.error().message);
  rules::RuleInstance& instance = (*instances)[verifier::typical_instance(*instances)];
  std::string text = "  assumed";
  if (instances->size() > 1) text += fmt::format(" (for {}; {} choices in all)", instance.choice, instances->size());
  text += '\n';
  for (const std::string& line : verifier::variable_types(instance)) text += fmt::format("    {}\n", line);
  for (const std::string& line : verifier::assumptions(instance)) text += fmt::format("    {}\n", line);
  verifier::Options options;
  options.timeout = std::chrono::seconds(1);
  for (const std::string& line : verifier::source_facts_text(instance, options))
    text += fmt::format("    {} (the source asks for it)\n", line);
  return text;
}

}  // namespace

std::string equation_of(const rules::Rule& rule) {
  // Equations are indented further than prose.
  for (const char* indent : {"  ", ""}) {
    for (const std::string& line : rule.comment)
      if (line.starts_with(indent) && line.find(" = ") != std::string::npos) return trimmed(line);
  }
  if (!rule.comment.empty()) return trimmed(rule.comment.front());
  return side_text(rule.source) + " = " + side_text(rule.target);
}

std::string describe_rule(const rules::Rule& rule) {
  return fmt::format("{}{}  numbers: {}\n  hash: {}\n", rules::print(rule), assumed_text(rule), rules::numbers_text(rule),
                     rule.hash.to_string());
}

}  // namespace xflow::api
