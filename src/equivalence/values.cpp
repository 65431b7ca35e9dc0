#include "src/equivalence/values.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace xflow::equivalence {
namespace {

// Two runs that differ by more than this share of the largest magnitude are of different values. Rounded
// constants change deep values by less.
constexpr double kNear = 1e-4;

}  // namespace

std::optional<std::vector<std::int64_t>> Values::dims_of(const ir::TensorType& type) const {
  if (!type.ranked) return std::nullopt;
  std::vector<std::int64_t> dims;
  const auto size_of = [&](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    const auto known = options_.symbols.find(symbol);
    return known == options_.symbols.end() ? std::nullopt : std::optional(known->second);
  };
  for (const ir::Poly& size : type.shape) {
    const auto dim = arena_.symbols().evaluate(size, size_of);
    if (!dim || *dim < 0) return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

void Values::draw(ir::NodeId opaque, std::uint64_t seed) {
  const ir::Node& node = arena_.node(opaque);
  std::mt19937_64 random(seed);
  bool all = true;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    const ir::DataType type = node.outputs[k].data_type;
    const auto dims = dims_of(node.outputs[k]);
    const bool is_number = ir::is_floating(type) || ir::is_integer(type) || type == ir::DataType::boolean;
    std::uint64_t count = 1;
    if (dims)
      for (const std::int64_t dim : *dims) count *= static_cast<std::uint64_t>(dim);
    if (!dims || !is_number || count > options_.most_elements) {
      all = false;
      continue;
    }
    if (ir::is_floating(type)) {
      std::vector<double> elements(count);
      for (double& element : elements) element = std::ldexp(static_cast<double>(random() >> 11U), -52) - 1;
      tensors_.emplace(ir::ValueId{opaque, k}, eval::Tensor::of_doubles(type, *dims, std::move(elements)));
    } else {
      std::vector<std::int64_t> elements(count);
      for (std::int64_t& element : elements) element = static_cast<std::int64_t>(random() >> 63U);
      tensors_.emplace(ir::ValueId{opaque, k}, eval::Tensor::of_integers(type, *dims, std::move(elements)));
    }
  }
  computed_.insert_or_assign(opaque, all);
}

const eval::Tensor* Values::at(ir::ValueId value) {
  std::vector<ir::NodeId> stack{value.node};
  while (!stack.empty()) {
    const ir::NodeId id = stack.back();
    if (computed_.contains(id)) {
      stack.pop_back();
      continue;
    }
    const std::size_t before = stack.size();
    for (const ir::ValueId operand : arena_.node(id).operands)
      if (!computed_.contains(operand.node)) stack.push_back(operand.node);
    if (stack.size() > before) continue;
    computed_.emplace(id, compute(id));
    stack.pop_back();
  }
  const auto found = tensors_.find(value);
  return found == tensors_.end() ? nullptr : &found->second;
}

bool Values::compute(ir::NodeId id) {
  const ir::Node& node = arena_.node(id);
  if (node.is_absent) return true;
  if (node.kind == ir::NodeKind::constant) {
    tensors_.emplace(ir::ValueId{id, 0}, eval::Tensor::of(node.constant));
    return true;
  }
  if (node.kind == ir::NodeKind::opaque) return false;
  if (node.kind == ir::NodeKind::input) {
    const auto given = inputs_.find({id, 0});
    if (given != inputs_.end()) tensors_.emplace(given->first, given->second);
    return given != inputs_.end();
  }
  eval::Bindings operands;
  for (const ir::ValueId operand : node.operands) {
    if (arena_.is_absent(operand)) continue;
    const auto known = tensors_.find(operand);
    if (known == tensors_.end()) return false;
    operands.emplace(operand, known->second);
  }
  ir::Graph graph;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) graph.outputs.push_back({id, k});
  auto results = eval::evaluate(arena_, graph, operands, options_);
  if (!results) return false;
  for (std::uint32_t k = 0; k < results->size(); ++k) tensors_.emplace(ir::ValueId{id, k}, std::move((*results)[k]));
  return true;
}

bool Values::are_close(const eval::Tensor& a, const eval::Tensor& b, double most) {
  if (a.data_type != b.data_type || a.count() != b.count()) return false;
  if (!ir::is_floating(a.data_type)) {
    const auto x = eval::integers(a);
    const auto y = eval::integers(b);
    return x && y && *x == *y;
  }
  const auto x = eval::doubles(a);
  const auto y = eval::doubles(b);
  if (!x || !y) return false;
  double magnitude = 0;
  for (const double element : *x)
    if (std::isfinite(element)) magnitude = std::max(magnitude, std::abs(element));
  for (std::size_t k = 0; k < x->size(); ++k) {
    const double p = (*x)[k];
    const double q = (*y)[k];
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    if (!(std::abs(p - q) <= most * magnitude)) return false;
  }
  return true;
}

namespace {

// The axis along which `part` is shorter than `whole`, and whether it lacks it; nothing if other sizes
// differ.
std::optional<Range> shorter_axis(const std::vector<std::int64_t>& part, const std::vector<std::int64_t>& whole) {
  Range range;
  if (part.size() == whole.size()) {
    std::size_t differ = 0;
    for (std::size_t k = 0; k < whole.size(); ++k) {
      if (part[k] == whole[k]) continue;
      if (part[k] > whole[k] || ++differ > 1) return std::nullopt;
      range.axis = k;
    }
    return differ == 1 ? std::optional(range) : std::nullopt;
  }
  if (part.size() + 1 != whole.size()) return std::nullopt;
  range.lacks_axis = true;
  while (range.axis < part.size() && part[range.axis] == whole[range.axis]) ++range.axis;
  const auto rest = part.begin() + static_cast<std::ptrdiff_t>(range.axis);
  const bool same = std::equal(rest, part.end(), whole.begin() + static_cast<std::ptrdiff_t>(range.axis) + 1, whole.end());
  return same && whole[range.axis] > 1 ? std::optional(range) : std::nullopt;
}

}  // namespace

std::optional<Range> find_range(const eval::Tensor& part, const eval::Tensor& whole, double most) {
  if (part.data_type != whole.data_type || part.count() == 0) return std::nullopt;
  auto range = shorter_axis(part.dims, whole.dims);
  if (!range) return std::nullopt;
  const auto x = eval::doubles(part);
  const auto y = eval::doubles(whole);
  if (!x || !y) return std::nullopt;
  double magnitude = 0;
  for (const double element : *x)
    if (std::isfinite(element)) magnitude = std::max(magnitude, std::abs(element));
  const std::int64_t length = whole.dims[range->axis];
  const std::int64_t taken = range->lacks_axis ? 1 : part.dims[range->axis];
  std::int64_t inner = 1;
  for (std::size_t k = range->axis + 1; k < whole.dims.size(); ++k) inner *= whole.dims[k];
  const std::int64_t block = taken * inner;  // elements that lie together in both
  const auto close = [&](std::int64_t k, std::int64_t start) {
    const double p = (*x)[static_cast<std::size_t>(k)];
    const double q = (*y)[static_cast<std::size_t>(k / block * length * inner + start * inner + k % block)];
    return p == q || (std::isnan(p) && std::isnan(q)) || std::abs(p - q) <= most * magnitude;
  };
  const auto count = static_cast<std::int64_t>(x->size());
  for (range->start = 0; range->start + taken <= length; ++range->start) {
    std::int64_t k = 0;
    while (k < count && close(k, range->start)) ++k;
    if (k == count) return range;
  }
  return std::nullopt;
}

ValueIndex::Print ValueIndex::print_of(ir::ValueId value, const eval::Tensor& tensor) {
  Print print{value};
  const auto elements = eval::doubles(tensor);
  if (!elements) return print;
  double weight = 0.5;
  for (const double element : *elements) {
    weight = std::fmod(weight * 1.618033988749895 + 0.37, 1.0);
    if (!std::isfinite(element)) continue;
    print.sum += element;
    print.weighted += weight * element;
    print.magnitude += std::abs(element);
  }
  return print;
}

std::vector<std::int64_t> ValueIndex::key_of(const eval::Tensor& tensor) {
  return {static_cast<std::int64_t>(tensor.data_type), static_cast<std::int64_t>(tensor.count())};
}

void ValueIndex::add(ir::ValueId value, const eval::Tensor& tensor) { prints_[key_of(tensor)].push_back(print_of(value, tensor)); }

std::vector<ir::ValueId> ValueIndex::near(const eval::Tensor& tensor) const {
  std::vector<ir::ValueId> result;
  const auto same = prints_.find(key_of(tensor));
  if (same == prints_.end()) return result;
  const Print wanted = print_of({}, tensor);
  for (const Print& print : same->second) {
    const double most = kNear * (wanted.magnitude + print.magnitude);
    if (std::abs(print.sum - wanted.sum) <= most && std::abs(print.weighted - wanted.weighted) <= most) result.push_back(print.value);
  }
  return result;
}

}  // namespace xflow::equivalence
