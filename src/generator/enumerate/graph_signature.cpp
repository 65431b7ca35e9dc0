#include "src/generator/enumerate/graph_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "src/ops/operator.h"

namespace xflow::generator {

ir::Attributes whole_slice(std::vector<ir::Poly> dims) {
  const std::size_t rank = dims.size();
  return {{"starts", std::vector<ir::Poly>(rank, 0)}, {"sizes", std::move(dims)}, {"steps", std::vector<ir::Poly>(rank, 1)}};
}

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

bool GraphSignature::admits(const Choice& choice, std::span<const TypeId> operands) const {
  const std::vector<DimId>& a = dims(operands.front());
  const std::vector<DimId>& b = dims(operands.back());
  const auto axis = static_cast<std::size_t>(choice.axis);
  // Only elementwise operations of two operands read numbers without dimensions.
  if (choice.shape != ShapeRule::broadcast && (a.empty() || b.empty())) return false;
  const bool is_plain = a.size() < 3 && b.size() < 3;  // without an axis that add_axis added
  if (kind_ == TensorKind::matrix && !is_plain && choice.shape != ShapeRule::add_axis && choice.shape != ShapeRule::broadcast &&
      (choice.shape != ShapeRule::same || choice.is(ops::Op::Softmax)))
    return false;
  switch (choice.shape) {
    case ShapeRule::same:
      // Pools have images as operands. A softmax of single numbers is 1.
      return !(choice.weight == kWindowWeight && (is_kernel(operands[0]) || is_channels(operands[0]))) &&
             !(choice.is(ops::Op::Softmax) && a[1] == one_);
    case ShapeRule::broadcast:
      if (kind_ == TensorKind::matrix) return is_plain || a == b || a.empty() || b.empty();
      return a.empty() || b.empty() || a == b || meets_channels(choice, operands[0], operands[1]) ||
             meets_channels(choice, operands[1], operands[0]);
    case ShapeRule::matmul:
      return a[1] != one_;
    case ShapeRule::transpose:
      return true;
    case ShapeRule::concat:
      return a[axis] != one_ && b[axis] != one_;
    case ShapeRule::split:
      return dim(a[axis]).parts.has_value();
    case ShapeRule::convolution:
    case ShapeRule::depthwise:
      // The pads are those of one window. Of one pixel, a larger window reads the middle alone.
      if (is_kernel(operands[0]) || !is_kernel(operands[1])) return false;
      return choice.axis == 1 ? b[3] == one_ : b[3] == kernel_ && !is_channels(operands[0]);
    case ShapeRule::enlarge:
      return is_kernel(operands[0]) && a[2] == one_;
    case ShapeRule::reduce:
      return a[axis] != one_;
    case ShapeRule::to_kernels:
      return is_channels(operands[0]);
    case ShapeRule::add_axis:
      return a.size() == 3 || is_matrix(operands[0]);
    case ShapeRule::expand:
      return std::all_of(a.begin(), a.end(), [&](DimId d) { return d == one_ || d == main_; });
  }
  return false;
}

std::vector<DimId> GraphSignature::with_axis(const Choice& choice, std::vector<DimId> dims) const {
  if (dims.size() == 3) dims.erase(std::find(dims.begin(), dims.end(), one_));
  if (choice.axis != kNoAxis) dims.insert(dims.begin() + choice.axis, one_);
  return dims;
}

// Images and kernels meet in convolutions only; channels meet images, and scale the kernels that read or
// write them.
bool GraphSignature::meets_channels(const Choice& choice, TypeId type, TypeId channels) const {
  const std::vector<DimId>& a = dims(type);
  const std::vector<DimId>& c = dims(channels);
  if (c.size() != 4 || c[2] != one_ || c[3] != one_ || (c[0] == one_) == (c[1] == one_)) return false;
  if (!is_kernel(type)) return c[0] == one_ && c[1] == a[1];
  return choice.is(ops::Op::Mul) && (c[0] == one_ ? c[1] == a[1] : c[0] == a[0]);
}

std::vector<TypeId> GraphSignature::find_type(const Choice& choice, std::span<const TypeId> operands) const {
  if (!admits(choice, operands)) return {};
  for (std::size_t k = typing_.size(); k < dims_.size(); ++k) {
    const auto sizes = sizes_.find(static_cast<DimId>(k));
    typing_.add(dims_[k], sizes == sizes_.end() ? std::span<const std::int64_t>() : sizes->second);
  }
  std::vector<std::vector<DimId>> operand_dims;
  for (const TypeId t : operands) operand_dims.push_back(dims(t));
  const ir::Attributes attributes = this->attributes(choice, operand_dims[0], [&](DimId d) { return typing_.poly(d); });
  std::vector<TypeId> types;
  for (const ir::Shape& shape : typing_.type(choice.op, attributes, operand_dims)) {
    std::vector<DimId> result;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      std::optional<DimId> d = typing_.find(shape[k]);
      // Other sums than those of a concat, such as windows that change the size, are not enumerated.
      if (!d && choice.shape == ShapeRule::concat) d = sum(operand_dims[0][k], operand_dims[1][k]);
      if (!d) return {};
      result.push_back(*d);
    }
    types.push_back(intern(std::move(result)));
  }
  return types;
}

bool GraphSignature::is_kernel(TypeId type) const {
  const std::vector<DimId>& d = dims(type);
  return kind_ == TensorKind::image && d.size() == 4 && d[0] != one_ && (d[3] == one_ || d[3] == kernel_);
}

bool GraphSignature::is_channels(TypeId type) const {
  const std::vector<DimId>& d = dims(type);
  return kind_ == TensorKind::image && d.size() == 4 && d[0] == one_ && d[1] != one_ && d[2] == one_ && d[3] == one_;
}

bool GraphSignature::is_matrix(TypeId type) const {
  const std::vector<DimId>& d = dims(type);
  return kind_ == TensorKind::matrix && d.size() == 2 && d[0] != one_ && d[1] != one_;
}

bool GraphSignature::is_row(TypeId type) const {
  const std::vector<DimId>& d = dims(type);
  return kind_ == TensorKind::matrix && d.size() == 2 && d[0] == one_ && d[1] != one_;
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

ir::Attributes GraphSignature::attributes(const Choice& choice, const std::vector<DimId>& dims,
                                          const std::function<ir::Poly(DimId)>& size) const {
  ir::Attributes result = choice.attributes;
  if (choice.shape == ShapeRule::split) {
    const auto parts = *dim(dims[static_cast<std::size_t>(choice.axis)]).parts;
    result.set("sizes", std::vector<ir::Poly>{size(parts.first), size(parts.second)});
  }
  if (choice.shape == ShapeRule::depthwise) result.set("groups", size(dims[1]));
  if (choice.shape == ShapeRule::to_kernels) result.set("shape", std::vector<ir::Poly>{size(dims[1]), 1, 1, 1});
  const auto polys = [&](const std::vector<DimId>& list) {
    std::vector<ir::Poly> sizes;
    sizes.reserve(list.size());
    for (const DimId d : list) sizes.push_back(size(d));
    return sizes;
  };
  if (choice.shape == ShapeRule::add_axis) result.set("shape", polys(with_axis(choice, dims)));
  if (choice.shape == ShapeRule::expand) result.set("shape", polys({main_, main_}));
  if (choice.is(ops::Op::Slice)) result = whole_slice(polys(dims));
  return result;
}

ir::Attributes GraphSignature::attributes(ChoiceId id, std::span<const TypeId> operands, std::size_t sizes) const {
  return attributes(choice(id), dims(operands[0]), [&](DimId d) { return ir::Poly(size(d, sizes)); });
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
