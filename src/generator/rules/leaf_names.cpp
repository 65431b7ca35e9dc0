#include "src/generator/rules/leaf_names.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "src/rules/rule_parts.h"

namespace xflow::generator {

std::string numbered_name(std::span<const char* const> names, std::size_t k) {
  return k < names.size() ? names[k] : fmt::format("{}{}", names[k % names.size()], k / names.size());
}

std::string input_name(std::size_t k) {
  static constexpr std::array<const char*, 10> kNames = {"x", "z", "u", "v", "w", "k", "m", "n", "p", "q"};
  return numbered_name(kNames, k);
}

rules::Term filled(const Leaf& leaf, rules::Expression shape) {
  std::vector<rules::Term::NamedExpression> attributes = {rules::attribute("shape", std::move(shape))};
  if (leaf.value == ir::Rational(0)) return rules::application("zeros", {}, std::move(attributes));
  if (leaf.value == ir::Rational(1)) return rules::application("ones", {}, std::move(attributes));
  attributes.push_back(rules::attribute("value", rules::number(leaf.value)));
  return rules::application("full", {}, std::move(attributes));
}

LeafNames::LeafNames(const GraphSignature& signature, const GeneralShapes& shapes) : signature_(signature) {
  for (std::size_t k = 0; k < shapes.inputs().size(); ++k) names_[shapes.inputs()[k]] = input_name(k);
}

Acceptance LeafNames::name_scalars(const RuleCandidate& candidate) {
  const auto numbers = [&](const SmallGraph& graph) {
    std::set<std::uint8_t> found;
    for (const SmallGraphNode& n : graph.nodes)
      for (const std::uint8_t o : n.operands)
        if (signature_.is_constant(o) && signature_.dims(signature_.leaves()[o].type).empty()) found.insert(o);
    return found;
  };
  static constexpr std::array<const char*, 5> kNames = {"s", "t", "r", "l", "o"};
  static constexpr std::array<const char*, 5> kOfImages = {"t", "r", "l", "o", "h"};  // strides are s
  const std::set<std::uint8_t> known = numbers(candidate.source);
  if (known != numbers(candidate.target)) return refused("a number is on one side alone");
  for (const std::uint8_t leaf : known)
    scalars_.emplace(leaf, numbered_name(signature_.kind() == TensorKind::image ? kOfImages : kNames, scalars_.size()));
  return accepted();
}

std::string LeafNames::text(std::uint8_t leaf) const {
  const Leaf& l = signature_.leaves()[leaf];
  if (l.kind == Leaf::Kind::input) {
    const auto found = names_.find(leaf);
    return found == names_.end() ? "?" : found->second;
  }
  if (l.kind == Leaf::Kind::full && signature_.dims(l.type).empty()) {
    if (const auto scalar = scalars_.find(leaf); scalar != scalars_.end()) return scalar->second;
    const std::string text = l.value.to_string();
    return text.find('/') == std::string::npos ? text : "(" + text + ")";
  }
  if (l.kind != Leaf::Kind::full) return "identity";
  if (l.value == ir::Rational(0)) return "zeros";
  return l.value == ir::Rational(1) ? "ones" : "average";
}

rules::Term LeafNames::term(std::uint8_t leaf) const {
  const Leaf& l = signature_.leaves()[leaf];
  if (l.kind == Leaf::Kind::full && !scalars_.contains(leaf)) return rules::literal(l.value);
  return rules::variable(text(leaf));
}

}  // namespace xflow::generator
