#include "src/generator/rules/rule_writer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/generator/rules/generalisation.h"
#include "src/ops/op.h"

namespace xflow::generator {
namespace {

// The kinds of operators and operands that occur.
struct Kinds {
  bool axes = false;    // concat, split
  bool matrix = false;  // products, transposes, reductions
  bool column = false;  // a column beside matrices
  bool number = false;  // a number as an operand
  bool meets = false;   // an elementwise operation of two tensors
  bool window = false;  // convolutions, pools, enlarged kernels
};

Kinds kinds_of(const GraphSignature& signature, const RuleCandidate& candidate) {
  Kinds kinds;
  for (const SmallGraph* side : {&candidate.source, &candidate.target}) {
    for (const SmallGraphNode& n : side->nodes) {
      const Choice& c = signature.choice(n.choice);
      kinds.axes = kinds.axes || c.shape == ShapeRule::concat || c.shape == ShapeRule::split;
      kinds.matrix = kinds.matrix || c.shape == ShapeRule::matmul || c.shape == ShapeRule::transpose || c.shape == ShapeRule::reduce ||
                     c.is(ops::Op::Softmax);
      if (c.shape == ShapeRule::broadcast) {
        const auto is_tensor = [&](std::uint8_t o) { return o < signature.inputs() || o >= signature.leaves().size(); };
        kinds.meets = kinds.meets || (is_tensor(n.operands[0]) && is_tensor(n.operands[1]));
        kinds.number = kinds.number || !is_tensor(n.operands[0]) || !is_tensor(n.operands[1]);
      }
      kinds.window = kinds.window || c.shape == ShapeRule::convolution || c.shape == ShapeRule::depthwise ||
                     c.shape == ShapeRule::enlarge || c.shape == ShapeRule::to_kernels || c.is(ops::Op::AveragePool) ||
                     c.is(ops::Op::MaxPool);
      for (const std::uint8_t o : n.operands) {
        if (o >= signature.inputs() || signature.kind() == TensorKind::image) continue;
        for (const DimId d : signature.dims(signature.leaves()[o].type)) kinds.column = kinds.column || signature.dim(d).name == "1";
      }
    }
  }
  return kinds;
}

// Sets of dimensions that may also be 1, largest first: all, those of one input, rows, columns. Empty if no
// two tensors meet, or if the signature has no columns, because then broadcasts were not enumerated.
std::vector<unsigned> broadcasts_of(const GraphSignature& signature, const RuleCandidate& candidate, const Kinds& kinds) {
  const bool columns = std::any_of(signature.leaves().begin(), signature.leaves().end(), [&](const Leaf& l) {
    const std::vector<DimId>& dims = signature.dims(l.type);
    return l.kind == Leaf::Kind::input && dims.size() == 2 && signature.dim(dims[1]).name == "1";
  });
  if (!kinds.meets || !columns) return {};
  const GeneralShapes shapes(signature, candidate);
  // A dimension stays as it is if it is 1, a sum, or in no other input.
  const auto dim_of = [&](std::size_t input, std::size_t d) { return shapes.dims(shapes.inputs()[input])[d]; };
  unsigned possible = 0;
  for (std::size_t k = 0; k < shapes.inputs().size(); ++k) {
    for (std::size_t d = 0; d < 2; ++d) {
      const Parts dim = dim_of(k, d);
      bool shared = false;
      for (std::size_t other = 0; other < shapes.inputs().size(); ++other)
        shared = shared || (other != k && (dim_of(other, 0) == dim || dim_of(other, 1) == dim));
      if (shared && dim.size() == 1 && dim[0] >= 0) possible |= 1U << (2 * k + d);
    }
  }
  std::vector<unsigned> sets = {possible};
  sets.reserve(shapes.inputs().size() + 3);
  for (std::size_t k = 0; k < shapes.inputs().size(); ++k) sets.push_back(possible & 3U << 2 * k);
  for (const unsigned axis : {0x55555555U, 0xAAAAAAAAU}) sets.push_back(possible & axis);
  // Larger sets take long to prove and gain little.
  constexpr int kMost = 4;
  std::vector<unsigned> result;
  for (const unsigned set : sets)
    if (set != 0 && std::popcount(set) <= kMost && std::find(result.begin(), result.end(), set) == result.end()) result.push_back(set);
  return result;
}

}  // namespace

std::vector<WrittenRule> write_rule(const GraphSignature& signature, const RuleCandidate& candidate, const std::string& name,
                                    bool small_ranks, std::string* why) {
  const Kinds kinds = kinds_of(signature, candidate);
  std::vector<Generalisation> generalisations;
  if (kinds.window) {
    generalisations = {Generalisation::windows, Generalisation::groups_of_one, Generalisation::no_pads,
                       Generalisation::strides, Generalisation::groups,        Generalisation::as_enumerated};
  } else if (kinds.matrix || (kinds.axes && kinds.column)) {
    generalisations = {Generalisation::batches, Generalisation::batch, Generalisation::matrices};
  } else if (kinds.axes) {
    generalisations = {Generalisation::axes};
    if (signature.kind() == TensorKind::image) {
      generalisations.push_back(Generalisation::as_enumerated);
    } else {
      generalisations.insert(generalisations.end(), {Generalisation::batches, Generalisation::batch, Generalisation::matrices});
    }
  } else {
    generalisations = {Generalisation::open};
    if (signature.kind() == TensorKind::image) {
      generalisations.push_back(Generalisation::as_enumerated);
    } else {
      generalisations.insert(generalisations.end(), {Generalisation::batches, Generalisation::batch, Generalisation::matrices});
    }
  }
  std::vector<WrittenRule> result;
  const auto write = [&](Generalisation generalisation, const Openness& open) {
    std::string reason;
    if (auto rule = generalised_rule(signature, candidate, name, generalisation, open, small_ranks, reason)) {
      result.push_back({*std::move(rule), open.equal});
    } else if (why != nullptr && why->empty()) {
      *why = std::move(reason);
    }
  };
  if (signature.kind() == TensorKind::image) {
    for (const bool scalars : {true, false}) {
      if (scalars && !kinds.number) continue;
      for (const Generalisation generalisation : generalisations) write(generalisation, {scalars});
    }
    return result;
  }
  for (const bool scalars : {true, false}) {
    if (scalars && !kinds.number) continue;
    for (const Generalisation generalisation : generalisations) {
      if (generalisation == Generalisation::batches)
        for (const unsigned broadcasts : broadcasts_of(signature, candidate, kinds)) write(generalisation, {scalars, broadcasts});
      write(generalisation, {scalars});
    }
  }
  // Identifies dimensions that have one enumerated size, but need not be equal in general: first two of
  // them, then all.
  const GeneralShapes shapes(signature, candidate);
  const std::vector<int> unknowns = shapes.unknowns();
  EqualUnknowns all;
  for (std::size_t a = 0; a < unknowns.size(); ++a)
    for (std::size_t b = a + 1; b < unknowns.size(); ++b)
      if (shapes.is_one_size(unknowns[a], unknowns[b])) all.emplace_back(unknowns[a], unknowns[b]);
  for (const std::pair<int, int>& equal : all)
    for (const Generalisation generalisation : {Generalisation::batches, Generalisation::matrices})
      write(generalisation, {false, 0, {equal}});
  if (unknowns.size() > 2)
    for (const Generalisation generalisation : {Generalisation::batches, Generalisation::matrices}) write(generalisation, {false, 0, all});
  return result;
}

std::string name_of(const GraphSignature& signature, const RuleCandidate& candidate) {
  const auto name_of_node = [&](const SmallGraphNode& n) {
    std::string w = signature.choice(n.choice).operator_name;
    std::replace(w.begin(), w.end(), '_', '-');
    return w;
  };
  const SmallGraph& s = candidate.source;
  if (s.nodes.empty()) return "leaf";
  // The outermost operator first, then its operands.
  std::string name = name_of_node(s.nodes.back());
  std::vector<std::string> inner;
  for (std::size_t k = s.nodes.size() - 1; k-- > 0;) inner.push_back(name_of_node(s.nodes[k]));
  for (std::size_t k = 0; k < inner.size(); ++k) name += (k == 0 ? "-of-" : "-and-") + inner[k];
  return name;
}

}  // namespace xflow::generator
