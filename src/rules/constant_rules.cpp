#include "src/rules/constant_rules.h"

#include <algorithm>

#include "src/rules/apply.h"

namespace xflow::rules {
namespace {

// A view without users: the sources of constant rules have one root.
class NoUses final : public ir::GraphView {
 public:
  bool contains(ir::NodeId) const override { return true; }
  std::size_t position(ir::NodeId node) const override { return static_cast<std::size_t>(node); }
  std::span<const ir::NodeId> users(ir::NodeId) const override { return {}; }
  std::size_t use_count(ir::ValueId) const override { return 0; }
};

std::size_t operations_of(const Term& term) {
  std::size_t count = term.kind == Term::Kind::application ? 1 : 0;
  for (const Term& operand : term.operands) count += operations_of(operand);
  return count;
}
std::size_t operations_of_target(const Rule& rule) {
  std::size_t count = 0;
  for (const Statement& statement : rule.target) count += operations_of(statement.term);
  return count;
}

// True if all outputs of the rule are the outputs of one operation, which uses nothing but its operands.
bool has_one_root(const Pattern& pattern) {
  if (std::ranges::count_if(pattern.nodes(), &PatternNode::is_root) != 1) return false;
  const std::vector<std::size_t>& outputs = pattern.nodes()[0].outputs;
  return outputs.size() == pattern.rule().outputs.size() && std::ranges::all_of(outputs, [&](std::size_t slot) {
           return std::ranges::find(pattern.rule().outputs, pattern.slot_name(slot)) != pattern.rule().outputs.end();
         });
}

bool makes_smaller(const Pattern& pattern) {
  const Rule& rule = pattern.rule();
  if (rule.float_class != FloatClass::exact || !has_one_root(pattern)) return false;
  if (std::ranges::any_of(rule.guards, [](const Guard& guard) { return guard.kind == Guard::Kind::uses_equal; })) return false;
  return operations_of_target(rule) < pattern.nodes().size();
}

}  // namespace

ConstantRules::ConstantRules(const VerifiedRules& rules) : rules_(rules) {
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const auto id = static_cast<RuleId>(k);
    const Pattern& pattern = rules.pattern(id);
    if (!makes_smaller(pattern)) continue;
    by_root_[static_cast<std::uint16_t>(pattern.root())].push_back({id, operations_of_target(pattern.rule())});
    ++size_;
  }
}

void ConstantRules::simplify(ir::Arena& arena, std::vector<ir::ValueId>& outputs) const {
  if (outputs.empty()) return;
  const ir::NodeId id = outputs[0].node;
  const ir::Node& node = arena.node(id);
  if (node.kind != ir::NodeKind::operation || !node.is_constant) return;
  const auto smaller = by_root_.find(static_cast<std::uint16_t>(node.op));
  if (smaller == by_root_.end()) return;
  const NoUses uses;
  MatchOptions options;
  options.constants = true;
  bool done = false;
  for (const SmallerRule& rule : smaller->second) {
    match(rules_.pattern(rule.id), arena, uses, id, options, [&](Match& match) {
      // Two operations of the source can match one. Each step makes the expression smaller, so it ends.
      if (match.nodes.size() <= rule.operations) return true;
      // The target's operations are simplified as they are built.
      const auto replacements = apply(arena, match, this);
      if (!replacements) return true;
      for (ir::ValueId& output : outputs) {
        if (const auto found = replacements->find(output); found != replacements->end()) output = found->second;
      }
      done = true;
      return false;
    });
    if (done) return;
  }
}

}  // namespace xflow::rules
