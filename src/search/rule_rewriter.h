// Finds the rewrites of a set of rules.
#pragma once

#include <vector>

#include "src/rules/constant_rules.h"
#include "src/rules/verified_rules.h"
#include "src/search/workspace.h"

namespace xflow::search {

// Tries every rule at an operation, in the order in which the rules were added. Constant expressions that a
// rewrite makes are simplified (rules::ConstantRules).
class RuleRewriter final : public Rewriter {
 public:
  // `rules` must outlive the rewriter.
  RuleRewriter(const rules::VerifiedRules& rules, const rules::MatchOptions& options);
  void rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads, const std::function<void(Rewrite)>& found) override;
  bool equal_rewrites(ir::Arena& arena, const ir::GraphView& graph, ir::NodeId root, std::uint64_t& steps,
                      const std::function<void(Rewrite)>& found) override;

 private:
  void match(ir::Arena& arena, const ir::GraphView& graph, ir::NodeId root, const rules::MatchOptions& options,
             const std::function<void(Rewrite)>& found);
  // `merge`: what it is if it replaces several values.
  Rewrite rewrite_by(const rules::Match& match, Merge merge, std::uint64_t key) const;

  const rules::VerifiedRules& rules_;
  rules::ConstantRules constants_;
  rules::MatchOptions options_;
  std::vector<bool> carries_;  // by rule: see Rewrite::carries
};

}  // namespace xflow::search
