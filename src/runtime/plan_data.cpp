#include "src/runtime/plan_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/kernels/node_launch.h"

namespace xflow::cost {
namespace {

using ir::ValueId;

// Values of the tensor's type: floating ones in [-1, 1), both booleans; integers are 0, because they may be
// indices.
std::vector<double> seeded_values(const ops::TensorSpec& tensor, std::uint64_t seed) {
  std::size_t n = 1;
  for (const std::int64_t d : tensor.dims) n *= static_cast<std::size_t>(d);
  std::vector<double> values(n);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  for (double& value : values) {
    if (ir::is_floating(tensor.data_type)) value = real(random);
    if (tensor.data_type == ir::DataType::boolean) value = static_cast<double>(random() % 2);
  }
  return values;
}

}  // namespace

Result<ir::Constant> PlanData::constant(ValueId value) {
  if (const auto known = constants_.find(value); known != constants_.end()) return known->second;
  XFLOW_TRY(ir::Constant constant, eval::fold(arena_, value));
  return constants_.emplace(value, std::move(constant)).first->second;
}

Result<std::optional<ir::Constant>> PlanData::written(const Buffer& buffer, std::size_t number) const {
  if (buffer.kind != Buffer::Kind::sized && buffer.kind != Buffer::Kind::seeded) return std::optional<ir::Constant>();
  if (buffer.kind == Buffer::Kind::sized) {
    XFLOW_TRY(ir::Constant constant, of_sizes(buffer));
    return std::optional(std::move(constant));
  }
  if (ir::bits(buffer.tensor.data_type) < 8)
    return fail(ErrorCode::unsupported, fmt::format("cannot draw values of {}", ir::name(buffer.tensor.data_type)));
  XFLOW_TRY(ir::Constant constant, ir::make_constant(buffer.tensor.data_type, buffer.tensor.dims, seeded_values(buffer.tensor, number)));
  return std::optional(std::move(constant));
}

// The result of a node that reads only the sizes of its operands.
Result<ir::Constant> PlanData::of_sizes(const Buffer& buffer) const {
  eval::Bindings bindings;
  eval::Options options;
  for (const ValueId operand : arena_.node(buffer.value).operands) {
    const auto tensor = tensor_of(arena_, operand, sizes_);
    if (!tensor) return fail(ErrorCode::unsupported, "a size is not known");
    // The dimensions alone do not give the sizes that they are computed from.
    for (const ir::Poly& dimension : arena_.type(operand).shape) {
      for (const ir::SymbolId symbol : arena_.symbols().all_symbols(dimension)) {
        if (arena_.symbols().info(symbol).kind != ir::SymbolKind::dimension) continue;
        if (const auto size = sizes_(symbol)) options.symbols.emplace(symbol, *size);
      }
    }
    bindings.emplace(operand, eval::Tensor{tensor->data_type, tensor->dims, std::vector<double>()});
  }
  XFLOW_TRY(const std::vector<eval::Tensor> tensors, eval::evaluate(arena_, ir::Graph{{buffer.value}}, bindings, options));
  return eval::to_constant(tensors[0]);
}

Result<ir::Constant> input_for(const Buffer& buffer, const eval::Tensor& tensor) {
  XFLOW_TRY(ir::Constant constant, eval::to_constant(tensor));
  if (constant.data_type == buffer.tensor.data_type && constant.dims == buffer.tensor.dims) return constant;
  return fail(ErrorCode::invalid_argument, fmt::format("an input is {}[{}], {} was given", ir::name(buffer.tensor.data_type),
                                                       fmt::join(buffer.tensor.dims, ","), eval::type_text(tensor)));
}

}  // namespace xflow::cost
