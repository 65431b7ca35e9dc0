#include "src/generator/enumerate/structure.h"

#include <algorithm>
#include <numeric>

#include "src/egraph/numbers.h"

namespace xflow::generator {
namespace {

std::uint64_t input_structure(const GraphSignature& signature, std::size_t leaf, std::size_t number) {
  return mix(signature.salt(signature.leaves()[leaf].type) ^ mix(number));
}
std::uint64_t constant_structure(std::size_t leaf) { return mix(0xC0 + leaf); }

// Sets the hashes of an operation's outputs in `namings` namings, from those of its operands in values[value
// * namings + naming].
void add_node(const GraphSignature& signature, const GrownNode& node, std::size_t namings, std::uint64_t* values) {
  const std::uint64_t* const a = values + node.operands[0] * namings;
  const std::uint64_t* const b = values + node.operands[1] * namings;
  const bool commutative = signature.choice(node.choice).commutative;
  for (std::size_t output = 0; output < node.outputs; ++output) {
    std::uint64_t* const out = values + (node.first_value + output) * namings;
    const std::uint64_t salt = mix(static_cast<std::uint64_t>(node.choice) << 8 | output);
    for (std::size_t k = 0; k < namings; ++k) {
      if (node.operand_count == 1) {
        out[k] = mix(salt ^ mix(a[k]));
      } else {
        out[k] = mix(salt ^ (commutative ? mix(a[k]) + mix(b[k]) : mix(a[k]) + 3 * mix(b[k] + 1)));
      }
    }
  }
}

std::size_t end_of_values(const GraphSignature& signature, std::span<const GrownNode> nodes) {
  return nodes.empty() ? signature.leaves().size() : nodes.back().first_value + std::size_t{nodes.back().outputs};
}

}  // namespace

std::uint64_t Structures::named(std::span<const GrownNode> nodes, std::span<const std::uint8_t> outputs,
                                std::span<const std::uint8_t> inputs, std::span<const std::uint8_t> numbers) {
  const GraphSignature& u = *signature_;
  values_.resize(std::max(values_.size(), end_of_values(u, nodes)));
  for (std::size_t k = 0; k < inputs.size(); ++k) values_[inputs[k]] = input_structure(u, inputs[k], numbers[k]);
  for (std::size_t k = u.inputs(); k < u.leaves().size(); ++k) values_[k] = constant_structure(k);
  for (const GrownNode& n : nodes) add_node(u, n, 1, values_.data());
  std::uint64_t structure = 0;
  for (const std::uint8_t o : outputs) structure += mix(values_[o]);
  return structure;
}

std::uint64_t Structures::structure(std::span<const GrownNode> nodes, std::span<const std::uint8_t> outputs,
                                    std::span<const std::uint8_t> inputs) {
  const GraphSignature& u = *signature_;
  const std::size_t namings = inputs.size();
  values_.resize(std::max(values_.size(), end_of_values(u, nodes) * std::max<std::size_t>(namings, 1)));
  for (std::size_t k = 0; k < namings; ++k)
    for (std::size_t naming = 0; naming < namings; ++naming)
      values_[inputs[k] * namings + naming] = input_structure(u, inputs[k], k == naming ? 1 : 0);
  for (std::size_t k = u.inputs(); k < u.leaves().size(); ++k) std::fill_n(values_.data() + k * namings, namings, constant_structure(k));
  for (const GrownNode& n : nodes) add_node(u, n, namings, values_.data());
  keys_.resize(namings);
  for (std::size_t k = 0; k < namings; ++k) {
    keys_[k] = {u.leaves()[inputs[k]].group, 0};
    for (const std::uint8_t o : outputs) keys_[k].second += mix(values_[o * namings + k]);
  }
  orders_.begin(keys_);
  numbers_.resize(namings);
  std::uint64_t best = UINT64_MAX;
  do {
    const std::span<const std::uint8_t> order = orders_.order();
    for (std::size_t place = 0; place < namings; ++place) {
      const bool goes_on = place > 0 && keys_[order[place]].first == keys_[order[place - 1]].first;
      numbers_[order[place]] = goes_on ? static_cast<std::uint8_t>(numbers_[order[place - 1]] + 1) : std::uint8_t{0};
    }
    const std::uint64_t structure = named(nodes, outputs, inputs, numbers_);
    if (structure >= best) continue;
    best = structure;
    best_ = numbers_;
  } while (orders_.next());
  return best;
}

std::uint64_t structure_of(const GraphSignature& signature, const SmallGraph& graph, std::vector<std::uint8_t>* leaves) {
  std::vector<std::uint8_t> used;
  const auto use = [&](std::uint8_t leaf) {
    if (leaf < signature.inputs() && std::find(used.begin(), used.end(), leaf) == used.end()) used.push_back(leaf);
  };
  std::vector<GrownNode> nodes;
  nodes.reserve(graph.nodes.size());
  std::size_t value = signature.leaves().size();
  for (const SmallGraphNode& n : graph.nodes) {
    GrownNode node;
    node.choice = n.choice;
    node.operands[0] = n.operands[0];
    node.operands[1] = n.operands.back();
    node.operand_count = static_cast<std::uint8_t>(n.operands.size());
    node.outputs = static_cast<std::uint8_t>(signature.choice(n.choice).outputs);
    node.first_value = static_cast<std::uint8_t>(value);
    value += node.outputs;
    nodes.push_back(node);
    for (const std::uint8_t o : n.operands) use(o);
  }
  if (graph.nodes.empty()) use(graph.outputs[0]);
  std::sort(used.begin(), used.end());
  Structures structures(signature);
  const std::uint64_t result = structures.structure(nodes, graph.outputs, used);
  if (leaves != nullptr) {
    leaves->resize(signature.leaves().size());
    std::iota(leaves->begin(), leaves->end(), std::uint8_t{0});
    for (std::size_t k = 0; k < used.size(); ++k)
      (*leaves)[used[k]] = static_cast<std::uint8_t>(signature.group_begins()[signature.leaves()[used[k]].group] + structures.numbers()[k]);
  }
  return result;
}

}  // namespace xflow::generator
