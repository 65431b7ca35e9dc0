#include "src/rules/family_match.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace xflow::rules {
namespace {

constexpr int kMostLevels = 4;
constexpr std::size_t kMostVisited = 256;
constexpr int kLevelsOfDependence = 6;  // a longer dependence is found when the rewrite is applied

// One part of a family of siblings.
struct Sibling {
  Match match;
  std::vector<ir::OperatorId> producers;  // of its operands, in their order; of constants and inputs none
  std::vector<ir::OperatorId> readers;    // sorted
};

class FamilyMatcher {
 public:
  FamilyMatcher(const OpenFamily& family, ir::Arena& arena, const ir::GraphView& uses, const MatchOptions& options,
                const std::function<bool(Match&)>& found)
      : family_(family), arena_(arena), uses_(uses), options_(options), found_(found) {}

  // The operation that counts the parts is `root`, or is a few operands away.
  void counted(ir::NodeId root) {
    const OpenFamily::Counter& counter = *family_.counter();
    std::set<int> counts;
    for (const ir::NodeId id : within(root, levels_to_counter(), true)) {
      const ir::Node& node = arena_.node(id);
      if (node.kind != ir::NodeKind::operation || node.op != counter.op) continue;
      const auto parts = static_cast<int>(counter.by_outputs ? node.outputs.size() : node.operands.size()) - counter.fixed;
      if (parts > family_.last_in_file()) counts.insert(parts);
    }
    for (const int parts : counts) {
      const auto member = family_.member(parts);
      if (member != nullptr) match(*member, arena_, uses_, root, options_, found_);
    }
  }

  void siblings(ir::NodeId root) {
    first_ = family_.member(1);
    if (first_ == nullptr || arena_.node(root).op != first_->root()) return;
    auto mine = sibling(root);
    if (!mine) return;
    // match() finds the smaller sets by what they share.
    const auto least = static_cast<std::size_t>(shared_operand(*mine) ? family_.last_in_file() : std::max(family_.from(), 2));
    std::vector<Sibling> all;
    const bool independent = depend_on_shared_alone();
    const std::unordered_set<ir::NodeId> mine_above = independent ? std::unordered_set<ir::NodeId>() : above(root);
    for (const ir::NodeId id : candidates(root, *mine)) {
      auto other = sibling(id);
      if (!other || !agrees(*mine, *other)) continue;
      if (!independent && (mine_above.contains(id) || above(id).contains(root))) continue;
      if (id < root) return;  // the set is found there
      all.push_back(*std::move(other));
      if (all.size() + 1 == kMostParts) break;
    }
    all.insert(all.begin(), *std::move(mine));
    if (!independent) drop_dependent(all);
    report_sets(all, least);
  }

 private:
  // The number of operands from the root of the pattern down to the operation that counts.
  int levels_to_counter() const {
    const auto smallest = family_.member(family_.from());
    if (smallest == nullptr || smallest->root() == family_.counter()->op) return 0;
    std::vector<std::size_t> level{0};
    for (int levels = 1; levels < kMostLevels; ++levels) {
      std::vector<std::size_t> next;
      for (const std::size_t at : level)
        for (const PatternOperand& operand : smallest->nodes()[at].operands)
          if (operand.node >= 0) next.push_back(static_cast<std::size_t>(operand.node));
      if (std::ranges::any_of(next, [&](std::size_t at) { return smallest->nodes()[at].op == family_.counter()->op; })) return levels;
      level = std::move(next);
    }
    return kMostLevels;
  }

  void read(ir::NodeId id) const {
    if (options_.reads != nullptr) options_.reads->push_back(id);
  }

  // The operations at most `levels` operands above (or users below) an operation, without constants; itself
  // first.
  std::vector<ir::NodeId> within(ir::NodeId from, int levels, bool up) const {
    std::vector<ir::NodeId> result{from};
    std::unordered_set<ir::NodeId> seen{from};
    std::size_t begin = 0;
    for (int level = 0; level < levels && result.size() < kMostVisited; ++level) {
      const std::size_t end = result.size();
      for (; begin < end; ++begin) {
        const ir::NodeId id = result[begin];
        read(id);
        const auto add = [&](ir::NodeId next) {
          if (result.size() < kMostVisited && !arena_.node(next).is_constant && seen.insert(next).second) result.push_back(next);
        };
        if (up) {
          for (const ir::ValueId operand : arena_.node(id).operands)
            if (!arena_.is_absent(operand)) add(operand.node);
        } else if (uses_.contains(id)) {
          for (const ir::NodeId user : uses_.users(id)) add(user);
        }
      }
    }
    return result;
  }
  std::unordered_set<ir::NodeId> above(ir::NodeId id) const {
    const std::vector<ir::NodeId> all = within(id, kLevelsOfDependence, true);
    return {all.begin() + 1, all.end()};
  }

  std::optional<Sibling> sibling(ir::NodeId id) const {
    std::optional<Sibling> result;
    match(*first_, arena_, uses_, id, options_, [&](Match& match) {
      // Each node of the pattern is an operation of its own.
      if (match.nodes.size() == first_->nodes().size()) result.emplace(Sibling{match, {}, {}});
      return !result;
    });
    if (!result) return result;
    for (const ir::ValueId operand : arena_.node(id).operands) {
      const ir::Node* node = arena_.is_absent(operand) ? nullptr : &arena_.node(operand.node);
      if (node != nullptr && node->kind == ir::NodeKind::operation && !node->is_constant) result->producers.push_back(node->op);
    }
    for (const ir::NodeId user : uses_.users(id)) {
      read(user);
      result->readers.push_back(arena_.node(user).op);
    }
    std::ranges::sort(result->readers);
    return result;
  }

  // Everything without an index is the same.
  bool agrees(const Sibling& a, const Sibling& b) const {
    const Environment& x = a.match.environment;
    const Environment& y = b.match.environment;
    const auto same = [&](const auto& p, const auto& q) {
      return p.size() == q.size() && std::ranges::equal(p, q, [&](const auto& one, const auto& other) {
               return one.first == other.first && (family_.is_indexed(one.first) || one.second == other.second);
             });
    };
    return same(x.values, y.values) && same(x.attributes, y.attributes);
  }

  // A variable that all siblings read and that has users in the graph.
  std::optional<ir::NodeId> shared_operand(const Sibling& sibling) const {
    for (const PatternVariable& variable : first_->variables()) {
      if (family_.is_indexed(variable.name) || variable.constant || variable.is_list) continue;
      const ir::ValueId value = sibling.match.environment.values.at(variable.name);
      if (uses_.contains(value.node)) return value.node;
    }
    return std::nullopt;
  }
  bool depend_on_shared_alone() const {
    return std::ranges::all_of(first_->variables(), [&](const PatternVariable& v) { return !family_.is_indexed(v.name) || v.constant; });
  }

  // Operations with the operator of the root that may be siblings, in ascending order, without the root.
  std::vector<ir::NodeId> candidates(ir::NodeId root, const Sibling& mine) const {
    std::vector<ir::NodeId> starts;
    int levels = kMostLevels;
    if (const auto shared = shared_operand(mine)) {
      starts = {*shared};
      levels = static_cast<int>(first_->nodes().size());
    } else {
      starts = within(root, kMostLevels, true);
    }
    std::set<ir::NodeId> result;
    for (const ir::NodeId start : starts)
      for (const ir::NodeId id : within(start, levels, false))
        if (id != root && arena_.node(id).kind == ir::NodeKind::operation && arena_.node(id).op == first_->root()) result.insert(id);
    return {result.begin(), result.end()};
  }

  void drop_dependent(std::vector<Sibling>& all) const {
    std::vector<Sibling> kept;
    std::vector<std::unordered_set<ir::NodeId>> above_kept;
    for (Sibling& sibling : all) {
      const ir::NodeId id = sibling.match.nodes.front();
      auto mine = above(id);
      bool free = true;
      for (std::size_t k = 0; free && k < kept.size(); ++k)
        free = !mine.contains(kept[k].match.nodes.front()) && !above_kept[k].contains(id);
      if (!free) continue;
      kept.push_back(std::move(sibling));
      above_kept.push_back(std::move(mine));
    }
    all = std::move(kept);
  }

  // A descent takes the first set that saves time: the siblings of one depth, so that those behind them stay
  // for a set of their own, before all.
  void report_sets(const std::vector<Sibling>& all, std::size_t least) const {
    std::vector<Sibling> level;
    std::vector<Sibling> alike;
    std::ranges::copy_if(all, std::back_inserter(level), [&](const Sibling& s) { return s.producers == all.front().producers; });
    std::ranges::copy_if(all, std::back_inserter(alike), [&](const Sibling& s) { return s.readers == all.front().readers; });
    const auto differs = [](const std::vector<Sibling>& a, const std::vector<Sibling>& b) {
      return !std::ranges::equal(
          a, b, {}, [](const Sibling& s) { return s.match.nodes.front(); }, [](const Sibling& s) { return s.match.nodes.front(); });
    };
    if (level.size() >= least && !report(level)) return;
    if (all.size() >= least && differs(all, level) && !report(all)) return;
    if (alike.size() >= least && differs(alike, level) && differs(alike, all)) report(alike);
  }
  bool report(std::span<const Sibling> siblings) const {
    const auto member = family_.member(static_cast<int>(siblings.size()));
    const std::size_t size = first_->nodes().size();
    if (member == nullptr || member->nodes().size() != siblings.size() * size) return true;
    std::vector<ir::NodeId> given;
    for (const Sibling& sibling : siblings) given.insert(given.end(), sibling.match.nodes.begin(), sibling.match.nodes.end());
    MatchOptions options = options_;
    options.given = given;
    bool more = true;
    match(*member, arena_, uses_, given.front(), options, [&](Match& match) {
      more = found_(match);
      return false;  // others swap operands alone
    });
    return more;
  }

  const OpenFamily& family_;
  ir::Arena& arena_;
  const ir::GraphView& uses_;
  const MatchOptions& options_;
  const std::function<bool(Match&)>& found_;
  std::shared_ptr<const Pattern> first_;
};

}  // namespace

void match_family(const OpenFamily& family, ir::Arena& arena, const ir::GraphView& uses, ir::NodeId root, const MatchOptions& options,
                  const std::function<bool(Match&)>& found) {
  FamilyMatcher matcher(family, arena, uses, options, found);
  if (family.counter()) {
    matcher.counted(root);
  } else {
    matcher.siblings(root);
  }
}

}  // namespace xflow::rules
