#include "src/equivalence/same_nodes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "src/onnx/lift/lift_operator.h"

namespace xflow::equivalence {
namespace {

using onnx_io::Document;
using onnx_io::Node;

// ONNX's operators whose results differ from call to call (opset 22).
constexpr std::array<std::string_view, 6> kRandom = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                                     "RandomNormalLike", "RandomUniform", "RandomUniformLike"};

bool is_random(const Node& node) {
  return std::ranges::any_of(kRandom, [&](std::string_view name) { return node.is(name); });
}

// Whether a node, or one in its bodies or functions, draws random numbers or depends on training. A node
// that is nested too deep may.
bool draws(const Document& document, const Node& node, int depth = 0) {
  constexpr int kMostDepth = 32;
  if (depth > kMostDepth || is_random(node) || (node.is("Dropout") && node.inputs.size() > 2)) return true;
  const auto any = [&](onnx_io::GraphId graph) {
    return std::ranges::any_of(document.nodes(graph), [&](const Node& inner) { return draws(document, inner, depth + 1); });
  };
  for (const onnx_io::Attribute& attribute : node.attributes)
    if (std::ranges::any_of(attribute.graphs, any)) return true;
  const onnx_io::Function* function = onnx_io::called_function(document, node);
  return function != nullptr && any(function->body);
}

bool same_attributes(const Node& a, const Node& b) {
  if (a.attributes.size() != b.attributes.size()) return false;
  return std::ranges::all_of(a.attributes, [&](const onnx_io::Attribute& attribute) {
    const onnx_io::Attribute* other = b.find(attribute.name);
    return other != nullptr && other->payload == attribute.payload;
  });
}

// Whether bodies and functions of the two documents mean the same: equal operator sets and functions.
bool same_context(const Document& a, const Document& b) {
  if (a.model().functions.size() != b.model().functions.size()) return false;
  for (std::size_t k = 0; k < a.model().functions.size(); ++k)
    if (a.model().functions[k].field != b.model().functions[k].field) return false;
  return std::ranges::all_of(a.model().opsets, [&](const onnx_io::OperatorSet& set) {
    return b.opset(onnx_io::GraphId{0}, set.domain) == std::optional(set.version);
  });
}

}  // namespace

bool SameNodes::operator()(std::uint32_t of_a, std::uint32_t of_b) const {
  if (of_a == onnx_io::kLeafSerial || of_b == onnx_io::kLeafSerial || of_b < first_of_b_) return false;
  const Node& a = a_.node(onnx_io::NodeId{of_a});
  const Node& b = b_.node(onnx_io::NodeId{of_b - first_of_b_});
  const bool same_domain = a.domain == b.domain || (onnx_io::is_default_domain(a.domain) && onnx_io::is_default_domain(b.domain));
  if (!same_domain || a.op_type != b.op_type || a.overload != b.overload || !same_attributes(a, b)) return false;
  if (draws(a_, a) || draws(b_, b)) return false;
  if (a.has_bodies() || onnx_io::calls_function(a_, a) || onnx_io::calls_function(b_, b)) return same_context(a_, b_);
  return a_.opset(a.graph, a.domain) == b_.opset(b.graph, b.domain);
}

}  // namespace xflow::equivalence
