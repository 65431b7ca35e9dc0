#include "src/search/rule_rewriter.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "src/rules/apply.h"

namespace xflow::search {
namespace {

// Of matching one pattern at one operation of an e-graph.
constexpr std::uint64_t kMostMatchSteps = 2'000;

// A hash of the rule and of all that the match has bound but attributes, which the operations decide.
std::uint64_t key_of(rules::RuleId rule, const rules::Match& match) {
  std::uint64_t key = static_cast<std::uint64_t>(rule) + 1;
  const auto add = [&key](std::uint64_t value) { key = (key ^ value) * 0x9E3779B97F4A7C15ULL + (key >> 29U); };
  const auto add_value = [&](ir::ValueId value) { add(std::hash<ir::ValueId>()(value)); };
  for (const ir::NodeId node : match.nodes) add(static_cast<std::uint64_t>(node));
  for (const auto& [name, value] : match.environment.values) add_value(value);
  for (const auto& [name, list] : match.environment.lists)
    for (const ir::ValueId value : list) add_value(value);
  return key | 1U;
}

bool applies(const rules::Term& term, std::string_view op) { return term.kind == rules::Term::Kind::application && term.name == op; }
bool has_slice(const rules::Term& term) { return applies(term, "slice") || std::ranges::any_of(term.operands, has_slice); }

// The source is a slice or a gather, the target is no slice and has one inside.
bool carries(const rules::Rule& rule) {
  if (rule.outputs.size() != 1 || rule.source.empty() || rule.target.empty()) return false;
  const rules::Term& from = rule.source.back().term;
  if ((!applies(from, "slice") && !applies(from, "gather")) || applies(rule.target.back().term, "slice")) return false;
  return std::ranges::any_of(rule.target, [](const rules::Statement& statement) { return has_slice(statement.term); });
}

}  // namespace

RuleRewriter::RuleRewriter(const rules::VerifiedRules& rules, const rules::MatchOptions& options)
    : rules_(rules), constants_(rules), options_(options) {
  for (std::size_t k = 0; k < rules.size(); ++k) carries_.push_back(carries(rules.rule(static_cast<rules::RuleId>(k))));
}

void RuleRewriter::rewrites(ir::WorkGraph& graph, ir::NodeId root, std::vector<ir::NodeId>& reads,
                            const std::function<void(Rewrite)>& found) {
  rules::MatchOptions options = options_;
  options.reads = &reads;
  match(graph.arena(), graph, root, options, found);
}

bool RuleRewriter::equal_rewrites(ir::Arena& arena, const ir::GraphView& graph, ir::NodeId root, std::uint64_t& steps,
                                  const std::function<void(Rewrite)>& found) {
  rules::MatchOptions options = options_;
  bool is_cut = false;
  options.steps = &steps;
  options.most_steps = kMostMatchSteps;
  options.is_cut = &is_cut;
  match(arena, graph, root, options, found);
  return !is_cut;
}

void RuleRewriter::match(ir::Arena& arena, const ir::GraphView& graph, ir::NodeId root, const rules::MatchOptions& options,
                         const std::function<void(Rewrite)>& found) {
  // A set of siblings comes before its pairs.
  rules_.match_families(arena, graph, root, options, [&](const rules::Match& match) {
    found(rewrite_by(match, Merge::all, 0));
    return true;
  });
  rules_.match(arena, graph, root, options, [&](rules::RuleId rule, const rules::Match& match) {
    Rewrite rewrite = rewrite_by(match, Merge::some, graph.classes() != nullptr ? key_of(rule, match) : 0);
    rewrite.carries = carries_[static_cast<std::size_t>(rule)];
    found(std::move(rewrite));
    return true;
  });
}

Rewrite RuleRewriter::rewrite_by(const rules::Match& match, Merge merge, std::uint64_t key) const {
  const auto kept = std::make_shared<const rules::Match>(match);
  const rules::Rule& rule = kept->pattern->rule();
  return {rule.name,
          [this, kept](ir::Arena& made_in) {
            std::vector<ir::Replacement> result;
            if (const auto map = rules::apply(made_in, *kept, &constants_)) result.assign(map->begin(), map->end());
            std::sort(result.begin(), result.end());  // the order of a hash map is not deterministic
            return result;
          },
          rule.outputs.size() > 1 ? merge : Merge::none, match.nodes, key};
}

}  // namespace xflow::search
