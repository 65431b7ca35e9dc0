#include "src/generator/rules/shapes.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <set>

#include "src/ops/operator.h"

namespace xflow::generator {
namespace {

// The inputs in the order in which the terms read them, those of the source first.
std::vector<std::uint8_t> inputs_as_read(const GraphSignature& signature, const RuleCandidate& candidate) {
  std::vector<std::uint8_t> result;
  for (const SmallGraph* side : {&candidate.source, &candidate.target}) {
    std::vector<const SmallGraphNode*> node_of(signature.leaves().size(), nullptr);
    for (const SmallGraphNode& n : side->nodes) node_of.insert(node_of.end(), signature.choice(n.choice).outputs, &n);
    const auto read = [&](auto&& self, std::uint8_t value) -> void {
      if (node_of[value] != nullptr) {
        for (const std::uint8_t o : node_of[value]->operands) self(self, o);
      } else if (value < signature.inputs() && std::find(result.begin(), result.end(), value) == result.end()) {
        result.push_back(value);
      }
    };
    for (const std::uint8_t o : side->outputs) read(read, o);
  }
  return result;
}

}  // namespace

GeneralShapes::GeneralShapes(const GraphSignature& signature, const RuleCandidate& candidate, const EqualUnknowns& equal)
    : signature_(signature), candidate_(candidate) {
  // Numbers 0 and 1 are reserved for constants: 1, and the size of a window.
  parents_ = {0, 1};
  dims_ = {DimId{}, DimId{}};
  one_ = 0;
  window_ = 1;
  inputs_ = inputs_as_read(signature, candidate);
  std::vector<bool> is_read(signature.leaves().size(), false);
  for (const SmallGraph* small_graph : {&candidate.source, &candidate.target}) {
    const auto read = [&](std::uint8_t value) {
      if (value < is_read.size()) is_read[value] = true;
    };
    for (const SmallGraphNode& n : small_graph->nodes) std::for_each(n.operands.begin(), n.operands.end(), read);
    std::for_each(small_graph->outputs.begin(), small_graph->outputs.end(), read);
  }
  // Leaves that are not read have unknowns too, so that the numbers of unknowns do not depend on which
  // leaves are read.
  const auto parts = [&](auto&& self, DimId id, Parts* into) -> void {
    const Dim& d = signature_.dim(id);
    if (d.parts) {
      self(self, d.parts->first, into);
      self(self, d.parts->second, into);
    } else if (d.name == "1") {
      if (into != nullptr) into->push_back(one_);
    } else if (d.name == "r") {
      if (into != nullptr) into->push_back(window_);
    } else {
      if (into != nullptr) into->push_back(static_cast<int>(parents_.size()));
      parents_.push_back(static_cast<int>(parents_.size()));
      dims_.push_back(id);
    }
  };
  leaves_.resize(signature.leaves().size());
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    const Leaf& leaf = signature.leaves()[k];
    for (const DimId d : signature.dims(leaf.type)) parts(parts, d, is_read[k] ? &leaves_[k].emplace_back() : nullptr);
    if (is_read[k] && leaf.kind == Leaf::Kind::identity_matrix) unify(leaves_[k][0], leaves_[k][1]);
  }
  source_ = side(candidate.source);
  target_ = side(candidate.target);
  for (std::size_t k = 0; k < candidate.source.outputs.size(); ++k)
    unify(source_[candidate.source.outputs[k]], target_[candidate.target.outputs[k]]);
  for (const auto& [a, b] : equal) unify(Parts{a}, Parts{b});
}

int GeneralShapes::find(int part) const {
  while (parents_[static_cast<std::size_t>(part)] != part) part = parents_[static_cast<std::size_t>(part)];
  return part;
}

void GeneralShapes::unify(const Parts& a, const Parts& b) {
  assert(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    const int x = find(a[k]);
    const int y = find(b[k]);
    if (x < y) {
      parents_[static_cast<std::size_t>(y)] = x;
    } else {
      parents_[static_cast<std::size_t>(x)] = y;
    }
  }
}

void GeneralShapes::unify(const Dims& a, const Dims& b) {
  assert(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) unify(a[k], b[k]);
}

std::vector<GeneralShapes::Dims> GeneralShapes::type(const Choice& choice, const std::vector<Dims>& operands) {
  const Dims& a = operands[0];
  const Dims& b = operands.back();
  const auto axis = static_cast<std::size_t>(choice.axis);
  const auto is_one = [&](const Parts& p) { return p.size() == 1 && p[0] == one_; };
  Dims result = a;
  switch (choice.shape) {
    case ShapeRule::same:
      break;
    case ShapeRule::broadcast:
      if (a.empty()) return {b};
      if (b.empty()) return {a};
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (is_one(a[k])) {
          result[k] = b[k];
        } else if (!is_one(b[k])) {
          unify(a[k], b[k]);
        }
      }
      break;
    case ShapeRule::matmul:
      unify(a[1], b[0]);
      result[1] = b[1];
      break;
    case ShapeRule::transpose:
      std::swap(result[0], result[1]);
      break;
    case ShapeRule::concat:
      for (std::size_t k = 0; k < a.size(); ++k)
        if (k != axis) unify(a[k], b[k]);
      result[axis].insert(result[axis].end(), b[axis].begin(), b[axis].end());
      break;
    case ShapeRule::split:
      break;  // the caller knows the parts
    case ShapeRule::convolution:
      unify(a[1], b[1]);
      result[1] = b[0];
      break;
    case ShapeRule::depthwise:
      unify(a[1], b[0]);
      break;
    case ShapeRule::enlarge:
      result[2] = result[3] = {window_};
      break;
    case ShapeRule::reduce:
      result[axis] = {one_};
      break;
    case ShapeRule::to_kernels:
      result = {a[1], {one_}, {one_}, {one_}};
      break;
    case ShapeRule::add_axis:
      if (a.size() == 3) result.erase(std::find_if(result.begin(), result.end(), is_one));
      if (choice.axis != kNoAxis) result.insert(result.begin() + choice.axis, Parts{one_});
      break;
    case ShapeRule::expand:
      for (Parts& p : result) {
        if (!is_one(p)) continue;
        p = {static_cast<int>(parents_.size())};
        parents_.push_back(p[0]);
        dims_.push_back(signature_.main_dim());
      }
      break;
  }
  return {result};
}

std::vector<GeneralShapes::Dims> GeneralShapes::side(const SmallGraph& small_graph) {
  std::vector<Dims> values = leaves_;
  // The types in the signature say how a sum is made of parts.
  std::vector<TypeId> types;
  for (const Leaf& leaf : signature_.leaves()) types.push_back(leaf.type);
  for (const SmallGraphNode& n : small_graph.nodes) {
    const Choice& choice = signature_.choice(n.choice);
    std::vector<Dims> operands;
    std::vector<TypeId> operand_types;
    for (const std::uint8_t o : n.operands) {
      operands.push_back(values[o]);
      operand_types.push_back(types[o]);
    }
    const auto outputs = signature_.type(n.choice, operand_types);
    types.insert(types.end(), outputs.begin(), outputs.end());
    if (choice.shape == ShapeRule::split) {
      const auto axis = static_cast<std::size_t>(choice.axis);
      const auto count = [&](auto&& self, DimId id) -> std::size_t {
        const Dim& d = signature_.dim(id);
        return d.parts ? self(self, d.parts->first) + self(self, d.parts->second) : 1;
      };
      const auto first = static_cast<std::ptrdiff_t>(count(count, signature_.dims(outputs[0])[axis]));
      Dims left = operands[0];
      Dims right = operands[0];
      const Parts whole = operands[0][axis];
      left[axis].assign(whole.begin(), whole.begin() + first);
      right[axis].assign(whole.begin() + first, whole.end());
      values.push_back(std::move(left));
      values.push_back(std::move(right));
    } else {
      for (Dims& d : type(choice, operands)) values.push_back(std::move(d));
    }
  }
  return values;
}

std::vector<Parts> GeneralShapes::resolved(const Dims& dims) const {
  std::vector<Parts> result = dims;
  for (Parts& d : result)
    for (int& p : d) {
      p = find(p);
      if (p == one_) p = kOnePart;
      if (p == window_) p = kWindowPart;
    }
  return result;
}

std::vector<int> GeneralShapes::unknowns() const {
  std::set<int> found;
  for (const std::uint8_t input : inputs_)
    for (const Parts& d : leaves_[input])
      for (const int p : d)
        if (find(p) > window_) found.insert(find(p));
  return {found.begin(), found.end()};
}

std::vector<Parts> GeneralShapes::dims(std::uint8_t leaf) const { return resolved(leaves_[leaf]); }

std::vector<std::int64_t> GeneralShapes::sizes() const {
  // Different unknowns have different sizes, and the sum of two is no third size, for up to 24 unknowns.
  static constexpr std::array<std::int64_t, 24> kSizes = {5,  7,  11, 13, 17, 19, 23, 29, 31, 37, 41, 43,
                                                          47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101};
  std::vector<bool> is_there(parents_.size(), false);
  for (const std::uint8_t input : inputs_)
    for (const Parts& d : leaves_[input])
      for (const int p : d) is_there[static_cast<std::size_t>(find(p))] = true;
  std::vector<std::int64_t> result(parents_.size());
  result[static_cast<std::size_t>(one_)] = 1;
  result[static_cast<std::size_t>(window_)] = 3;
  std::size_t smaller = 0;
  for (auto root = static_cast<std::size_t>(window_) + 1; root < result.size(); ++root) {
    result[root] = kSizes[smaller % kSizes.size()];
    smaller += is_there[root] ? 1 : 0;
  }
  return result;
}

std::int64_t GeneralShapes::size(const Parts& parts, std::span<const std::int64_t> sizes) const {
  std::int64_t total = 0;
  for (const int p : parts) total += sizes[static_cast<std::size_t>(find(p))];
  return total;
}

FlatGraph GeneralShapes::flat(Vocabulary& vocabulary, const SmallGraph& small_graph, const std::vector<Dims>& values,
                              std::span<const std::int64_t> sizes) const {
  FlatGraph graph;
  std::vector<FlatValue> flat_values(signature_.leaves().size());
  for (std::size_t k = 0; k < inputs_.size(); ++k) flat_values[inputs_[k]] = flat_input(k);
  const auto shape = [&](std::size_t value) {
    std::vector<std::int64_t> result;
    result.reserve(values[value].size());
    for (const Parts& p : values[value]) result.push_back(size(p, sizes));
    return result;
  };
  // Constants become operations where they are read.
  std::vector<bool> made(signature_.leaves().size(), false);
  const auto constant = [&](std::uint8_t leaf) {
    if (leaf < signature_.inputs() || leaf >= signature_.leaves().size() || made[leaf]) return;
    made[leaf] = true;
    const Leaf& l = signature_.leaves()[leaf];
    const std::vector<std::int64_t> dims = shape(leaf);
    FlatNode node;
    if (l.kind == Leaf::Kind::full) {
      node.op = vocabulary.filled(dims, l.value);
    } else if (l.kind == Leaf::Kind::identity_matrix) {
      node.op = vocabulary.op(ops::id_of("identity_matrix"), {{"size", ir::Poly(dims[0])}, {"data_type", ir::DataType::float32}});
    } else {
      node.op = vocabulary.op(ops::id_of("identity_kernel"), {{"channels", ir::Poly(dims[0])},
                                                              {"kernel", ir::polys(std::span(dims).subspan(2))},
                                                              {"groups", ir::Poly(1)},
                                                              {"data_type", ir::DataType::float32}});
    }
    node.types.push_back(vocabulary.type(dims));
    flat_values[leaf] = {static_cast<std::int32_t>(graph.nodes.size()), 0};
    graph.nodes.push_back(std::move(node));
  };
  std::size_t value = signature_.leaves().size();
  std::vector<TypeRef> types(value);
  for (const std::uint8_t input : inputs_) types[input] = vocabulary.type(shape(input));
  std::vector<TypeRef> operand_types;
  for (const SmallGraphNode& n : small_graph.nodes) {
    const Choice& choice = signature_.choice(n.choice);
    FlatNode node;
    operand_types.clear();
    for (const std::uint8_t o : n.operands) {
      constant(o);
      if (signature_.is_constant(o)) types[o] = vocabulary.type(shape(o));
      node.operands.push_back(flat_values[o]);
      operand_types.push_back(types[o]);
    }
    const auto axis = static_cast<std::size_t>(choice.axis);
    ir::Attributes attributes = choice.attributes;
    if (choice.shape == ShapeRule::depthwise) attributes.set("groups", ir::Poly(size(values[n.operands[0]][1], sizes)));
    if (choice.shape == ShapeRule::split)
      attributes.set("sizes",
                     ir::polys(std::array<std::int64_t, 2>{size(values[value][axis], sizes), size(values[value + 1][axis], sizes)}));
    if (choice.shape == ShapeRule::to_kernels || choice.shape == ShapeRule::add_axis || choice.shape == ShapeRule::expand)
      attributes.set("shape", ir::polys(shape(value)));
    if (choice.is(ops::Op::Slice)) attributes = whole_slice(ir::polys(shape(n.operands[0])));
    node.op = vocabulary.op_on(choice.op, attributes, operand_types);
    for (std::size_t o = 0; o < choice.outputs; ++o) {
      node.types.push_back(vocabulary.type(shape(value + o)));
      types.push_back(node.types.back());
      flat_values.push_back({static_cast<std::int32_t>(graph.nodes.size()), static_cast<std::uint32_t>(o)});
    }
    graph.nodes.push_back(std::move(node));
    value += choice.outputs;
  }
  for (const std::uint8_t o : small_graph.outputs) {
    constant(o);
    graph.outputs.push_back(flat_values[o]);
  }
  return graph;
}

FlatEquation GeneralShapes::concrete(Vocabulary& vocabulary) const {
  FlatEquation equation;
  const std::vector<std::int64_t> sizes = this->sizes();
  for (const std::uint8_t input : inputs_) {
    std::vector<std::int64_t> dims;
    for (const Parts& p : leaves_[input]) dims.push_back(size(p, sizes));
    equation.inputs.push_back(vocabulary.type(dims));
  }
  equation.source = flat(vocabulary, candidate_.source, source_, sizes);
  equation.target = flat(vocabulary, candidate_.target, target_, sizes);
  return equation;
}

}  // namespace xflow::generator
