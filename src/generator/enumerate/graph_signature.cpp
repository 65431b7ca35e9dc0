#include "src/generator/enumerate/graph_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "src/ops/operator.h"

namespace xflow::generator {

bool Choice::is(ops::Op other) const { return ops::get(op).op == other; }

std::size_t GraphSignature::group_size(std::size_t group) const {
  return (group + 1 < group_begins_.size() ? group_begins_[group + 1] : inputs_) - group_begins_[group];
}

DimId GraphSignature::named(const std::string& name, std::vector<std::int64_t> sizes) {
  const auto id = static_cast<DimId>(dims_.size());
  dims_.push_back({name, std::nullopt});
  sizes_[id] = std::move(sizes);
  return id;
}

DimId GraphSignature::sum(DimId a, DimId b) const {
  const auto [found, added] = sums_.try_emplace({a, b}, static_cast<DimId>(dims_.size()));
  if (added) {
    assert(dims_.size() < UINT16_MAX);
    dims_.push_back({{}, std::pair(a, b)});
  }
  return found->second;
}

TypeId GraphSignature::intern(std::vector<DimId> dims) const {
  const auto [found, added] = type_ids_.try_emplace(dims, static_cast<TypeId>(types_.size()));
  if (added) {
    assert(types_.size() < UINT16_MAX);
    salts_.push_back(make_salt(dims));
    types_.push_back(std::move(dims));
    std::array<std::size_t, kAssignments> elements{};
    for (std::size_t sizes = 0; sizes < kAssignments; ++sizes) {
      elements[sizes] = 1;
      for (const std::int64_t d : shape(found->second, sizes)) elements[sizes] *= static_cast<std::size_t>(d);
    }
    elements_.push_back(elements);
  }
  return found->second;
}

std::int64_t GraphSignature::size(DimId id, std::size_t sizes) const {
  const Dim& d = dim(id);
  return d.parts ? size(d.parts->first, sizes) + size(d.parts->second, sizes) : sizes_.at(id)[sizes];
}

std::vector<std::int64_t> GraphSignature::shape(TypeId type, std::size_t sizes) const {
  std::vector<std::int64_t> result;
  for (const DimId d : dims(type)) result.push_back(size(d, sizes));
  return result;
}

std::uint64_t GraphSignature::make_salt(std::span<const DimId> dims) const {
  std::uint64_t salt = 0;
  const auto add = [&](auto&& self, DimId id) -> void {
    const Dim& d = dim(id);
    if (d.parts) {
      self(self, d.parts->first);
      self(self, d.parts->second);
      return;
    }
    for (const char c : d.name) salt = mix(salt + static_cast<unsigned char>(c));
  };
  for (const DimId d : dims) {
    add(add, d);
    salt = mix(salt ^ 0x5A);
  }
  return salt;
}

std::vector<TypeId> GraphSignature::find_type(const Choice& choice, std::span<const TypeId> operands) const {
  const std::vector<DimId> a = dims(operands[0]);
  const std::vector<DimId> b = operands.size() > 1 ? dims(operands[1]) : std::vector<DimId>();
  const auto is_one = [&](DimId d) { return dim(d).name == "1"; };
  const auto axis = static_cast<std::size_t>(choice.axis);
  switch (choice.shape) {
    case ShapeRule::same:
      // No operation has a number as its only operand, and pools have no kernels as operands.
      if (a.empty() || (choice.weight == kWindowWeight && is_kernel(operands[0]))) return {};
      // A softmax of single numbers is 1.
      if (choice.is(ops::Op::Softmax) && is_one(a[1])) return {};
      return {operands[0]};
    case ShapeRule::broadcast: {
      if (a.empty() || b.empty()) return {a.empty() ? operands[1] : operands[0]};
      if (a.size() != b.size()) return {};
      std::vector<DimId> result;
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (a[k] != b[k] && !is_one(a[k]) && !is_one(b[k])) return {};
        result.push_back(is_one(a[k]) ? b[k] : a[k]);
      }
      // Images and kernels are combined by convolutions only.
      if (kind_ == TensorKind::image && a != b) return {};
      return {intern(std::move(result))};
    }
    case ShapeRule::matmul:
      if (a.size() != 2 || b.size() != 2 || a[1] != b[0] || is_one(a[1])) return {};
      return {intern({a[0], b[1]})};
    case ShapeRule::transpose:
      if (a.size() != 2) return {};
      return {intern({a[1], a[0]})};
    case ShapeRule::concat: {
      if (a.size() != b.size() || a.size() <= axis || is_one(a[axis]) || is_one(b[axis])) return {};
      for (std::size_t k = 0; k < a.size(); ++k)
        if (k != axis && a[k] != b[k]) return {};
      std::vector<DimId> result = a;
      result[axis] = sum(a[axis], b[axis]);
      return {intern(std::move(result))};
    }
    case ShapeRule::split: {
      if (a.size() <= axis || !dim(a[axis]).parts) return {};
      const auto parts = *dim(a[axis]).parts;
      std::vector<DimId> first = a;
      std::vector<DimId> second = a;
      first[axis] = parts.first;
      second[axis] = parts.second;
      const TypeId left = intern(std::move(first));
      return {left, intern(std::move(second))};
    }
    case ShapeRule::convolution:
      if (a.size() != 4 || is_kernel(operands[0]) || !is_kernel(operands[1]) || a[1] != b[1] || size(b[2], 0) != choice.axis) return {};
      return {intern({a[0], b[0], a[2], a[3]})};
    case ShapeRule::depthwise:
      if (a.size() != 4 || is_kernel(operands[0]) || !is_kernel(operands[1]) || !is_one(b[1]) || a[1] != b[0]) return {};
      return {operands[0]};
    case ShapeRule::enlarge:
      if (!is_kernel(operands[0]) || !is_one(a[2])) return {};
      return {intern({a[0], a[1], kernel_, kernel_})};
    case ShapeRule::reduce: {
      if (a.size() != 2 || is_one(a[axis])) return {};
      std::vector<DimId> result = a;
      result[axis] = one_;
      return {intern(std::move(result))};
    }
  }
  return {};
}

bool GraphSignature::is_kernel(TypeId type) const {
  const std::vector<DimId>& d = dims(type);
  return kind_ == TensorKind::image && d.size() == 4 && (d[3] == one_ || d[3] == kernel_);
}

GraphSignature::Operation& GraphSignature::find_operation(ChoiceId id, TypeId a, TypeId b) const {
  const auto at = [](auto& list, std::size_t k) -> auto& {
    if (k >= list.size()) list.resize(k + 1);
    return list[k];
  };
  std::uint32_t& number = at(at(at(operation_at_, static_cast<std::size_t>(id)), static_cast<std::size_t>(a)), static_cast<std::size_t>(b));
  if (number == 0) {
    const TypeId operands[2] = {a, b};
    const std::vector<TypeId> types = find_type(choice(id), std::span(operands, choice(id).operands));
    Operation& made = operations_.emplace_back();
    made.outputs = types.size();
    std::copy(types.begin(), types.end(), made.types.begin());
    made.number = static_cast<std::uint32_t>(operations_.size() - 1);
    number = made.number + 1;
  }
  return operations_[number - 1];
}

std::span<const TypeId> GraphSignature::type(ChoiceId id, std::span<const TypeId> operands) const {
  const Operation& o = operation(id, operands[0], operands.size() > 1 ? operands[1] : TypeId{});
  return std::span(o.types).first(o.outputs);
}

ir::Attributes GraphSignature::attributes(ChoiceId id, std::span<const TypeId> operands, std::size_t sizes) const {
  const Choice& c = choice(id);
  ir::Attributes result = c.attributes;
  const std::vector<DimId>& a = dims(operands[0]);
  if (c.shape == ShapeRule::split) {
    const auto parts = *dim(a[static_cast<std::size_t>(c.axis)]).parts;
    result.set("sizes", ir::polys(std::array<std::int64_t, 2>{size(parts.first, sizes), size(parts.second, sizes)}));
  }
  if (c.shape == ShapeRule::depthwise) result.set("groups", ir::Poly(size(a[1], sizes)));
  return result;
}

ir::OperatorId GraphSignature::op(const Leaf& constant) const {
  return ops::id_of(constant.kind == Leaf::Kind::full              ? "full"
                    : constant.kind == Leaf::Kind::identity_matrix ? "identity_matrix"
                                                                   : "identity_kernel");
}

ir::Attributes GraphSignature::attributes(const Leaf& constant, std::size_t sizes) const {
  const std::vector<std::int64_t> dims = shape(constant.type, sizes);
  if (constant.kind == Leaf::Kind::full) return {{"shape", ir::polys(dims)}, {"value", ir::Real(constant.value)}};
  if (constant.kind == Leaf::Kind::identity_matrix) return {{"size", ir::Poly(dims[0])}};
  return {{"channels", ir::Poly(dims[0])}, {"kernel", ir::polys(std::span(dims).subspan(2))}};
}

const std::vector<ElementPlan>& GraphSignature::plans(ChoiceId id, std::span<const TypeId> operands, std::size_t sizes) const {
  PlanCache::Plans& plans = find_operation(id, operands[0], operands.size() > 1 ? operands[1] : TypeId{}).plans[sizes];
  if (!plans) {
    std::vector<std::vector<std::int64_t>> shapes;
    shapes.reserve(operands.size());
    for (const TypeId t : operands) shapes.push_back(shape(t, sizes));
    // Every operator has a plan for all types that fit; a test checks it.
    plans = cache_->get(choice(id).op, attributes(id, operands, sizes), shapes);
    assert(plans);
  }
  return *plans;
}

void GraphSignature::forget_plans() {
  for (Operation& o : operations_)
    for (PlanCache::Plans& plans : o.plans) plans.reset();
}

std::string GraphSignature::to_string(TypeId type) const {
  const auto text = [&](auto&& self, DimId id) -> std::string {
    const Dim& d = dim(id);
    return d.parts ? fmt::format("({} + {})", self(self, d.parts->first), self(self, d.parts->second)) : d.name;
  };
  std::string result;
  for (const DimId d : dims(type)) result += (result.empty() ? "" : ", ") + text(text, d);
  return "[" + result + "]";
}

}  // namespace xflow::generator
