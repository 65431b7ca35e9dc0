#include "src/generator/rules/superpositions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/egraph/weights.h"
#include "src/generator/rules/collect_tasks.h"
#include "src/generator/rules/gain.h"

namespace xflow::generator {
namespace {

// Sources have five operations, as two convolutions with biases and their sum have, in three levels unless
// all are pointwise. What is deeper is brought into such a form by steps that cost nothing.
constexpr std::size_t kMostOperators = 5;
constexpr std::size_t kMostDepth = 3;
constexpr std::size_t kMostOfMoves = 2;  // where all are pointwise

using TermNumber = std::size_t;

// Terms over the inputs of two graphs, each distinct term once. Inputs are variables.
class TermPool {
 public:
  explicit TermPool(const GraphSignature& signature) : signature_(signature) {}

  struct Node {
    ChoiceId choice{};
    std::vector<TermNumber> operands;  // empty: a leaf
    std::size_t leaf = 0;              // side * kSide + leaf
    TypeId type{};
  };
  static constexpr std::size_t kSide = 256;

  const Node& operator[](TermNumber t) const { return nodes_[t]; }
  bool is_leaf(TermNumber t) const { return nodes_[t].operands.empty(); }
  bool is_variable(TermNumber t) const { return is_leaf(t) && nodes_[t].leaf % kSide < signature_.inputs(); }

  // A leaf of a side; constants are those of either side.
  TermNumber leaf(std::size_t side, std::size_t leaf) {
    if (leaf >= signature_.inputs()) side = 0;
    return add({{}, {}, side * kSide + leaf, signature_.leaves()[leaf].type});
  }
  // Nothing where the operands do not fit.
  std::optional<TermNumber> operation(ChoiceId choice, std::vector<TermNumber> operands) {
    if (signature_.choice(choice).commutative) std::sort(operands.begin(), operands.end());
    std::vector<TypeId> types;
    types.reserve(operands.size());
    for (const TermNumber t : operands) types.push_back(nodes_[t].type);
    const std::span<const TypeId> outputs = signature_.type(choice, types);
    if (outputs.size() != 1) return std::nullopt;
    return add({choice, std::move(operands), 0, outputs[0]});
  }
  // The term of the output of a graph. Requires operators of one output.
  std::optional<TermNumber> of(const SmallGraph& graph, std::size_t side) {
    std::vector<TermNumber> values;
    for (std::size_t k = 0; k < signature_.leaves().size(); ++k) values.push_back(leaf(side, k));
    for (const SmallGraphNode& n : graph.nodes) {
      std::vector<TermNumber> operands;
      operands.reserve(n.operands.size());
      for (const std::uint8_t o : n.operands) operands.push_back(values[o]);
      const std::optional<TermNumber> term = operation(n.choice, std::move(operands));
      if (!term) return std::nullopt;
      values.push_back(*term);
    }
    return values[graph.outputs[0]];
  }
  // The most operations of a term of which each reads the next.
  std::size_t depth(TermNumber t) const {
    if (is_leaf(t)) return 0;
    std::size_t most = 0;
    for (const TermNumber o : nodes_[t].operands) most = std::max(most, depth(o));
    return most + 1;
  }
  // All parts of a term that are operations, itself included.
  void operations_of(TermNumber t, std::set<TermNumber>& into) const {
    if (is_leaf(t) || !into.insert(t).second) return;
    for (const TermNumber o : nodes_[t].operands) operations_of(o, into);
  }

 private:
  TermNumber add(Node node) {
    const auto [found, added] = known_.try_emplace({node.choice, node.operands, node.leaf}, nodes_.size());
    if (added) nodes_.push_back(std::move(node));
    return found->second;
  }

  const GraphSignature& signature_;
  std::vector<Node> nodes_;
  std::map<std::tuple<ChoiceId, std::vector<TermNumber>, std::size_t>, TermNumber> known_;
};

using Bindings = std::map<TermNumber, TermNumber>;

// Calls `found` for each way in which two terms are equal under bindings of their variables: those of
// commutative operators may be several.
class Unifier {
 public:
  Unifier(const GraphSignature& signature, TermPool& pool) : signature_(signature), pool_(pool) {}

  std::vector<Bindings> unify(TermNumber a, TermNumber b) {
    found_.clear();
    std::vector<std::pair<TermNumber, TermNumber>> open = {{a, b}};
    solve(std::move(open), {});
    return std::move(found_);
  }

  // The term with its variables replaced; nothing where an operation would not fit.
  std::optional<TermNumber> resolved(TermNumber t, const Bindings& bindings) {
    if (const auto bound = bindings.find(t); bound != bindings.end()) return resolved(bound->second, bindings);
    if (pool_.is_leaf(t)) return t;
    const ChoiceId choice = pool_[t].choice;
    const std::vector<TermNumber> before = pool_[t].operands;
    std::vector<TermNumber> operands;
    for (const TermNumber o : before) {
      const std::optional<TermNumber> operand = resolved(o, bindings);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    return pool_.operation(choice, std::move(operands));
  }

 private:
  TermNumber bound(TermNumber t, const Bindings& bindings) const {
    for (auto at = bindings.find(t); at != bindings.end(); at = bindings.find(t)) t = at->second;
    return t;
  }
  bool occurs(TermNumber variable, TermNumber in, const Bindings& bindings) const {
    in = bound(in, bindings);
    if (in == variable) return true;
    const std::vector<TermNumber>& operands = pool_[in].operands;
    return std::any_of(operands.begin(), operands.end(), [&](TermNumber o) { return occurs(variable, o, bindings); });
  }

  void solve(std::vector<std::pair<TermNumber, TermNumber>> open, Bindings bindings) {
    while (!open.empty()) {
      const TermNumber a = bound(open.back().first, bindings);
      const TermNumber b = bound(open.back().second, bindings);
      open.pop_back();
      if (a == b) continue;
      if (pool_[a].type != pool_[b].type) return;
      if (pool_.is_variable(a) || pool_.is_variable(b)) {
        const TermNumber variable = pool_.is_variable(a) ? a : b;
        const TermNumber value = variable == a ? b : a;
        if (occurs(variable, value, bindings)) return;
        bindings[variable] = value;
        continue;
      }
      if (pool_.is_leaf(a) || pool_.is_leaf(b) || pool_[a].choice != pool_[b].choice) return;
      const std::vector<TermNumber>& x = pool_[a].operands;
      const std::vector<TermNumber>& y = pool_[b].operands;
      if (signature_.choice(pool_[a].choice).commutative) {
        std::vector<std::pair<TermNumber, TermNumber>> swapped = open;
        swapped.emplace_back(x[0], y[1]);
        swapped.emplace_back(x[1], y[0]);
        solve(std::move(swapped), bindings);
      }
      for (std::size_t k = 0; k < x.size(); ++k) open.emplace_back(x[k], y[k]);
    }
    found_.push_back(std::move(bindings));
  }

  const GraphSignature& signature_;
  TermPool& pool_;
  std::vector<Bindings> found_;
};

// Writes terms as graphs over the inputs of a wider signature, which are numbered as they are met.
class GraphWriter {
 public:
  GraphWriter(const GraphSignature& signature, const GraphSignature& wide, const TermPool& pool)
      : signature_(signature), wide_(wide), pool_(pool), next_(wide.group_begins().size()) {}

  // Nothing where the wider signature has too few inputs, or does not admit an operation.
  std::optional<SmallGraph> graph(TermNumber t) {
    SmallGraph graph;
    values_.clear();
    types_.clear();
    for (const Leaf& leaf : wide_.leaves()) types_.push_back(leaf.type);
    const std::optional<std::uint8_t> output = write(t, graph);
    if (!output) return std::nullopt;
    graph.outputs = {*output};
    return graph;
  }

 private:
  std::optional<std::uint8_t> leaf(TermNumber t) {
    const std::size_t leaf = pool_[t].leaf % TermPool::kSide;
    if (leaf >= signature_.inputs()) return static_cast<std::uint8_t>(leaf - signature_.inputs() + wide_.inputs());
    const std::size_t group = signature_.leaves()[leaf].group;
    const auto [found, added] = inputs_.try_emplace(t, static_cast<std::uint8_t>(wide_.group_begins()[group] + next_[group]));
    if (added && ++next_[group] > wide_.group_size(group)) return std::nullopt;
    return found->second;
  }
  std::optional<std::uint8_t> write(TermNumber t, SmallGraph& graph) {
    if (pool_.is_leaf(t)) return leaf(t);
    if (const auto known = values_.find(t); known != values_.end()) return known->second;
    SmallGraphNode node{pool_[t].choice, {}};
    for (const TermNumber o : pool_[t].operands) {
      const std::optional<std::uint8_t> operand = write(o, graph);
      if (!operand) return std::nullopt;
      node.operands.push_back(*operand);
    }
    if (wide_.choice(node.choice).commutative) std::sort(node.operands.begin(), node.operands.end());
    std::vector<TypeId> operands;
    operands.reserve(node.operands.size());
    for (const std::uint8_t o : node.operands) operands.push_back(types_[o]);
    const std::span<const TypeId> outputs = wide_.type(node.choice, operands);
    if (outputs.size() != 1) return std::nullopt;
    const auto value = static_cast<std::uint8_t>(types_.size());
    types_.push_back(outputs[0]);
    graph.nodes.push_back(std::move(node));
    return values_[t] = value;
  }

  const GraphSignature& signature_;
  const GraphSignature& wide_;
  const TermPool& pool_;
  std::map<TermNumber, std::uint8_t> inputs_;  // shared by both sides of a candidate
  std::vector<std::size_t> next_;              // by group
  std::map<TermNumber, std::uint8_t> values_;
  std::vector<TypeId> types_;
};

bool has_one_output(const GraphSignature& signature, const SmallGraph& graph) {
  return graph.outputs.size() == 1 && std::all_of(graph.nodes.begin(), graph.nodes.end(),
                                                  [&](const SmallGraphNode& n) { return signature.choice(n.choice).outputs == 1; });
}

// The numbers that a graph reads.
std::set<std::uint8_t> numbers_of(const GraphSignature& signature, const SmallGraph& graph) {
  std::set<std::uint8_t> result;
  for (const SmallGraphNode& n : graph.nodes)
    for (const std::uint8_t o : n.operands)
      if (signature.is_constant(o) && signature.dims(signature.leaves()[o].type).empty()) result.insert(o);
  return result;
}

bool is_light(const GraphSignature& signature, const SmallGraph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const SmallGraphNode& n) { return signature.choice(n.choice).weight <= kFunctionWeight; });
}

bool reads_each_once(const GraphSignature& signature, const SmallGraph& graph) {
  std::vector<std::size_t> reads(signature.leaves().size() + 2 * graph.nodes.size());
  for (const SmallGraphNode& n : graph.nodes)
    for (const std::uint8_t o : n.operands)
      if (++reads[o] > 1 && !signature.is_constant(o)) return false;
  return true;
}

// Whether both terms apply one operator last and share an operand: the others are a superposition by
// themselves.
bool have_common_end(const TermPool& pool, TermNumber a, TermNumber b) {
  if (pool.is_leaf(a) || pool.is_leaf(b) || pool[a].choice != pool[b].choice) return false;
  const std::vector<TermNumber>& x = pool[a].operands;
  const std::vector<TermNumber>& y = pool[b].operands;
  return x.size() == 1 || std::any_of(x.begin(), x.end(), [&](TermNumber t) { return std::find(y.begin(), y.end(), t) != y.end(); });
}

std::pair<std::size_t, int> cost_of(const GraphSignature& signature, const SmallGraph& graph) {
  const Rank rank = rank_with_constant_parameters(signature, graph, 0);
  return {rank.operators, rank.weight};
}

}  // namespace

Result<GraphSignature> wider_signature(const SignatureOptions& options) {
  SignatureOptions wide = options;
  constexpr std::size_t kOfMainType = 6;
  constexpr std::size_t kOfOthers = 4;
  wide.inputs = std::max(wide.inputs, kOfMainType);
  wide.of_others = kOfOthers;
  return GraphSignature::make(wide);
}

bool is_move(const GraphSignature& signature, const RuleCandidate& candidate) {
  return !candidate.target.nodes.empty() && reads_numbers(signature, candidate.source) && reads_each_once(signature, candidate.source) &&
         is_light(signature, candidate.source) && is_light(signature, candidate.target) && has_one_output(signature, candidate.source) &&
         has_one_output(signature, candidate.target) && !changes_partial(signature, candidate) &&
         numbers_of(signature, candidate.source) == numbers_of(signature, candidate.target) &&
         numbers_of(signature, candidate.source).size() <= 1;
}

std::vector<RuleCandidate> moves_of(const GraphSignature& signature, std::span<const RuleCandidate> candidates) {
  std::map<SmallGraph, std::set<SmallGraph>> equal;
  for (const RuleCandidate& c : candidates) {
    if (!is_light(signature, c.source) || !is_light(signature, c.target)) continue;
    equal[c.source].insert(c.target);
    equal[c.target].insert(c.source);
  }
  std::set<RuleCandidate> moves;
  const auto add = [&](const SmallGraph& source, const SmallGraph& target) {
    RuleCandidate c{source, target};
    if (source != target && is_move(signature, c)) moves.insert(std::move(c));
  };
  for (const auto& [graph, others] : equal) {
    for (const SmallGraph& a : others) {
      add(graph, a);
      for (const SmallGraph& b : others) add(a, b);
    }
  }
  return {moves.begin(), moves.end()};
}

bool is_gain(const GraphSignature& signature, const RuleCandidate& candidate) {
  if (!has_one_output(signature, candidate.source) || !has_one_output(signature, candidate.target) || candidate.target.nodes.empty())
    return false;
  if (is_light(signature, candidate.source)) return loses_numbers(signature, candidate);
  return cost_of(signature, candidate.target) < cost_of(signature, candidate.source);
}

std::vector<RuleCandidate> superpositions(const GraphSignature& signature, const GraphSignature& wide, std::span<const RuleCandidate> moves,
                                          std::span<const RuleCandidate> gains) {
  std::map<std::uint64_t, std::pair<std::pair<std::size_t, int>, std::size_t>> best;  // by structure of the source
  std::vector<RuleCandidate> all;
  for (const RuleCandidate& move : moves) {
    for (const RuleCandidate& gain : gains) {
      const bool is_function = is_light(signature, gain.source);
      if (is_function && move.source.nodes.size() > kMostOfMoves) continue;
      TermPool pool(signature);
      Unifier unifier(signature, pool);
      const std::optional<TermNumber> source = pool.of(move.source, 0);
      const std::optional<TermNumber> target = pool.of(move.target, 0);
      const std::optional<TermNumber> before = pool.of(gain.source, 1);
      const std::optional<TermNumber> after = pool.of(gain.target, 1);
      if (!source || !target || !before || !after) continue;
      const std::size_t most_depth = is_function ? kMostOperators : kMostDepth;
      std::set<TermNumber> places;
      pool.operations_of(*target, places);
      for (const TermNumber place : places) {
        if (pool[place].choice != pool[*before].choice) continue;
        for (Bindings& bindings : unifier.unify(place, *before)) {
          const std::optional<TermNumber> from = unifier.resolved(*source, bindings);
          const std::optional<TermNumber> rewritten = unifier.resolved(*before, bindings);
          if (!from || !rewritten) continue;
          std::set<TermNumber> parts;
          pool.operations_of(*from, parts);
          // The gain is there without the move, or the move brings nothing together.
          if (parts.size() > kMostOperators || pool.depth(*from) > most_depth || parts.contains(*rewritten)) continue;
          bindings[place] = *after;
          const std::optional<TermNumber> to = unifier.resolved(*target, bindings);
          if (!to || have_common_end(pool, *from, *to)) continue;
          GraphWriter writer(signature, wide, pool);
          const std::optional<SmallGraph> left = writer.graph(*from);
          const std::optional<SmallGraph> right = left ? writer.graph(*to) : std::nullopt;
          if (!right || inputs_of(wide, *left) != inputs_of(wide, *right)) continue;
          const std::pair<std::size_t, int> cost = cost_of(wide, *right);
          const auto [known, added] = best.try_emplace(structure_of(wide, *left), cost, all.size());
          if (added) {
            all.push_back({*left, *right});
          } else if (cost < known->second.first) {
            known->second.first = cost;
            all[known->second.second] = {*left, *right};
          }
        }
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const RuleCandidate& a, const RuleCandidate& b) { return a.source.nodes.size() < b.source.nodes.size(); });
  return all;
}

}  // namespace xflow::generator
