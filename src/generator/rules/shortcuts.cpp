#include "src/generator/rules/shortcuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/generator/rules/gain.h"
#include "src/generator/rules/rule_goal.h"
#include "src/generator/rules/rule_writer.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule_parts.h"

namespace xflow::generator {
namespace {

// Whether nothing is read twice but inputs that are no parameters, and these by different operations. Gains
// of x + x are gains of the sum of any two.
bool reads_once(const GraphSignature& signature, const SmallGraph& graph) {
  std::vector<bool> read(signature.leaves().size() + 2 * graph.nodes.size());
  for (const SmallGraphNode& n : graph.nodes) {
    if (n.operands.size() > 1 && n.operands[0] == n.operands[1]) return false;
    for (const std::uint8_t o : n.operands) {
      const bool may_be_shared = o < signature.leaves().size() && !(o < signature.inputs() && is_parameter(signature, o));
      if (read[o] && !may_be_shared) return false;
      read[o] = true;
    }
  }
  return true;
}

}  // namespace

ShortcutFinder::ShortcutFinder(std::span<const KeptRule> kept, const DeriveLimits& limits, const verifier::Options& options)
    : one_step_(limits), options_(options) {
  one_step_.rounds = 1;
  // A rule that cannot be added rewrites no small graph.
  const auto add = [&](const rules::Rule& rule) { (void)directed_.add(rule, true); };
  for (const KeptRule& k : kept) {
    if (!k.needed || !k.proved) continue;
    if (k.gain.forwards || k.pair) add(k.rule);
    for (const std::optional<rules::Rule>* rule : {&k.folded, &k.back, &k.folded_back})
      if (*rule) add(**rule);
  }
}

void ShortcutFinder::find(const GraphSignature& signature, std::size_t signature_number, std::span<const RuleCandidate> candidates) {
  for (const RuleCandidate& c : candidates) {
    if (c.source.outputs.size() != 1 || !reads_once(signature, c.source) || !reads_once(signature, c.target)) continue;
    for (const RuleCandidate& directed : {c, RuleCandidate{c.target, c.source}}) {
      const std::vector<std::size_t> constants = parameters_that_pay(signature, directed);
      if (!constants.empty() || loses_numbers(signature, directed)) try_direction(signature, signature_number, directed, constants);
    }
  }
}

void ShortcutFinder::find_superpositions(const GraphSignature& signature, std::size_t signature_number,
                                         std::span<const RuleCandidate> candidates) {
  for (const RuleCandidate& c : candidates) {
    if (!reads_once(signature, c.source) || !reads_once(signature, c.target)) continue;
    const std::vector<std::size_t> constants = parameters_that_pay(signature, c);
    if (!constants.empty() || always_pays(signature, c)) try_direction(signature, signature_number, c, constants);
  }
}

void ShortcutFinder::try_direction(const GraphSignature& signature, std::size_t signature_number, const RuleCandidate& candidate,
                                   std::span<const std::size_t> constants) {
  const FlatEquation equation = GeneralShapes(signature, candidate).concrete(directed_.vocabulary());
  if (directed_.derives(equation, one_step_, Goal::rewrite)) return;
  const std::string name = fmt::format("shortcut-{}-{}", found_.size() + 1, name_of(signature, candidate));
  const std::optional<rules::Rule> proved = first_proved(signature, candidate, name, false, options_);
  if (!proved) return;
  rules::Rule rule = with_constants(*proved, constants).value_or(*proved);
  (void)directed_.add(rule, true);
  // Rules with groups have reshaped numbers for channels where candidates have them as they are
  // (generalisation.cpp), so that later candidates are compared with the form without groups too.
  if (signature.kind() == TensorKind::image)
    if (const auto enumerated = rules::checked(write_rule(signature, candidate, name).back().rule)) (void)directed_.add(*enumerated, true);
  found_.push_back({signature_number, candidate, std::move(rule)});
}

}  // namespace xflow::generator
