#include "src/equivalence/constants.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>

#include "src/ops/operator.h"

namespace xflow::equivalence {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): for its hash
}

// How often its own error in float a program may be off that computes a constant in another order.
constexpr double kOwnErrors = 4;

std::uint64_t elements_of(const ir::TensorType& type) {
  std::uint64_t count = 1;
  for (const ir::Poly& size : type.shape) count *= static_cast<std::uint64_t>(size.constant().value_or(1));
  return count;
}

// How many numbers the longest sum of a constant expression adds.
std::uint64_t longest_sum(const ir::Arena& arena, ir::ValueId expression) {
  std::uint64_t longest = 1;
  for (const ir::NodeId id : ir::topological_order(arena, ir::Graph{{expression}})) {
    const ir::Node& node = arena.node(id);
    if (node.kind != ir::NodeKind::operation) continue;
    const ops::Signature& signature = ops::get(node.op).signature;
    if (signature.pointwise || signature.moves_data || node.operands.empty()) continue;
    const ir::TensorType& first = arena.type(node.operands[0]);
    const bool is_product = signature.name == "matmul";
    const std::uint64_t terms = is_product ? static_cast<std::uint64_t>(first.shape.back().constant().value_or(1))
                                           : elements_of(first) / std::max<std::uint64_t>(elements_of(node.outputs[0]), 1);
    longest = std::max(longest, terms);
  }
  return longest;
}

bool same_type(const ir::Constant& a, const ir::Constant& b) { return a.data_type == b.data_type && a.dims == b.dims; }

}  // namespace

Result<ir::ValueId> Constants::canonical(const ir::Constant& constant) {
  XFLOW_TRY(const std::span<const std::byte> bytes, constant.source->bytes());
  const std::uint64_t key = std::hash<std::string_view>()(text_of(bytes));
  const auto [begin, end] = by_content_.equal_range(key);
  for (auto at = begin; at != end; ++at) {
    const ir::Constant& other = arena_.node(at->second).constant;
    if (!same_type(other, constant)) continue;
    XFLOW_TRY(const std::span<const std::byte> known, other.source->bytes());
    if (std::ranges::equal(known, bytes)) return at->second;
  }
  const ir::ValueId value = arena_.constant(constant);
  by_content_.emplace(key, value);
  return value;
}

Result<ir::ValueId> Constants::folded(ir::ValueId value) {
  if (arena_.is_absent(value)) return value;
  if (const auto known = folded_.find(value); known != folded_.end()) return known->second;
  ir::ValueId result;
  if (arena_.node(value).kind == ir::NodeKind::constant) {
    XFLOW_TRY(result, canonical(arena_.node(value).constant));
  } else {
    XFLOW_TRY(const ir::Constant constant, eval::fold(arena_, value, options_));
    XFLOW_TRY(result, canonical(constant));
    expressions_.emplace(result, value);
  }
  folded_.emplace(value, result);
  return result;
}

std::optional<ir::ValueId> Constants::expression(ir::ValueId value) const {
  const auto found = expressions_.find(value);
  return found == expressions_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::vector<ir::ValueId>> Constants::parts(ir::ValueId value) {
  std::vector<ir::ValueId> result;
  const auto expression = expressions_.find(value);
  if (expression == expressions_.end()) return result;
  std::vector<ir::ValueId> stack{expression->second};
  while (!stack.empty()) {
    const ir::ValueId next = stack.back();
    stack.pop_back();
    const ir::Node& node = arena_.node(next);
    if (node.kind == ir::NodeKind::operation && ops::get(node.op).signature.moves_data) {
      stack.insert(stack.end(), node.operands.rbegin(), node.operands.rend());
    } else if (!node.is_absent && next != expression->second) {
      XFLOW_TRY(const ir::ValueId part, folded(next));
      if (std::ranges::find(result, part) == result.end()) result.push_back(part);
    }
  }
  return result;
}

Result<std::span<const double>> Constants::elements(ir::ValueId value) {
  const auto known = elements_.find(value);
  if (known != elements_.end()) return std::span<const double>(known->second);
  XFLOW_TRY(std::vector<double> values, ir::doubles(arena_.node(value).constant));
  return std::span<const double>(elements_.emplace(value, std::move(values)).first->second);
}

Result<std::optional<double>> Constants::own_error(ir::ValueId value) {
  const auto expression = expressions_.find(value);
  if (expression == expressions_.end()) return std::optional<double>();
  if (const auto known = own_errors_.find(value); known != own_errors_.end()) return std::optional(known->second);
  eval::Options in_float = options_;
  in_float.number = eval::Number::float32;
  XFLOW_TRY(const auto computed, eval::evaluate(arena_, ir::Graph{{expression->second}}, {}, in_float));
  XFLOW_TRY(const std::vector<double> rough, eval::doubles(computed[0]));
  XFLOW_TRY(const std::span<const double> exact, elements(value));
  double error = 0;
  for (std::size_t k = 0; k < rough.size(); ++k)
    if (std::isfinite(rough[k]) && std::isfinite(exact[k])) error = std::max(error, std::abs(rough[k] - exact[k]));
  // Another order of adding n numbers is off by about the root of n roundings.
  double magnitude = 0;
  for (const double element : exact)
    if (std::isfinite(element)) magnitude = std::max(magnitude, std::abs(element));
  const double unit = std::ldexp(1.0, -ir::mantissa_bits(arena_.type(value).data_type));
  error = std::max(error, unit * magnitude * std::sqrt(static_cast<double>(longest_sum(arena_, expression->second))) / 4);
  own_errors_.emplace(value, error);
  return std::optional(error);
}

Result<std::optional<Rounding>> Constants::rounding(ir::ValueId a, ir::ValueId b) {
  const ir::Constant& x = arena_.node(a).constant;
  if (a == b) return std::optional(Rounding{});
  if (!same_type(x, arena_.node(b).constant) || !ir::is_floating(x.data_type)) return std::optional<Rounding>();
  if (!expressions_.contains(a) && !expressions_.contains(b)) return std::optional<Rounding>();
  XFLOW_TRY(const std::span<const double> of_a, elements(a));
  XFLOW_TRY(const std::span<const double> of_b, elements(b));
  // Far above any rounding: the constants need not be computed once more.
  const double unit = std::ldexp(1.0, 1 - ir::mantissa_bits(x.data_type));
  Rounding result;
  for (std::size_t k = 0; k < of_a.size(); ++k) {
    if (std::isfinite(of_a[k])) result.magnitude = std::max(result.magnitude, std::abs(of_a[k]));
    if (of_a[k] == of_b[k]) continue;
    if (!std::isfinite(of_a[k]) || !std::isfinite(of_b[k])) return std::optional<Rounding>();
    result.difference = std::max(result.difference, std::abs(of_a[k] - of_b[k]));
  }
  if (result.difference > 4096 * unit * result.magnitude) return std::optional<Rounding>();
  XFLOW_TRY(const std::optional<double> error_a, own_error(a));
  XFLOW_TRY(const std::optional<double> error_b, own_error(b));
  const double own = kOwnErrors * std::max(error_a.value_or(0), error_b.value_or(0));
  for (std::size_t k = 0; k < of_a.size(); ++k) {
    if (of_a[k] == of_b[k]) continue;
    const double allowed = own + unit * std::max(std::abs(of_a[k]), std::abs(of_b[k]));
    if (std::abs(of_a[k] - of_b[k]) > allowed) return std::optional<Rounding>();
    result.allowed = std::max(result.allowed, allowed);
  }
  return std::optional(result);
}

}  // namespace xflow::equivalence
