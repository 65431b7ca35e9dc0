#include "src/generator/rules/equation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "src/ops/op.h"

namespace xflow::generator {
namespace {

std::string operation_text(const Choice& choice, const std::vector<std::string>& operands) {
  using ops::Op;
  for (const auto& [op, sign] : {std::pair(Op::Add, '+'), std::pair(Op::Mul, '*'), std::pair(Op::Sub, '-'), std::pair(Op::Div, '/')})
    if (choice.is(op)) return fmt::format("({} {} {})", operands[0], sign, operands[1]);
  return fmt::format("{}({})", choice.shape == ShapeRule::convolution ? "conv" : choice.operator_name, fmt::join(operands, ", "));
}

std::string side_text(const GraphSignature& signature, const SmallGraph& graph, std::span<const std::string> leaves) {
  std::vector<std::string> texts(leaves.begin(), leaves.end());
  for (const SmallGraphNode& n : graph.nodes) {
    const Choice& choice = signature.choice(n.choice);
    std::vector<std::string> operands;
    operands.reserve(n.operands.size());
    for (const std::uint8_t o : n.operands) operands.push_back(texts[o]);
    const std::string text = operation_text(choice, operands);
    if (choice.outputs == 1) {
      texts.push_back(text);
    } else {
      for (std::size_t k = 0; k < choice.outputs; ++k) texts.push_back(fmt::format("{}[{}]", text, k));
    }
  }
  std::vector<std::string> outputs;
  for (const std::uint8_t o : graph.outputs) {
    std::string text = texts[o];
    if (text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
    outputs.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(outputs, "; "));
}

}  // namespace

std::string equation_text(const GraphSignature& signature, const RuleCandidate& candidate, std::span<const std::string> leaves) {
  return side_text(signature, candidate.source, leaves) + " = " + side_text(signature, candidate.target, leaves);
}

}  // namespace xflow::generator
