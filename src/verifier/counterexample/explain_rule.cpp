#include "src/verifier/counterexample/explain_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/rules/instantiate.h"
#include "src/verifier/counterexample/explain.h"
#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/proof.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::verifier {

namespace {

std::string indented(std::string_view text, std::string_view by) {
  std::string result;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    result += fmt::format("{}{}\n", by, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string section(std::string_view title, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text.empty() ? text : fmt::format("  {}\n{}", title, text);
}

// Quotients that facts define: O = g*O'.
std::vector<std::string> quotients(const rules::RuleInstance& instance, const Proof& proof) {
  std::vector<std::string> lines;
  const Readable readable(Names{instance.arena->symbols(), instance.variables, instance.variable_names}, {});
  for (const auto& [symbol, value] : proof.solved()) {
    const std::string text = readable.poly(value);
    if (text.find('\'') != std::string::npos) lines.push_back(readable.poly(Poly(symbol)) + " = " + text);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string output_name(const rules::RuleInstance& instance, std::size_t output) {
  return output < instance.output_names.size() ? instance.output_names[output] : std::to_string(output);
}

std::string explain_outputs(const rules::RuleInstance& instance, const Proof& proof) {
  std::string text;
  const Names names{instance.arena->symbols(), instance.variables, instance.variable_names};
  for (std::size_t k = 0; k < proof.outputs().size(); ++k) {
    const Proof::OutputProof& p = proof.outputs()[k];
    const std::string name = output_name(instance, k);
    if (instance.source.outputs[k] == instance.target.outputs[k]) {
      text += fmt::format("  {}\n    both sides are the same value\n", name);
      continue;
    }
    const Readable readable(names, p.free);
    text += fmt::format("  {}\n    source  {}\n    target  {}\n", readable.element(name, p), readable.expression(p.source),
                        readable.expression(p.target));
    text += "    source - target\n" + indented(readable.certificate(p), "      ");
  }
  return text;
}

}  // namespace

std::vector<std::string> source_facts_text(const rules::RuleInstance& instance, const Proof& proof) {
  const Names names{instance.arena->symbols(), instance.variables, instance.variable_names};
  std::vector<std::string> lines;
  for (const Proof::SourceFact& fact : proof.source_facts()) {
    std::string line;
    if (fact.output) {
      const Proof::OutputProof& p = proof.outputs()[*fact.output];
      const Readable readable(names, p.free);
      line =
          fmt::format("{}, where {} has a value", readable.demand(fact.demand), readable.element(output_name(instance, *fact.output), p));
    } else {
      line = Readable(names, {}).demand(fact.demand);
    }
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> source_facts_text(rules::RuleInstance& instance, const Options& options) {
  Proof proof(instance, options.started());
  if (proof.unguarded_division() || proof.failed_obligation() || !proof.run()) return {};
  return source_facts_text(instance, proof);
}

std::string explain_rule(const rules::Rule& rule, const Options& given) {
  const Options options = given.started();
  const RuleDecision decided = decide(rule, options);
  std::string text = fmt::format("{}: {}\n", rule.name, name(decided.verdict));
  auto instances = rules::instantiate(rule, rules::kMaxChoices, [&] { return is_over(options.deadline); });
  if (instances && !instances->empty()) {
    std::size_t which = typical_instance(*instances);
    if (decided.verdict != Verdict::proved)
      for (std::size_t k = 0; k < instances->size(); ++k)
        if ((*instances)[k].choice == decided.choice) which = k;
    rules::RuleInstance& instance = (*instances)[which];
    if (instances->size() > 1)
      text += fmt::format("  shown for {}, one of {} choices that the rule leaves open\n", instance.choice, instances->size());
    text += section("variables", variable_types(instance));
    text += section("assumed", assumptions(instance));
    Proof proof(instance, options);
    if (!proof.unguarded_division() && !proof.failed_obligation()) {
      proof.run();
      text += section("assumed because the source asks for it", source_facts_text(instance, proof));
      text += section("quotients", quotients(instance, proof));
      text += explain_outputs(instance, proof);
    }
  }
  text += section("numbers", {rules::numbers_text(rule)});
  if (decided.verdict == Verdict::proved) {
    std::vector<std::string> needed;
    for (const rules::Guard& g : needed_guards(rule, options)) needed.push_back(rules::print(g));
    text += section("guards that were needed", needed);
  } else if (decided.decision.counterexample) {
    text += section("counterexample", {decided.decision.counterexample->to_string()});
  } else {
    text += section("open", {decided.decision.open});
  }
  return text;
}

}  // namespace xflow::verifier
