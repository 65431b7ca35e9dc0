#include "src/search/rule_rewriter.h"

#include <algorithm>
#include <memory>

#include "src/rules/apply.h"

namespace xflow::search {

void RuleRewriter::rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads,
                            const std::function<void(Rewrite)>& found) {
  rules::MatchOptions options = options_;
  options.reads = &reads;
  rules_.match(graph.arena(), graph, root, options, [&](rules::RuleId rule, const rules::Match& match) {
    const auto kept = std::make_shared<const rules::Match>(match);
    found(Rewrite{rules_.rule(rule).name,
                  [this, kept](ir::Arena& arena) {
                    std::vector<ir::Replacement> result;
                    if (const auto map = rules::apply(arena, *kept, &constants_)) result.assign(map->begin(), map->end());
                    std::sort(result.begin(), result.end());  // the order of a hash map is not deterministic
                    return result;
                  },
                  rules_.rule(rule).outputs.size() > 1, match.nodes});
    return true;
  });
}

}  // namespace xflow::search
