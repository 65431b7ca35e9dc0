// Rewrites by the rules of a set.
#pragma once

#include "src/rules/rule_set.h"
#include "src/search/search.h"

namespace xflow::search {

// Tries every rule at every operation, operations in topological order and rules in the order that they were given.
class RuleRewriter final : public Rewriter {
 public:
  // `rules` must outlive the rewriter.
  RuleRewriter(ir::Arena& arena, const rules::VerifiedRules& rules, const rules::MatchOptions& options)
      : arena_(arena), rules_(rules), options_(options) {}
  void rewrites(const ir::Graph& graph, const ir::Uses& uses, const std::function<bool(Rewrite)>& found) override;

 private:
  ir::Arena& arena_;
  const rules::VerifiedRules& rules_;
  rules::MatchOptions options_;
};

}  // namespace xflow::search
