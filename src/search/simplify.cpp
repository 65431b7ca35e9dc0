#include "src/search/simplify.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "src/kernels/pattern.h"
#include "src/ops/operator.h"

namespace xflow::search {
namespace {

using ir::NodeId;
using ir::ValueId;

// The operations of one side of a rule that are not computed before the run, by operator.
class RunningOperations {
 public:
  explicit RunningOperations(const rules::Rule& rule) {
    for (const rules::Guard& guard : rule.guards)
      if (guard.kind == rules::Guard::Kind::is_constant) constants_.insert(guard.value);
  }

  void add(const std::vector<rules::Statement>& side) {
    for (const rules::Statement& statement : side) {
      if (is_constant(statement.term)) constants_.insert(statement.outputs.begin(), statement.outputs.end());
    }
  }

  std::map<std::string, std::size_t> counts;
  std::size_t total = 0;
  bool makes_constants = false;

 private:
  // Counts the operations of a term. True if the term is known before the run.
  bool is_constant(const rules::Term& term) {
    switch (term.kind) {
      case rules::Term::Kind::literal:
      case rules::Term::Kind::absent:
        return true;
      case rules::Term::Kind::variable:
      case rules::Term::Kind::list:
        return constants_.contains(term.name);
      case rules::Term::Kind::application:
        break;
    }
    if (term.operands.empty()) makes_constants = true;
    bool constant = true;
    for (const rules::Term& operand : term.operands) constant = is_constant(operand) && constant;
    if (constant) return true;
    ++counts[term.name];
    ++total;
    return false;
  }

  std::set<std::string> constants_;
};

// True if a concatenation of the source joins functions of single elements. relu(x) ++ relu(z) has more
// operations than relu(x ++ z), but runtimes compute them with what makes x and z.
bool concatenates_functions(const rules::Rule& rule) {
  std::map<std::string, const rules::Term*> statements;
  for (const rules::Statement& statement : rule.source)
    if (statement.outputs.size() == 1) statements.emplace(statement.outputs[0], &statement.term);
  const auto is_function = [&](const rules::Term& operand) {
    const auto named = statements.find(operand.name);
    const rules::Term& term = operand.kind == rules::Term::Kind::variable && named != statements.end() ? *named->second : operand;
    return term.kind == rules::Term::Kind::application && ops::get(ops::id_of(term.name)).signature.pointwise;
  };
  const std::function<bool(const rules::Term&)> joins = [&](const rules::Term& term) {
    if (term.kind != rules::Term::Kind::application) return false;
    if (term.name == "concat" && std::ranges::count_if(term.operands, is_function) > 1) return true;
    return std::ranges::any_of(term.operands, joins);
  };
  return std::ranges::any_of(rule.source, [&](const rules::Statement& statement) { return joins(statement.term); });
}

class Simplifier {
 public:
  Simplifier(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const SimplifyOptions& options)
      : arena_(arena),
        original_(graph),
        rewriter_(rewriter),
        options_(options),
        graph_(arena, graph),
        most_bytes_(static_cast<double>(graph_.constant_bytes()) * (1 + options.max_growth)) {
    if (options.keep_composites) find_composites();
  }

  Finalist run() {
    for (const NodeId id : graph_.order()) add(id);
    for (std::size_t k = 0; k < queue_.size(); ++k) {
      if (options_.stop && options_.stop()) break;
      const NodeId root = queue_[k];
      queued_[index_of(root)] = false;
      while (is_root(root) && rewrite(root)) {
      }
    }
    return describe();
  }

 private:
  struct Done {
    std::string rule;
    std::vector<ir::Replacement> replaced;
    std::vector<ValueId> originals;
  };

  static std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id); }

  void find_composites() {
    const ir::Uses uses(arena_, original_);
    for (const NodeId exit : uses.order()) {
      if (arena_.node(exit).kind != ir::NodeKind::operation || arena_.node(exit).is_constant) continue;
      const auto found = cost::find_composite(arena_, uses, exit);
      if (!found) continue;
      std::vector<NodeId>& nodes = composites_.emplace_back();
      for (const NodeId id : found->inner)
        if (const auto copy = graph_.copy_of(id)) nodes.push_back(*copy);
      if (const auto copy = graph_.copy_of(exit)) nodes.push_back(*copy);
    }
  }

  // True if a part of the operations of a composite is no longer there.
  bool breaks_composite() const {
    return std::ranges::any_of(composites_, [this](const std::vector<NodeId>& nodes) {
      const auto left = std::ranges::count_if(nodes, [this](NodeId id) { return graph_.contains(id); });
      return left != 0 && static_cast<std::size_t>(left) != nodes.size();
    });
  }

  bool is_root(NodeId id) const {
    return index_of(id) < graph_.arena().size() && graph_.contains(id) && graph_.arena().node(id).kind == ir::NodeKind::operation &&
           !graph_.arena().node(id).is_constant;
  }

  void add(NodeId id) {
    if (index_of(id) >= queued_.size()) queued_.resize(index_of(id) + 1, false);
    if (queued_[index_of(id)]) return;
    queued_[index_of(id)] = true;
    queue_.push_back(id);
  }

  // Applies the first rewrite at `root` that leaves fewer operations; false if there is none.
  bool rewrite(NodeId root) {
    std::vector<Rewrite> found;
    std::vector<NodeId> reads{root};
    const ir::WorkGraph::Mark mark = graph_.mark();
    rewriter_.rewrites(graph_, root, reads, [&](Rewrite rewrite) { found.push_back(std::move(rewrite)); });
    graph_.undo(mark);
    for (const NodeId id : reads) readers_[id].insert(root);
    return std::ranges::any_of(found, [&](const Rewrite& candidate) { return apply(candidate); });
  }

  bool apply(const Rewrite& rewrite) {
    const ir::WorkGraph::Mark mark = graph_.mark();
    const std::size_t operations = graph_.operations();
    const std::uint64_t bytes = graph_.constant_bytes();
    const std::vector<ir::Replacement> replacements = rewrite.build(graph_.arena());
    std::vector<ValueId> originals = originals_of(replacements);
    const bool excluded = options_.excluded && options_.excluded(rewrite.rule, originals);
    if (replacements.empty() || excluded || !graph_.replace(replacements, mark) || graph_.operations() >= operations || !fits(bytes) ||
        !is_admissible(mark) || breaks_composite()) {
      graph_.undo(mark);
      return false;
    }
    done_.push_back({std::string(rewrite.rule), graph_.replaced(mark, graph_.mark()), originals});
    for (std::size_t k = mark.nodes; k < graph_.arena().size(); ++k) made_for_[static_cast<NodeId>(k)] = originals;
    // Visit again the changed operations, which may have new rewrites, and those whose rewrites read them.
    for (const auto& [id, operands] : graph_.changes(mark)) {
      add(id);
      if (const auto readers = readers_.find(id); readers != readers_.end())
        for (const NodeId reader : readers->second) add(reader);
    }
    return true;
  }

  bool fits(std::uint64_t bytes_before) const {
    return graph_.constant_bytes() <= bytes_before || static_cast<double>(graph_.constant_bytes()) <= most_bytes_;
  }

  bool is_admissible(ir::WorkGraph::Mark since) const {
    if (!options_.admissible) return true;
    for (std::size_t k = since.nodes; k < graph_.arena().size(); ++k) {
      const auto id = static_cast<NodeId>(k);
      if (is_root(id) && !options_.admissible(graph_.arena(), id)) return false;
    }
    return true;
  }

  // The values of the original graph that a rewrite replaces, directly or because an earlier rewrite made
  // the replaced values.
  std::vector<ValueId> originals_of(std::span<const ir::Replacement> replacements) const {
    std::vector<ValueId> result;
    for (const auto& [from, to] : replacements) {
      if (const auto source = graph_.source_of(from.node)) {
        result.push_back({*source, from.output});
      } else if (const auto made = made_for_.find(from.node); made != made_for_.end()) {
        result.insert(result.end(), made->second.begin(), made->second.end());
      }
    }
    std::ranges::sort(result);
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  Finalist describe() {
    Finalist result;
    if (done_.empty()) {
      result.graph = original_;
      return result;
    }
    ir::ValueMap extracted;
    result.graph = graph_.extract(arena_, extracted);
    for (Done& done : done_) {
      Step step{std::move(done.rule), {}, std::move(done.originals), {}};
      for (const auto& [from, to] : done.replaced)
        if (const auto source = graph_.source_of(from.node)) step.replaced.push_back({*source, from.output});
      result.steps.push_back(std::move(step));
    }
    // The final value of each replaced value, computed from the last replacement to the first.
    ir::ValueMap became;
    for (auto done = done_.rbegin(); done != done_.rend(); ++done) {
      for (auto pair = done->replaced.rbegin(); pair != done->replaced.rend(); ++pair) {
        const auto later = became.find(pair->second);
        became.insert_or_assign(pair->first, later == became.end() ? pair->second : later->second);
      }
    }
    for (const NodeId id : ir::topological_order(arena_, original_)) {
      const auto copy = graph_.copy_of(id);
      if (!copy) continue;
      for (std::uint32_t output = 0; output < arena_.node(id).outputs.size(); ++output) {
        const auto next = became.find({*copy, output});
        const auto now = extracted.find(next == became.end() ? ValueId{*copy, output} : next->second);
        if (now != extracted.end() && now->second != ValueId{id, output}) result.correspondence.emplace(ValueId{id, output}, now->second);
      }
    }
    return result;
  }

  ir::Arena& arena_;
  const ir::Graph& original_;
  Rewriter& rewriter_;
  const SimplifyOptions& options_;
  ir::WorkGraph graph_;
  double most_bytes_;
  std::vector<NodeId> queue_;
  std::vector<bool> queued_;
  std::unordered_map<NodeId, std::set<NodeId>> readers_;  // by node: operations whose rewrites depend on it
  std::unordered_map<NodeId, std::vector<ValueId>> made_for_;
  std::vector<std::vector<NodeId>> composites_;
  std::vector<Done> done_;
};

}  // namespace

bool is_clean_up(const rules::Rule& rule) {
  if (concatenates_functions(rule)) return false;
  RunningOperations source(rule);
  source.add(rule.source);
  RunningOperations target(rule);
  target.add(rule.target);
  if (target.makes_constants || target.total >= source.total) return false;
  if (rule.float_class == rules::FloatClass::exact) return true;
  const bool known = std::ranges::all_of(target.counts, [&](const auto& count) {
    const auto found = source.counts.find(count.first);
    return found != source.counts.end() && found->second >= count.second;
  });
  return known && std::ranges::all_of(source.counts, [&](const auto& count) {
           const ops::Signature& signature = ops::get(ops::id_of(count.first)).signature;
           const auto left = target.counts.find(count.first);
           return signature.pointwise || signature.moves_data || (left != target.counts.end() && left->second == count.second);
         });
}

Finalist simplify(ir::Arena& arena, const ir::Graph& graph, Rewriter& rewriter, const SimplifyOptions& options) {
  return Simplifier(arena, graph, rewriter, options).run();
}

}  // namespace xflow::search
