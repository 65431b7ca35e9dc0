#include "src/generator/enumerate/graph_code.h"

#include <fmt/format.h>

#include <cmath>

namespace xflow::generator {

std::string to_string(const Universe& universe, const Sketch& sketch) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < universe.leaves().size(); ++k) {
    const Leaf& leaf = universe.leaves()[k];
    if (leaf.kind == Leaf::Kind::input) {
      names.push_back(fmt::format("{}{}", static_cast<char>('a' + leaf.group), k - universe.group_begins()[leaf.group]));
    } else {
      names.push_back(leaf.kind == Leaf::Kind::full && universe.dims(leaf.type).empty() ? leaf.value.to_string()
                                                                                        : fmt::format("c{}", k - universe.inputs()));
    }
  }
  for (const SketchNode& node : sketch.nodes) {
    const Choice& choice = universe.choice(node.choice);
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
  for (const std::uint8_t o : sketch.outputs) result += (result.empty() ? "" : "; ") + names[o];
  return result;
}

Result<GraphCodec> GraphCodec::make(const Universe& universe, std::size_t max_operators) {
  // The digits of the largest graphs: every operation reads two values, or has two outputs.
  double bits = std::log2(static_cast<double>(max_operators + 1));
  bool splits = false;
  for (const Choice& c : universe.choices()) splits = splits || c.outputs > 1;
  std::size_t values = universe.leaves().size();
  for (std::size_t k = 0; k < max_operators; ++k, values += splits ? 2 : 1)
    bits += std::log2(static_cast<double>(universe.choices().size())) + 2 * std::log2(static_cast<double>(values));
  if (bits >= 63.9) {
    return fail(ErrorCode::limit,
                fmt::format("graphs of {} operators over {} operators with attributes and {} inputs and constants take {:.0f} bits, more "
                            "than the 64 of a record; take fewer operators or inputs",
                            max_operators, universe.choices().size(), universe.leaves().size(), std::ceil(bits)));
  }
  if (values > kMostValues) {
    return fail(ErrorCode::limit,
                fmt::format("graphs of {} operators over {} inputs and constants have up to {} values, more than {}; take "
                            "fewer inputs",
                            max_operators, universe.leaves().size(), values, kMostValues));
  }
  GraphCodec codec;
  codec.universe_ = &universe;
  codec.max_operators_ = max_operators;
  return codec;
}

std::uint64_t GraphCodec::encode(const Sketch& sketch) const {
  CodePrefix code;
  code.append(sketch.nodes.size(), max_operators_ + 1);
  if (sketch.nodes.empty()) {
    code.append(sketch.outputs[0], universe_->leaves().size());
    return code.code();
  }
  std::size_t values = universe_->leaves().size();
  std::vector<std::size_t> firsts;
  for (const SketchNode& n : sketch.nodes) {
    code.append(static_cast<std::uint64_t>(n.choice), universe_->choices().size());
    for (const std::uint8_t o : n.operands) code.append(o, values);
    firsts.push_back(values);
    values += universe_->choice(n.choice).outputs;
  }
  for (std::size_t k = 0; k < sketch.nodes.size(); ++k) {
    const std::size_t outputs = universe_->choice(sketch.nodes[k].choice).outputs;
    if (outputs == 1) continue;
    std::uint64_t set = 0;
    for (const std::uint8_t o : sketch.outputs)
      if (o >= firsts[k] && o < firsts[k] + outputs) set |= std::uint64_t{1} << (o - firsts[k]);
    code.append(set, kOutputSets);
  }
  return code.code();
}

std::uint64_t GraphCodec::order(const Sketch& sketch) {
  constexpr unsigned kChoiceBits = 8;
  constexpr unsigned kOperandBits = 6;
  constexpr std::size_t kNodes = 3;
  std::uint64_t result = 0;
  for (std::size_t k = 0; k < kNodes; ++k) {
    const SketchNode* const node = k < sketch.nodes.size() ? &sketch.nodes[k] : nullptr;
    result = result << kChoiceBits | (node == nullptr ? 0 : static_cast<std::uint64_t>(node->choice));
    result = result << kOperandBits | (node == nullptr ? 0 : node->operands[0]);
    result = result << kOperandBits | (node == nullptr ? 0 : node->operands.back());
  }
  return result;
}

Sketch GraphCodec::decode(std::uint64_t code) const {
  const auto digit = [&](std::uint64_t radix) {
    const std::uint64_t d = code % radix;
    code /= radix;
    return d;
  };
  Sketch sketch;
  sketch.nodes.resize(digit(max_operators_ + 1));
  if (sketch.nodes.empty()) {
    sketch.outputs.push_back(static_cast<std::uint8_t>(digit(universe_->leaves().size())));
    return sketch;
  }
  std::size_t values = universe_->leaves().size();
  std::vector<std::size_t> firsts;
  std::vector<bool> read(values + 2 * sketch.nodes.size(), false);
  for (SketchNode& n : sketch.nodes) {
    n.choice = static_cast<ChoiceId>(digit(universe_->choices().size()));
    n.operands.resize(universe_->choice(n.choice).operands);
    for (std::uint8_t& o : n.operands) {
      o = static_cast<std::uint8_t>(digit(values));
      read[o] = true;
    }
    firsts.push_back(values);
    values += universe_->choice(n.choice).outputs;
  }
  for (std::size_t k = 0; k < sketch.nodes.size(); ++k) {
    const std::size_t outputs = universe_->choice(sketch.nodes[k].choice).outputs;
    if (outputs == 1) {
      if (!read[firsts[k]]) sketch.outputs.push_back(static_cast<std::uint8_t>(firsts[k]));
      continue;
    }
    const std::uint64_t set = digit(kOutputSets);
    for (std::size_t o = 0; o < outputs; ++o)
      if ((set >> o & 1) != 0) sketch.outputs.push_back(static_cast<std::uint8_t>(firsts[k] + o));
  }
  return sketch;
}

}  // namespace xflow::generator
