#include "src/generator/enumerate/graph_code.h"

#include <fmt/format.h>

#include <cmath>

namespace xflow::generator {

std::string to_string(const GraphSignature& signature, const SmallGraph& graph) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < signature.leaves().size(); ++k) {
    const Leaf& leaf = signature.leaves()[k];
    if (leaf.kind == Leaf::Kind::input) {
      names.push_back(fmt::format("{}{}", static_cast<char>('a' + leaf.group), k - signature.group_begins()[leaf.group]));
    } else {
      names.push_back(leaf.kind == Leaf::Kind::full && signature.dims(leaf.type).empty() ? leaf.value.to_string()
                                                                                         : fmt::format("c{}", k - signature.inputs()));
    }
  }
  for (const SmallGraphNode& node : graph.nodes) {
    const Choice& choice = signature.choice(node.choice);
    std::string text = choice.name + "(";
    for (std::size_t k = 0; k < node.operands.size(); ++k) text += (k == 0 ? "" : ", ") + names[node.operands[k]];
    text += ')';
    if (choice.outputs == 1) {
      names.push_back(text);
    } else {
      for (std::size_t k = 0; k < choice.outputs; ++k) names.push_back(fmt::format("{}.{}", text, k));
    }
  }
  std::string result;
  for (const std::uint8_t o : graph.outputs) result += (result.empty() ? "" : "; ") + names[o];
  return result;
}

Result<GraphCodec> GraphCodec::make(const GraphSignature& signature, std::size_t max_operators) {
  // Bits of the digits of the largest graphs: every operation reads two values, or has two outputs.
  double bits = std::log2(static_cast<double>(max_operators + 1));
  bool splits = false;
  for (const Choice& c : signature.choices()) splits = splits || c.outputs > 1;
  std::size_t values = signature.leaves().size();
  for (std::size_t k = 0; k < max_operators; ++k, values += splits ? 2 : 1)
    bits += std::log2(static_cast<double>(signature.choices().size())) + 2 * std::log2(static_cast<double>(values));
  if (bits >= 63.9) {
    return fail(ErrorCode::limit,
                fmt::format("graphs of {} operators over {} operators with attributes and {} inputs and constants take {:.0f} bits, more "
                            "than the 64 of a record; take fewer operators or inputs",
                            max_operators, signature.choices().size(), signature.leaves().size(), std::ceil(bits)));
  }
  if (values > kMostValues) {
    return fail(ErrorCode::limit,
                fmt::format("graphs of {} operators over {} inputs and constants have up to {} values, more than {}; take "
                            "fewer inputs",
                            max_operators, signature.leaves().size(), values, kMostValues));
  }
  GraphCodec codec;
  codec.signature_ = &signature;
  codec.max_operators_ = max_operators;
  return codec;
}

std::uint64_t GraphCodec::encode(const SmallGraph& graph) const {
  CodePrefix code;
  code.append(graph.nodes.size(), max_operators_ + 1);
  if (graph.nodes.empty()) {
    code.append(graph.outputs[0], signature_->leaves().size());
    return code.code();
  }
  std::size_t values = signature_->leaves().size();
  std::vector<std::size_t> firsts;
  for (const SmallGraphNode& n : graph.nodes) {
    code.append(static_cast<std::uint64_t>(n.choice), signature_->choices().size());
    for (const std::uint8_t o : n.operands) code.append(o, values);
    firsts.push_back(values);
    values += signature_->choice(n.choice).outputs;
  }
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    const std::size_t outputs = signature_->choice(graph.nodes[k].choice).outputs;
    if (outputs == 1) continue;
    std::uint64_t set = 0;
    for (const std::uint8_t o : graph.outputs)
      if (o >= firsts[k] && o < firsts[k] + outputs) set |= std::uint64_t{1} << (o - firsts[k]);
    code.append(set, kOutputSets);
  }
  return code.code();
}

std::uint64_t GraphCodec::order(const SmallGraph& graph) {
  constexpr unsigned kChoiceBits = 8;
  constexpr unsigned kOperandBits = 6;
  constexpr std::size_t kNodes = 3;
  std::uint64_t result = 0;
  for (std::size_t k = 0; k < kNodes; ++k) {
    const SmallGraphNode* const node = k < graph.nodes.size() ? &graph.nodes[k] : nullptr;
    result = result << kChoiceBits | (node == nullptr ? 0 : static_cast<std::uint64_t>(node->choice));
    result = result << kOperandBits | (node == nullptr ? 0 : node->operands[0]);
    result = result << kOperandBits | (node == nullptr ? 0 : node->operands.back());
  }
  return result;
}

SmallGraph GraphCodec::decode(std::uint64_t code) const {
  const auto digit = [&](std::uint64_t radix) {
    const std::uint64_t d = code % radix;
    code /= radix;
    return d;
  };
  SmallGraph graph;
  graph.nodes.resize(digit(max_operators_ + 1));
  if (graph.nodes.empty()) {
    graph.outputs.push_back(static_cast<std::uint8_t>(digit(signature_->leaves().size())));
    return graph;
  }
  std::size_t values = signature_->leaves().size();
  std::vector<std::size_t> firsts;
  std::vector<bool> read(values + 2 * graph.nodes.size(), false);
  for (SmallGraphNode& n : graph.nodes) {
    n.choice = static_cast<ChoiceId>(digit(signature_->choices().size()));
    n.operands.resize(signature_->choice(n.choice).operands);
    for (std::uint8_t& o : n.operands) {
      o = static_cast<std::uint8_t>(digit(values));
      read[o] = true;
    }
    firsts.push_back(values);
    values += signature_->choice(n.choice).outputs;
  }
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    const std::size_t outputs = signature_->choice(graph.nodes[k].choice).outputs;
    if (outputs == 1) {
      if (!read[firsts[k]]) graph.outputs.push_back(static_cast<std::uint8_t>(firsts[k]));
      continue;
    }
    const std::uint64_t set = digit(kOutputSets);
    for (std::size_t o = 0; o < outputs; ++o)
      if ((set >> o & 1) != 0) graph.outputs.push_back(static_cast<std::uint8_t>(firsts[k] + o));
  }
  return graph;
}

}  // namespace xflow::generator
