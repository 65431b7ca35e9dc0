#include "src/ops/kernel_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xflow::ops {
namespace {

std::string show(const TensorSpec& tensor) {
  return fmt::format("{}{}[{}]", tensor.constant ? "const " : "", ir::name(tensor.data_type), fmt::join(tensor.dims, ","));
}

std::string show(const std::vector<TensorSpec>& tensors) {
  std::string text;
  for (const TensorSpec& tensor : tensors) text += (text.empty() ? "" : ", ") + show(tensor);
  return text;
}

}  // namespace

const std::vector<std::int64_t>* KernelSpec::find(const std::string& name) const {
  for (const auto& [key, value] : integers) {
    if (key == name) return &value;
  }
  return nullptr;
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

// "convolution(float32[1,3,8,8], const float32[4,3,3,3]) -> float32[1,4,8,8] pads=[1,1,1,1] | clip{0,6} | add(float32[1,4,1,1])"
std::string to_string(const KernelSpec& spec) {
  std::string text = spec.kernel;
  if (!spec.word.empty()) text += ":" + spec.word;
  text += fmt::format("({}) -> {}", show(spec.operands), show(spec.results));
  for (const auto& [name, values] : spec.integers) text += fmt::format(" {}=[{}]", name, fmt::join(values, ","));
  for (const auto& [name, value] : spec.reals) text += fmt::format(" {}={}", name, value);
  for (const PostOperation& post : spec.post) {
    text += " | " + post.name;
    if (!post.reals.empty()) text += fmt::format("{{{}}}", fmt::join(post.reals, ","));
    if (!post.operands.empty()) text += "(" + show(post.operands) + ")";
  }
  return text;
}

}  // namespace xflow::ops
