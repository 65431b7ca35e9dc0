#include "src/cost/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "src/ops/kernel_text.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr std::array<Layout, 5> kConcreteLayouts = {Layout::plain, Layout::channels_last, Layout::blocked4, Layout::blocked8,
                                                    Layout::blocked16};

void mix(std::size_t& hash, std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL; }

void mix(std::size_t& hash, const ir::TensorType& type) {
  mix(hash, static_cast<std::size_t>(type.data_type) * 2 + (type.ranked ? 1 : 0));
  for (const ir::Poly& dim : type.shape) mix(hash, dim.is_constant() ? static_cast<std::size_t>(dim.constant_term()) : dim.hash());
}

// The exponent of a power decides its kernel.
bool depends_on_constants(const ir::Node& node) { return ops::get(node.op).op == ops::Op::Pow; }

ir::NodeKind kind_of(const ir::Node& node) { return node.is_constant ? ir::NodeKind::constant : node.kind; }
// Devices store numbers only. A node that reads only the sizes of a tensor does not move its elements.
bool moves_strings(const ops::KernelSpec& spec) {
  const auto is_string = [](const ops::TensorSpec& tensor) { return tensor.data_type == ir::DataType::string; };
  return std::ranges::any_of(spec.results, is_string) ||
         (!spec.is(ops::KernelFamily::none) && std::ranges::any_of(spec.operands, is_string));
}

std::uint32_t serial_of(const ir::Node& node) { return kind_of(node) == ir::NodeKind::opaque ? node.serial : 0; }

std::size_t hash_of(const ir::Arena& arena, const ir::Node& node) {
  std::size_t hash = static_cast<std::size_t>(kind_of(node));
  mix(hash, serial_of(node));
  for (const ir::TensorType& output : node.outputs) mix(hash, output);
  if (kind_of(node) != ir::NodeKind::operation) return hash;
  mix(hash, static_cast<std::size_t>(node.local));
  for (const ValueId operand : node.operands) {
    mix(hash, arena.type(operand));
    mix(hash, arena.is_constant(operand) ? 1 : 0);
  }
  return hash;
}

// The exponent of a power, if it is a constant of one element.
std::optional<double> exponent_of(const ir::Arena& arena, const ir::Node& node) {
  if (!depends_on_constants(node) || node.operands.size() != 2) return std::nullopt;
  const ir::Node& exponent = arena.node(node.operands[1]);
  if (exponent.kind != ir::NodeKind::constant || exponent.constant.elements() != 1) return std::nullopt;
  const auto values = ir::doubles(exponent.constant);
  if (!values) return std::nullopt;
  return (*values)[0];
}

}  // namespace

std::size_t Regions::ChainHash::operator()(const Chain& chain) const {
  std::size_t hash = chain.size();
  for (const Element& element : chain) mix(hash, static_cast<std::size_t>(element.shape) * 65536 + element.position);
  return hash;
}

namespace {

// Whether an operand of the composite is a value of its own, which no kernel would make: a query that is the
// transposed key.
bool reads_itself(const Composite& composite) {
  const auto is_inner = [&](const ValueId value) { return std::ranges::find(composite.inner, value.node) != composite.inner.end(); };
  return is_inner(composite.entry) || std::ranges::any_of(composite.parameters, is_inner);
}

}  // namespace

NodeRecord Regions::record(const ir::Arena& arena, const ir::GraphView& graph, NodeId id, std::vector<NodeId>& explored) {
  const ir::Node& node = arena.node(id);
  NodeRecord record;
  record.shape = find_shape(arena, id);
  if (record.shape->role == Role::absent || record.shape->role == Role::refused) return record;
  for (const ValueId operand : node.operands) {
    if (!arena.is_absent(operand) && record.operands.size() < record.shape->spec.operands.size()) record.operands.push_back(operand);
  }
  if (record.shape->role == Role::pointwise) {
    record.composite = find_composite(arena, graph, id, &explored);
    if (record.composite && !reads_itself(*record.composite)) record.composite_shape = shape_of(arena, *record.composite);
    if (record.composite_shape == nullptr) record.composite.reset();
  } else if (record.shape->spec.is(ops::KernelFamily::product)) {
    record.composite = find_attention(arena, id, &explored);
    if (record.composite && !reads_itself(*record.composite)) record.composite_shape = shape_of(arena, *record.composite);
    if (record.composite_shape == nullptr || !costs_.device().has_attention(record.composite_shape->spec)) {
      record.composite.reset();
      record.composite_shape = nullptr;
    }
  }
  return record;
}

const NodeShape* Regions::add_shape(std::unique_ptr<NodeShape> shape) {
  shape->id = static_cast<ShapeId>(shapes_.size());
  shapes_.push_back(std::move(shape));
  return shapes_.back().get();
}

Regions::ShapeKey Regions::key_of(const ir::Arena& arena, const ir::Node& node) {
  ShapeKey key{kind_of(node), serial_of(node), {}, {}, {}, node.outputs, {}};
  if (key.kind != ir::NodeKind::operation) return key;
  key.op = node.op;
  key.attributes = node.attributes;
  key.exponent = exponent_of(arena, node);
  for (const ValueId operand : node.operands) key.operands.emplace_back(arena.type(operand), arena.is_constant(operand));
  return key;
}

bool Regions::fits(const ShapeKey& key, const ir::Arena& arena, const ir::Node& node) {
  if (key.kind != kind_of(node) || key.serial != serial_of(node) || !(key.outputs == node.outputs)) return false;
  if (key.kind != ir::NodeKind::operation) return true;
  if (key.op != node.op || key.operands.size() != node.operands.size()) return false;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    if (key.operands[k].second != arena.is_constant(node.operands[k]) || !(key.operands[k].first == arena.type(node.operands[k])))
      return false;
  }
  return key.attributes == node.attributes && key.exponent == exponent_of(arena, node);
}

const NodeShape* Regions::find_shape(const ir::Arena& arena, NodeId id) {
  const ir::Node& node = arena.node(id);
  const std::size_t hash = hash_of(arena, node);
  const auto [begin, end] = shape_index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (fits(it->second.first, arena, node)) return &shape(it->second.second);
  }
  const NodeShape* made = add_shape(make_shape(arena, id));
  shape_index_.emplace(hash, std::pair(key_of(arena, node), made->id));
  return made;
}

std::unique_ptr<NodeShape> Regions::make_shape(const ir::Arena& arena, NodeId id) {
  const ir::Node& node = arena.node(id);
  auto shape = std::make_unique<NodeShape>();
  if (kind_of(node) == ir::NodeKind::opaque) {
    shape->role = Role::refused;
    shape->supported = refused(fmt::format("cannot run opaque node {} here", node.serial));
  }
  if (kind_of(node) != ir::NodeKind::operation) return shape;
  Result<NodeLaunch> kernel = kernel_of(arena, id, sizes_);
  if (!kernel) {  // an unknown size, or a combination without a kernel
    shape->role = Role::refused;
    shape->supported = refused(fmt::format("{}: {}", ops::get(node.op).signature.name, kernel.error().message));
    return shape;
  }
  shape->spec = std::move(kernel->spec);
  if (moves_strings(shape->spec)) {
    shape->role = Role::refused;
    shape->supported = refused(fmt::format("{}: strings are not supported here", ops::get(node.op).signature.name));
    return shape;
  }
  shape->role = Role::single;
  if (shape->spec.is(ops::KernelFamily::none)) {
    shape->role = Role::free;
  } else if (is_anchor(shape->spec)) {
    shape->role = Role::anchor;
  } else if (is_pointwise(shape->spec)) {
    shape->role = Role::pointwise;
    shape->step = shape->spec.function;
    shape->reals = step_reals(node);
    shape->commutative = ops::get(node.op).signature.commutative;
  } else {
    shape->view = costs_.device().views().covers(shape->spec);
  }
  return shape;
}

const NodeShape* Regions::shape_of(const ir::Arena& arena, const Composite& composite) {
  auto shape = std::make_unique<NodeShape>();
  ops::KernelSpec& spec = shape->spec;
  spec.family = composite.family;
  spec.function = composite.function;
  if (!costs_.device().reads_function_graphs()) spec.function.graph.clear();
  std::vector<ValueId> operands = {composite.entry};
  operands.insert(operands.end(), composite.parameters.begin(), composite.parameters.end());
  for (const ValueId value : operands) {
    auto tensor = this->tensor(arena, value);
    if (!tensor) return nullptr;
    spec.operands.push_back(*std::move(tensor));
  }
  auto result = this->tensor(arena, {composite.exit, 0});
  if (!result) return nullptr;
  spec.results = {*std::move(result)};
  if (!composite.axes.empty()) {
    spec.integers = {{"axes", composite.axes}};
    spec.reals = {{"epsilon", composite.epsilon}};
  }
  if (!composite.perm.empty()) {
    spec.integers = {{"perm", composite.perm}};
    spec.reals = {{"scale", composite.scale}};
  }
  shape->role = is_pointwise(spec) ? Role::pointwise : Role::single;
  shape->step = spec.function;
  std::string text = ops::to_string(spec);
  const auto known = composite_shapes_.find(text);
  if (known != composite_shapes_.end()) return &this->shape(known->second);
  const NodeShape* made = add_shape(std::move(shape));
  composite_shapes_.emplace(std::move(text), made->id);
  return made;
}

std::optional<ops::TensorSpec> Regions::tensor(const ir::Arena& arena, ValueId value) { return tensor_of(arena, value, sizes_); }

FusedChain* Regions::region(const Chain& chain) {
  const auto found = regions_.find(chain);
  if (found != regions_.end()) return found->second.get();
  return regions_.emplace(chain, make_region(chain)).first->second.get();
}

std::unique_ptr<FusedChain> Regions::make_region(const Chain& chain) {
  const Device& device = costs_.device();
  auto region = std::make_unique<FusedChain>();
  ops::KernelSpec& spec = region->spec;
  spec = shape(chain[0].shape).spec;
  for (std::size_t k = 1; k < chain.size(); ++k) {
    const NodeShape& next = shape(chain[k].shape);
    // Post-operations have no integer attributes, so an operator with some (fmod) cannot be one.
    if (next.role != Role::pointwise || next.spec.results.size() != 1 || !next.spec.integers.empty() ||
        !(next.spec.results[0] == spec.results[0]))
      return nullptr;
    ops::PostOperation post;
    // Commutative functions have one canonical operand position.
    post.function = next.step;
    post.position = next.commutative ? 0 : chain[k].position;
    post.reals = next.reals;
    post.operands = next.spec.operands;
    post.operands.erase(post.operands.begin() + chain[k].position);
    if (!device.can_fuse(spec, post)) return nullptr;
    spec.post.push_back(std::move(post));
  }
  region->chain = chain;
  region->chooses = device.chooses_layout(spec);
  for (const Layout layout : kConcreteLayouts) region->works[static_cast<std::size_t>(layout)] = device.works_in(spec, layout);
  // Operands of the result's rank have the kernel's layout; weights and vectors do not. Products are
  // row-major.
  const bool product = spec.is(ops::KernelFamily::product);
  const std::size_t rank = spec.results.empty() ? 0 : spec.results[0].dims.size();
  for (std::size_t k = 0; k < spec.operands.size(); ++k) {
    const ops::TensorSpec& operand = spec.operands[k];
    const bool data = region->chooses ? k == 0 : operand.dims.size() >= rank;
    region->takes.push_back(!operand.constant && has_layouts(operand) && !product && data);
  }
  for (const ops::PostOperation& post : spec.post) {
    for (const ops::TensorSpec& operand : post.operands) {
      region->takes.push_back(!operand.constant && has_layouts(operand) && !product && operand.dims.size() == rank);
    }
  }
  return region;
}

}  // namespace xflow::cost
