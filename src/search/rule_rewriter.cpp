#include "src/search/rule_rewriter.h"

#include "src/rules/apply.h"

namespace xflow::search {

void RuleRewriter::rewrites(const ir::Graph& /*graph*/, const ir::Uses& uses, const std::function<bool(Rewrite)>& found) {
  bool go_on = true;
  for (const ir::NodeId id : uses.order()) {
    const ir::Node& node = arena_.node(id);
    if (node.kind != ir::NodeKind::operation || node.is_constant) continue;
    rules_.match(arena_, uses, id, options_, [&](rules::RuleId rule, rules::Match& match) {
      if (auto replacements = rules::apply(arena_, match)) go_on = found(Rewrite{rules_.rule(rule).name, *std::move(replacements)});
      return go_on;
    });
    if (!go_on) return;
  }
}

}  // namespace xflow::search
