// Rewrites by the rules of a set.
#pragma once

#include "src/rules/rule_set.h"
#include "src/search/workspace.h"

namespace xflow::search {

// Tries every rule at an operation, in the order in which they were given.
class RuleRewriter final : public Rewriter {
 public:
  // `rules` must outlive the rewriter.
  RuleRewriter(const rules::VerifiedRules& rules, const rules::MatchOptions& options) : rules_(rules), options_(options) {}
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads, const std::function<void(Rewrite)>& found) override;

 private:
  const rules::VerifiedRules& rules_;
  rules::MatchOptions options_;
};

}  // namespace xflow::search
