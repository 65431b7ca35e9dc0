#include "src/kernels/view_support.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

namespace xflow::cost {
namespace {

std::int64_t product(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, [](std::int64_t n, std::int64_t d) { return n * d; });
}

std::optional<std::vector<std::int64_t>> split_offsets(const ops::KernelSpec& spec, std::span<const std::int64_t> dims) {
  const auto* axis = spec.find("axis");
  if (axis == nullptr || axis->size() != 1 || (*axis)[0] < 0 || (*axis)[0] >= std::ssize(dims)) return std::nullopt;
  const auto cut = static_cast<std::size_t>((*axis)[0]);
  if (product(dims.first(cut)) != 1) return std::nullopt;
  std::vector<std::int64_t> offsets;
  std::int64_t next = 0;
  for (const ops::TensorSpec& part : spec.results) {
    offsets.push_back(next);
    next += product(part.dims);
  }
  return offsets;
}

std::optional<std::vector<std::int64_t>> slice_offsets(const ops::KernelSpec& spec, std::span<const std::int64_t> dims) {
  const auto* starts = spec.find("starts");
  const auto* steps = spec.find("steps");
  if (starts == nullptr || steps == nullptr || starts->size() != dims.size() || steps->size() != dims.size()) return std::nullopt;
  const std::vector<std::int64_t>& sizes = spec.results[0].dims;
  if (sizes.size() != dims.size()) return std::nullopt;
  std::int64_t offset = 0;
  bool whole = false;  // behind the first dimension of more than one element, all elements are taken
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if ((*starts)[k] < 0 || (*starts)[k] + sizes[k] > dims[k]) return std::nullopt;
    const bool steps_by_one = sizes[k] == 1 || (*steps)[k] == 1;
    if (!steps_by_one || (whole && sizes[k] != dims[k])) return std::nullopt;
    whole = whole || sizes[k] != 1;
    offset = offset * dims[k] + (*starts)[k];
  }
  return std::vector{offset};
}

}  // namespace

std::optional<std::vector<std::size_t>> view_offsets(const ops::KernelSpec& spec) {
  if (spec.operands.size() != 1 || spec.results.empty()) return std::nullopt;
  const bool split = spec.is(ops::Op::Split);
  if (!split && !spec.is(ops::Op::Slice)) return std::nullopt;
  const ops::TensorSpec& operand = spec.operands[0];
  if (product(operand.dims) == 0 || (!split && product(spec.results[0].dims) == 0)) return std::nullopt;
  const auto offsets = split ? split_offsets(spec, operand.dims) : slice_offsets(spec, operand.dims);
  if (!offsets) return std::nullopt;
  const std::size_t bytes = static_cast<std::size_t>(std::max(ir::bits(operand.data_type), 8)) / 8;
  std::vector<std::size_t> result;
  result.reserve(offsets->size());
  for (const std::int64_t offset : *offsets) result.push_back(static_cast<std::size_t>(offset) * bytes);
  return result;
}

bool ViewSupport::covers(const ops::KernelSpec& spec) const {
  if (std::ranges::none_of(operators, [&](ops::Op op) { return spec.is(op); })) return false;
  const auto offsets = view_offsets(spec);
  // A kernel has constant operands in memory of its own, which nothing else can be a view of.
  return offsets && !spec.operands[0].constant &&
         std::ranges::all_of(*offsets, [&](std::size_t offset) { return offset % alignment == 0; });
}

}  // namespace xflow::cost
