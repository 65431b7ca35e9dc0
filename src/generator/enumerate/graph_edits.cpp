#include "src/generator/enumerate/graph_edits.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace xflow::generator {
namespace {

// Builds a graph operation by operation; equal operations are one.
class SmallGraphBuilder {
 public:
  explicit SmallGraphBuilder(const GraphSignature& signature) : signature_(signature), values_(signature.leaves().size()) {}

  std::uint8_t add(ChoiceId choice, std::vector<std::uint8_t> operands, std::size_t output) {
    if (signature_.choice(choice).commutative) std::sort(operands.begin(), operands.end());
    const auto [found, added] = known_.try_emplace({choice, operands}, static_cast<std::uint8_t>(values_));
    if (added) {
      graph_.nodes.push_back({choice, std::move(operands)});
      values_ += signature_.choice(choice).outputs;
    }
    return static_cast<std::uint8_t>(found->second + output);
  }
  SmallGraph finish(std::vector<std::uint8_t> outputs) {
    graph_.outputs = std::move(outputs);
    return std::move(graph_);
  }

 private:
  const GraphSignature& signature_;
  std::size_t values_;
  std::map<std::pair<ChoiceId, std::vector<std::uint8_t>>, std::uint8_t> known_;
  SmallGraph graph_;
};

// Where each value of a graph comes from: node and output.
struct Origin {
  std::size_t node = 0;
  std::size_t output = 0;
};
std::vector<Origin> origins(const GraphSignature& signature, const SmallGraph& graph) {
  std::vector<Origin> result(signature.leaves().size());
  for (std::size_t k = 0; k < graph.nodes.size(); ++k)
    for (std::size_t o = 0; o < signature.choice(graph.nodes[k].choice).outputs; ++o) result.push_back({k, o});
  return result;
}

// Copies what a value needs into a builder; `put` says what a value becomes instead of its copy.
class Copier {
 public:
  Copier(const GraphSignature& signature, const SmallGraph& graph, SmallGraphBuilder& into)
      : signature_(signature), graph_(graph), origins_(origins(signature, graph)), into_(into) {}
  void put(std::uint8_t value, std::uint8_t copy) { copies_[value] = copy; }
  std::uint8_t copy(std::uint8_t value) {
    if (const auto found = copies_.find(value); found != copies_.end()) return found->second;
    if (value < signature_.leaves().size()) return value;
    const SmallGraphNode& node = graph_.nodes[origins_[value].node];
    std::vector<std::uint8_t> operands;
    operands.reserve(node.operands.size());
    for (const std::uint8_t o : node.operands) operands.push_back(copy(o));
    return copies_[value] = into_.add(node.choice, std::move(operands), origins_[value].output);
  }

 private:
  const GraphSignature& signature_;
  const SmallGraph& graph_;
  std::vector<Origin> origins_;
  SmallGraphBuilder& into_;
  std::map<std::uint8_t, std::uint8_t> copies_;
};

}  // namespace

std::set<std::uint8_t> inputs_of(const GraphSignature& signature, const SmallGraph& graph) {
  std::set<std::uint8_t> result;
  for (const SmallGraphNode& n : graph.nodes)
    for (const std::uint8_t o : n.operands)
      if (o < signature.inputs()) result.insert(o);
  for (const std::uint8_t o : graph.outputs)
    if (o < signature.inputs()) result.insert(o);
  return result;
}

SmallGraph rename(const GraphSignature& signature, const SmallGraph& graph, std::span<const std::uint8_t> leaves) {
  SmallGraph result = graph;
  const auto renamed = [&](std::uint8_t v) { return v < signature.leaves().size() ? leaves[v] : v; };
  for (SmallGraphNode& n : result.nodes) {
    for (std::uint8_t& o : n.operands) o = renamed(o);
    if (signature.choice(n.choice).commutative) std::sort(n.operands.begin(), n.operands.end());
  }
  for (std::uint8_t& o : result.outputs) o = renamed(o);
  return result;
}

SmallGraph with_outputs(const GraphSignature& signature, const SmallGraph& graph, std::span<const std::uint8_t> outputs) {
  SmallGraphBuilder builder(signature);
  Copier copier(signature, graph, builder);
  std::vector<std::uint8_t> copies;
  copies.reserve(outputs.size());
  for (const std::uint8_t o : outputs) copies.push_back(copier.copy(o));
  return builder.finish(std::move(copies));
}

SmallGraph part_of(const GraphSignature& signature, const SmallGraph& graph, std::uint8_t value) {
  return with_outputs(signature, graph, std::span(&value, 1));
}

SmallGraph replace(const GraphSignature& signature, const SmallGraph& graph, std::uint8_t value, const SmallGraph& by) {
  SmallGraphBuilder builder(signature);
  Copier inside(signature, by, builder);
  const std::uint8_t replacement = inside.copy(by.outputs[0]);
  Copier outside(signature, graph, builder);
  outside.put(value, replacement);
  std::vector<std::uint8_t> outputs;
  outputs.reserve(graph.outputs.size());
  for (const std::uint8_t o : graph.outputs) outputs.push_back(outside.copy(o));
  return builder.finish(std::move(outputs));
}

SmallGraph join(const GraphSignature& signature, std::span<const SmallGraph> small_graphs) {
  SmallGraphBuilder builder(signature);
  std::vector<std::uint8_t> outputs;
  for (const SmallGraph& s : small_graphs) {
    Copier copier(signature, s, builder);
    for (const std::uint8_t o : s.outputs) outputs.push_back(copier.copy(o));
  }
  return builder.finish(std::move(outputs));
}

int weight_of(const GraphSignature& signature, const SmallGraph& graph) {
  int weight = 0;
  for (const SmallGraphNode& n : graph.nodes) weight += signature.choice(n.choice).weight;
  return weight;
}

Rank rank_with_constant_parameters(const GraphSignature& signature, const SmallGraph& graph, std::uint64_t structure) {
  std::vector<bool> constant;
  for (std::size_t k = 0; k < signature.leaves().size(); ++k)
    constant.push_back(k >= signature.inputs() || signature.is_parameter(signature.leaves()[k].type));
  Rank rank{0, 0, structure};
  for (const SmallGraphNode& n : graph.nodes) {
    const Choice& c = signature.choice(n.choice);
    const bool folds = std::all_of(n.operands.begin(), n.operands.end(), [&](std::uint8_t o) { return constant[o]; });
    constant.insert(constant.end(), c.outputs, folds);
    if (folds) continue;
    ++rank.operators;
    rank.weight += c.weight;
  }
  return rank;
}

bool reads_numbers(const GraphSignature& signature, const SmallGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const SmallGraphNode& n) {
    return std::any_of(n.operands.begin(), n.operands.end(), [&](std::uint8_t o) {
      if (o >= signature.leaves().size()) return false;
      const TypeId type = signature.leaves()[o].type;
      return signature.dims(type).empty() || (o < signature.inputs() && (signature.is_channels(type) || signature.is_row(type)));
    });
  });
}

bool uses_identities(const GraphSignature& signature, const SmallGraph& graph) {
  std::vector<bool> is_diagonal;  // by value: an identity, or its product with such numbers
  std::vector<TypeId> types;
  types.reserve(signature.leaves().size() + 2 * graph.nodes.size());
  for (const Leaf& leaf : signature.leaves()) {
    types.push_back(leaf.type);
    is_diagonal.push_back(leaf.readers == Leaf::Readers::sums);
  }
  const auto only_reader = [&](std::size_t value) -> const SmallGraphNode* {
    const SmallGraphNode* found = nullptr;
    for (const SmallGraphNode& user : graph.nodes) {
      if (std::find(user.operands.begin(), user.operands.end(), value) == user.operands.end()) continue;
      if (found != nullptr) return nullptr;
      found = &user;
    }
    return found;
  };
  for (const SmallGraphNode& n : graph.nodes) {
    const std::size_t value = types.size();
    std::array<TypeId, 2> operands{};
    for (std::size_t k = 0; k < n.operands.size(); ++k) operands[k] = types[n.operands[k]];
    const std::span<const TypeId> outputs = signature.type(n.choice, std::span(operands).first(n.operands.size()));
    types.insert(types.end(), outputs.begin(), outputs.end());
    is_diagonal.insert(is_diagonal.end(), outputs.size(), false);
    const auto diagonals = std::count_if(n.operands.begin(), n.operands.end(), [&](std::uint8_t o) { return is_diagonal[o]; });
    if (diagonals == 0) continue;
    const SmallGraphNode* const user = only_reader(value);
    if (user == nullptr || diagonals > 1) return false;
    if (signature.choice(n.choice).is(ops::Op::Mul)) {
      is_diagonal[value] = true;
      if (!signature.choice(user->choice).is(ops::Op::Add) && !signature.choice(user->choice).is(ops::Op::Sub)) return false;
      continue;
    }
    if (operands[0] != operands[1]) return false;
    const ShapeRule shape = signature.choice(user->choice).shape;
    if (shape != ShapeRule::matmul && shape != ShapeRule::convolution && shape != ShapeRule::depthwise) return false;
    if (user->operands[0] == user->operands[1] || signature.is_constant(user->operands[0]) || signature.is_constant(user->operands[1]))
      return false;
  }
  return true;
}

}  // namespace xflow::generator
