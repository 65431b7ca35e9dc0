// Builds the target of a match, and the premises under which it is a match.
#include <optional>
#include <utility>

#include "src/egraph/numbers.h"
#include "src/generator/rules/derive_direction.h"
#include "src/ops/operator.h"
#include "src/rules/apply.h"

namespace xflow::generator {

using rules::PatternNode;
using rules::PatternOperand;

std::vector<std::pair<TermId, TermId>> Deriver::premises(const Direction& direction, const EGraph& graph, const Match& match) const {
  std::vector<std::pair<TermId, TermId>> result;
  const auto same = [&](TermId a, TermId b) {
    if (a != b) result.emplace_back(a, b);
  };
  for (std::size_t k = 0; k < direction.pattern->nodes().size(); ++k) {
    const PatternNode& node = direction.pattern->nodes()[k];
    const EqTerm& term = graph.term(match.nodes[k]);
    const std::span<const TermId> operands(term.operands.data(), term.count);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const TermId output = o == term.output ? match.nodes[k] : *graph.lookup(term.op, static_cast<std::uint8_t>(o), operands);
      same(match.slots[node.outputs[o]], output);
      for (std::size_t i = 0; i < term.count; ++i) same(term.operands[i], graph.term(output).operands[i]);
    }
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const TermId operand = term.operands[match.is_swapped(k) ? 1 - i : i];
      if (node.operands[i].kind == PatternOperand::Kind::value) {
        same(match.slots[node.operands[i].slot], operand);
        continue;
      }
      // Finds a number that is equal to a term.
      for (const TermId t : graph.members(operand)) {
        const EqTerm& m = graph.term(t);
        const auto number = m.op == EqTerm::kInput ? std::nullopt : vocabulary_.fills(static_cast<OpRef>(m.op));
        if (!number || !(ir::Real(*number) == node.operands[i].literal)) continue;
        same(operand, t);
        break;
      }
    }
  }
  return result;
}

// Builds a graph of the matched terms on new inputs, and replaces them by the target of the rule.
class Deriver::TargetBuilder {
 public:
  TargetBuilder(Vocabulary& vocabulary, const Direction& direction, const EGraph& graph, const Match& match)
      : vocabulary_(vocabulary),
        direction_(direction),
        pattern_(*direction.pattern),
        graph_(graph),
        match_(match),
        typing_(arena_.symbols()),
        slots_(pattern_.slots()),
        nodes_(pattern_.nodes().size()) {
    for (const rules::PatternVariable& v : pattern_.variables()) {
      const std::vector<std::int64_t>& dims = vocabulary_.dims(graph.type(match.slots[v.slot]));
      inputs_.push_back(
          arena_.input(ir::TensorType{ir::DataType::float32, true, ir::polys(dims)}, static_cast<std::uint32_t>(inputs_.size())));
      slots_[v.slot] = inputs_.back();
    }
  }

  // Returns nothing if the source or the target is ill-typed, or has an operation that e-graphs do not have.
  std::optional<FlatGraph> run() {
    ir::Graph source;
    std::optional<ir::NodeId> root;
    for (std::size_t k = 0; k < pattern_.nodes().size(); ++k) {
      if (!pattern_.nodes()[k].is_root) continue;
      if (!build(k)) return std::nullopt;
      if (!root) root = nodes_[k];
      for (std::uint32_t o = 0; o < arena_.node(*nodes_[k]).outputs.size(); ++o) source.outputs.push_back({*nodes_[k], o});
    }
    for (const std::size_t s : direction_.outputs) {
      if (!slots_[s]) return std::nullopt;
      source.outputs.push_back(*slots_[s]);
    }
    std::optional<FlatGraph> target = rewritten(source, *root);
    if (!target) return target;
    for (const FlatNode& n : target->nodes)
      if (n.operands.size() > EqTerm::kOperands) return std::nullopt;
    return target;
  }

 private:
  bool build(std::size_t index) {
    if (nodes_[index]) return true;
    const PatternNode& node = pattern_.nodes()[index];
    const EqTerm& term = graph_.term(match_.nodes[index]);
    std::vector<ir::ValueId> operands;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const PatternOperand& o = node.operands[k];
      if (o.kind == PatternOperand::Kind::literal) {
        const auto filled = number(o.literal, term.operands[match_.is_swapped(index) ? 1 - k : k]);
        if (!filled) return false;
        operands.push_back({*filled, 0});
        continue;
      }
      if (o.node >= 0 && !build(static_cast<std::size_t>(o.node))) return false;
      if (!slots_[o.slot]) return false;
      operands.push_back(*slots_[o.slot]);
    }
    const auto made = ops::apply(arena_, typing_, node.op, operands, vocabulary_.attributes(static_cast<OpRef>(term.op)));
    if (!made) return false;
    nodes_[index] = *made;
    for (std::size_t k = 0; k < node.outputs.size() && k < arena_.node(*made).outputs.size(); ++k)
      slots_[node.outputs[k]] = ir::ValueId{*made, static_cast<std::uint32_t>(k)};
    return true;
  }

  Result<ir::NodeId> number(const ir::Real& literal, TermId term) {
    const auto rational = literal.rational();
    if (!rational) return fail(ErrorCode::unsupported, "a number that is not rational");
    return ops::apply(arena_, typing_, ops::id_of("full"), {},
                      {{"shape", ir::polys(vocabulary_.dims(graph_.type(term)))}, {"value", ir::Real(*rational)}});
  }

  std::optional<FlatGraph> rewritten(const ir::Graph& source, ir::NodeId root) {
    const ir::Uses uses(arena_, source);
    std::optional<FlatGraph> target;
    rules::MatchOptions options;
    options.fast_math = true;
    rules::match(pattern_, arena_, uses, root, options, [&](rules::Match& m) {
      // Take the occurrence in which every output has its place.
      for (std::size_t k = 0; k < direction_.outputs.size(); ++k)
        if (m.outputs[k] != *slots_[direction_.outputs[k]]) return true;
      const auto replaced = rules::apply(arena_, m);
      if (!replaced) return true;
      std::vector<ir::ValueId> values;
      for (const ir::ValueId output : m.outputs) {
        const auto to = replaced->find(output);
        values.push_back(to == replaced->end() ? output : to->second);
      }
      auto flat = vocabulary_.flatten(arena_, inputs_, values);
      if (flat) target = *std::move(flat);
      return !target.has_value();
    });
    return target;
  }

  Vocabulary& vocabulary_;
  const Direction& direction_;
  const rules::Pattern& pattern_;
  const EGraph& graph_;
  const Match& match_;
  ir::Arena arena_;
  ops::Typing typing_;
  std::vector<std::optional<ir::ValueId>> slots_;
  std::vector<ir::ValueId> inputs_;
  std::vector<std::optional<ir::NodeId>> nodes_;  // by pattern node
};

const FlatGraph* Deriver::target_of(const Direction& direction, const EGraph& graph, const Match& match) {
  const rules::Pattern& pattern = *direction.pattern;
  std::uint64_t key = match.swapped;
  for (const rules::PatternVariable& v : pattern.variables()) key = mix(key ^ static_cast<std::uint64_t>(graph.type(match.slots[v.slot])));
  for (std::size_t k = 0; k < pattern.nodes().size(); ++k) {
    const EqTerm& term = graph.term(match.nodes[k]);
    key = mix(key ^ term.op);
    // Numbers have any shape, so the key includes types: a product with a tensor of ones can be larger than
    // its other operand.
    for (const TermId operand : std::span(term.operands.data(), term.count))
      key = mix(key ^ static_cast<std::uint64_t>(graph.type(operand)));
  }
  const auto [found, added] = direction.targets.try_emplace(key);
  if (!added) return found->second.get();
  ++targets_;
  if (std::optional<FlatGraph> target = TargetBuilder(vocabulary_, direction, graph, match).run())
    found->second = std::make_unique<FlatGraph>(*std::move(target));
  return found->second.get();
}

}  // namespace xflow::generator
