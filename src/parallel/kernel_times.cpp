#include "src/parallel/kernel_times.h"

#include <algorithm>
#include <cstdint>

#include "src/kernels/node_launch.h"
#include "src/ops/op.h"

namespace xflow::parallel {

const cost::DatabaseEntry& cost_of(cost::KernelCosts& costs, const ops::KernelSpec& spec) {
  return costs.of(spec, costs.device().chooses_layout(spec) ? cost::Layout::any : cost::Layout::plain);
}

ops::KernelSpec stand_in(double bytes) {
  constexpr double kMovedPerElement = 8;  // four bytes are read and four are written
  const auto elements = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / kMovedPerElement));
  const ops::TensorSpec tensor{ir::DataType::float32, {elements}, false};
  return ops::pointwise_spec(ops::Op::Neg, {tensor}, tensor);
}

std::optional<double> bytes_of(const ir::Arena& arena, ir::ValueId value, const ir::Symbols::Valuation& sizes) {
  const auto tensor = cost::tensor_of(arena, value, sizes);
  if (!tensor) return std::nullopt;
  std::uint64_t elements = 1;
  for (const std::int64_t dim : tensor->dims) elements *= static_cast<std::uint64_t>(dim);
  return static_cast<double>(ir::storage_bytes(tensor->data_type, elements));
}

}  // namespace xflow::parallel
