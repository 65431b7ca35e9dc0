#include "src/egraph/egraph_terms.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <optional>

#include "src/ops/operator.h"

namespace xflow::generator {
namespace {

// The terms of a graph's outputs. `term_of` gives the term of each operation's output. Empty if one has
// none.
template <typename TermOf>
std::vector<TermId> graph_on(const FlatGraph& flat, std::span<const TermId> inputs, const TermOf& term_of) {
  std::vector<TermId> values;       // outputs of operations, one after the other
  std::vector<std::size_t> begins;  // by operation
  values.reserve(2 * flat.nodes.size());
  begins.reserve(flat.nodes.size());
  const auto value = [&](const FlatValue& v) {
    return v.node < 0 ? inputs[static_cast<std::size_t>(-1 - v.node)] : values[begins[static_cast<std::size_t>(v.node)] + v.output];
  };
  std::array<TermId, EqTerm::kOperands> operands{};
  for (const FlatNode& n : flat.nodes) {
    assert(n.operands.size() <= operands.size());
    for (std::size_t k = 0; k < n.operands.size(); ++k) operands[k] = value(n.operands[k]);
    begins.push_back(values.size());
    for (std::size_t k = 0; k < n.types.size(); ++k) {
      const std::optional<TermId> term = term_of(n, k, std::span<const TermId>(operands.data(), n.operands.size()));
      if (!term) return {};
      values.push_back(*term);
    }
  }
  std::vector<TermId> result;
  result.reserve(flat.outputs.size());
  for (const FlatValue& v : flat.outputs) result.push_back(value(v));
  return result;
}

}  // namespace

std::vector<TermId> add_graph(EGraph& graph, const FlatGraph& flat, std::span<const TermId> inputs) {
  return graph_on(flat, inputs, [&](const FlatNode& n, std::size_t output, std::span<const TermId> operands) {
    return std::optional(graph.add(n.op, static_cast<std::uint32_t>(output), operands, n.types[output]));
  });
}

std::vector<TermId> find_graph(const EGraph& graph, const FlatGraph& flat, std::span<const TermId> inputs) {
  return graph_on(flat, inputs, [&](const FlatNode& n, std::size_t output, std::span<const TermId> operands) {
    return graph.lookup(static_cast<std::uint32_t>(n.op), static_cast<std::uint8_t>(output), operands);
  });
}

std::vector<int> smallest_sizes(const EGraph& graph) {
  constexpr int kMany = 1000;
  std::vector<int> sizes(graph.size(), kMany);
  for (bool changed = true; changed;) {
    changed = false;
    for (TermId t = 0; t < graph.size(); ++t) {
      const EqTerm& term = graph.term(t);
      int size = term.op == EqTerm::kInput || term.count == 0 ? 0 : 1;
      for (std::size_t k = 0; term.op != EqTerm::kInput && k < term.count; ++k) size += sizes[graph.find(term.operands[k])];
      int& known = sizes[graph.find(t)];
      if (size >= known) continue;
      known = size;
      changed = true;
    }
  }
  return sizes;
}

std::string text_of(const Vocabulary& vocabulary, const EGraph& graph, TermId id) {
  const EqTerm& t = graph.term(id);
  if (t.op == EqTerm::kInput) return fmt::format("x{}", t.operands[0] + 1);
  FlatGraph one;
  FlatNode node;
  node.op = static_cast<OpRef>(t.op);
  std::vector<std::string> operands;
  for (std::size_t k = 0; k < t.count; ++k) {
    node.operands.push_back(flat_input(k));
    operands.push_back(text_of(vocabulary, graph, t.operands[k]));
  }
  // An operation with several outputs needs a second type, so that the text names the output.
  node.types.assign(ops::get(vocabulary.operator_of(node.op)).signature.outputs < 0 ? 2 : 1, graph.type(id));
  one.outputs.push_back({0, t.output});
  one.nodes.push_back(std::move(node));
  return vocabulary.to_string(one, operands);
}

}  // namespace xflow::generator
