#include "src/validation/undefined_result.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace xflow::api {
namespace {

using eval::Tensor;
using onnx_io::Node;
using Operands = std::span<const std::shared_ptr<const Tensor>>;

std::int64_t integer_or(const Node& node, std::string_view name, std::int64_t otherwise) {
  const onnx_io::Attribute* attribute = node.find(name);
  return attribute == nullptr ? otherwise : attribute->integer().value_or(otherwise);
}

bool is_there(Operands operands, std::size_t k) { return operands.size() > k && operands[k] != nullptr; }

bool is_index(std::int64_t index, std::int64_t size) { return index >= -size && index < size; }

bool reads_out_of_range(const Node& node, const Tensor& x, const Tensor& indices) {
  const auto elements = eval::integers(indices);
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  if (!elements) return true;
  if (node.op_type != "GatherND") {
    const std::int64_t axis = integer_or(node, "axis", 0);
    if (!is_index(axis, rank)) return true;
    const std::int64_t size = x.dims[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
    return !std::ranges::all_of(*elements, [&](std::int64_t index) { return is_index(index, size); });
  }
  const std::int64_t batch = integer_or(node, "batch_dims", 0);
  const std::int64_t named = indices.dims.empty() ? 0 : indices.dims.back();
  if (batch < 0 || named < 1 || batch + named > rank) return true;
  for (std::size_t k = 0; k < elements->size(); ++k) {
    const auto dim = static_cast<std::size_t>(batch) + k % static_cast<std::size_t>(named);
    if (!is_index((*elements)[k], x.dims[dim])) return true;
  }
  return false;
}

bool divides_by_zero(const Tensor& divisor) {
  const auto elements = eval::integers(divisor);
  return !elements || std::ranges::find(*elements, 0) != elements->end();
}

// Whether the integer type holds all numbers, without their fractions.
bool holds(ir::DataType type, const Tensor& numbers) {
  const bool is_signed = !ir::is_unsigned(type);
  const double end = std::ldexp(1.0, ir::bits(type) - (is_signed ? 1 : 0));
  const double least = is_signed ? -end : 0;
  const auto elements = eval::doubles(numbers);
  return elements && std::ranges::all_of(*elements, [&](double x) { return std::trunc(x) >= least && std::trunc(x) < end; });
}

bool reflects_too_far(const Node& node, const Tensor& x, Operands operands) {
  const onnx_io::Attribute* mode = node.find("mode");
  const onnx_io::Attribute* stored = node.find("pads");
  if (mode == nullptr || mode->string().value_or(std::string_view()) != "reflect") return false;
  const auto pads = stored != nullptr       ? stored->integers()
                    : is_there(operands, 1) ? eval::integers(*operands[1])
                                            : std::vector<std::int64_t>();
  if (!pads) return true;
  std::vector<std::int64_t> sizes = x.dims;
  if (is_there(operands, 3)) {
    const auto axes = eval::integers(*operands[3]);
    if (!axes) return true;
    sizes.clear();
    for (const std::int64_t axis : *axes) {
      const auto rank = static_cast<std::int64_t>(x.dims.size());
      if (!is_index(axis, rank)) return true;
      sizes.push_back(x.dims[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
    }
  }
  if (pads->size() != 2 * sizes.size()) return true;
  for (std::size_t k = 0; k < pads->size(); ++k)
    if ((*pads)[k] >= sizes[k % sizes.size()]) return true;
  return false;
}

}  // namespace

std::string undefined_result(const Node& node, Operands operands, const Tensor& result) {
  if (!onnx_io::is_default_domain(node.domain) || !is_there(operands, 0)) return {};
  const bool gathers = node.op_type == "Gather" || node.op_type == "GatherElements" || node.op_type == "GatherND";
  if (gathers && is_there(operands, 1) && reads_out_of_range(node, *operands[0], *operands[1])) return "an index is out of range";
  const bool divides = (node.op_type == "Div" || node.op_type == "Mod") && !ir::is_floating(result.data_type);
  if (divides && is_there(operands, 1) && divides_by_zero(*operands[1])) return "an integer is divided by zero";
  const bool converts = (node.op_type == "Cast" || node.op_type == "CastLike") && ir::is_floating(operands[0]->data_type);
  if (converts && ir::is_integer(result.data_type) && !holds(result.data_type, *operands[0]))
    return "a number is converted to an integer that cannot hold it";
  if (node.op_type == "Pad" && reflects_too_far(node, *operands[0], operands)) return "a reflection is longer than its dimension";
  return {};
}

}  // namespace xflow::api
