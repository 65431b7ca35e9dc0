#include "src/equivalence/same_nodes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "src/onnx/lift/inferred_shapes.h"
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

// Whether each attribute of a node has the same bytes in the other one, or is the default that the other one
// leaves out. `but_bodies`: attributes with graphs are not compared.
bool has_attributes_of(const Document& document, const Node& node, const Node& other, bool but_bodies) {
  return std::ranges::all_of(node.attributes, [&](const onnx_io::Attribute& attribute) {
    const onnx_io::Attribute* found = other.find(attribute.name);
    if (found == nullptr) return onnx_io::is_default(document, node, attribute);
    return found->payload == attribute.payload || (but_bodies && !attribute.graphs.empty() && !found->graphs.empty());
  });
}

// Whether the operands of the inputs, without captured values, are equal.
bool same_inputs(const Node& a, const OpaqueUse& of_a, const Node& b, const OpaqueUse& of_b) {
  return a.inputs.size() == b.inputs.size() &&
         std::ranges::equal(of_a.operands.first(a.inputs.size()), of_b.operands.first(b.inputs.size()));
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

bool are_equal(const Document& document, const Node& a, const Node& b) {
  return a.graph == b.graph && a.domain == b.domain && a.op_type == b.op_type && a.overload == b.overload && !draws(document, a) &&
         has_attributes_of(document, a, b, false) && has_attributes_of(document, b, a, false);
}

bool SameNodes::operator()(const OpaqueUse& of_a, const OpaqueUse& of_b) const {
  if (of_a.serial == onnx_io::kLeafSerial || of_b.serial == onnx_io::kLeafSerial || of_b.serial < first_of_b_) return false;
  const Node& a = a_.node(onnx_io::NodeId{of_a.serial});
  const Node& b = b_.node(onnx_io::NodeId{of_b.serial - first_of_b_});
  const bool same_domain = a.domain == b.domain || (onnx_io::is_default_domain(a.domain) && onnx_io::is_default_domain(b.domain));
  if (!same_domain || a.op_type != b.op_type || a.overload != b.overload) return false;
  const bool same_operands = std::ranges::equal(of_a.operands, of_b.operands);
  const bool may_have_same_bodies = a.has_bodies() && b.has_bodies() && (a.is("If") || a.is("Loop") || a.is("Scan"));
  if ((!same_operands && !may_have_same_bodies) || draws(a_, a) || draws(b_, b)) return false;
  const auto same_attributes = [&](bool but_bodies) {
    return has_attributes_of(a_, a, b, but_bodies) && has_attributes_of(b_, b, a, but_bodies);
  };
  const bool calls = onnx_io::calls_function(a_, a) || onnx_io::calls_function(b_, b);
  const bool same_version = a_.opset(a.graph, a.domain) == b_.opset(b.graph, b.domain);
  if (same_operands && same_attributes(false) && (a.has_bodies() || calls ? same_context(a_, b_) : same_version)) {
    bodies_.note_equal(b);
    return true;
  }
  if (!may_have_same_bodies || calls || !same_version) return false;
  return same_inputs(a, of_a, b, of_b) && same_attributes(true) && bodies_(a, of_a, b, of_b);
}

}  // namespace xflow::equivalence
