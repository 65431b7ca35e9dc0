#include "src/ops/kernel_spec.h"

#include <algorithm>

namespace xflow::ops {
namespace {

template <typename List>
auto* value_of(List& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, [](const auto& attribute) { return std::string_view(attribute.first); });
  return found == list.end() ? nullptr : &found->second;
}

}  // namespace

const std::vector<std::int64_t>* KernelSpec::find(std::string_view name) const { return value_of(integers, name); }

std::optional<double> KernelSpec::real(std::string_view name) const {
  const double* value = value_of(reals, name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::string_view KernelSpec::word(std::string_view name) const {
  const std::string* value = value_of(words, name);
  return value == nullptr ? std::string_view() : *value;
}

KernelSpec pointwise_spec(Op op, std::vector<TensorSpec> operands, TensorSpec result) {
  KernelSpec spec;
  spec.family = KernelFamily::pointwise;
  spec.function.op = op;
  spec.operands = std::move(operands);
  spec.results = {std::move(result)};
  return spec;
}

std::vector<TensorSpec> all_operands(const KernelSpec& spec) {
  std::vector<TensorSpec> operands = spec.operands;
  for (const PostOperation& post : spec.post) operands.insert(operands.end(), post.operands.begin(), post.operands.end());
  return operands;
}

bool broadcasts_to(const TensorSpec& operand, const TensorSpec& result) {
  if (operand.dims.size() > result.dims.size()) return false;
  const std::size_t offset = result.dims.size() - operand.dims.size();
  for (std::size_t k = 0; k < operand.dims.size(); ++k)
    if (operand.dims[k] != 1 && operand.dims[k] != result.dims[offset + k]) return false;
  return true;
}

}  // namespace xflow::ops
