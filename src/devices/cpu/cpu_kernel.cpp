#include "src/devices/cpu/cpu_kernel.h"

#include "src/ops/op.h"

namespace xflow::cost::cpu {

Result<void> CpuKernel::write_constant(std::size_t operand, const ir::Constant& constant) {
  XFLOW_TRY(const std::vector<double> values, ir::doubles(constant));
  return write(operand, values);
}

std::vector<Step> post_steps(const ops::KernelSpec& spec) {
  std::vector<Step> steps;
  std::size_t next = spec.operands.size();
  for (const ops::PostOperation& post : spec.post) {
    Step step{post.function, post.position, post.reals, {}};
    for (std::size_t k = 0; k < post.operands.size(); ++k) step.operands.push_back(next++);
    steps.push_back(std::move(step));
  }
  return steps;
}

std::vector<Step> pointwise_steps(const ops::KernelSpec& spec) {
  Step base{spec.function, 0, {}, {}};
  for (const auto& [name, value] : spec.reals) base.reals.push_back(value);
  // The spec sorts its attributes by name; a step has them in the order of the signature, clip(min, max).
  if (base.function.is(ops::Op::Clip) && spec.reals.size() == 2 && spec.reals[0].first == "max") std::swap(base.reals[0], base.reals[1]);
  for (std::size_t k = 1; k < spec.operands.size(); ++k) base.operands.push_back(k);
  std::vector<Step> steps = {std::move(base)};
  for (Step& step : post_steps(spec)) steps.push_back(std::move(step));
  return steps;
}

std::vector<std::int64_t> layout_strides(const std::vector<std::int64_t>& dims, Layout layout) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  const bool channels_last = layout == Layout::channels_last && dims.size() >= 3;
  if (channels_last) {
    strides[1] = 1;
    stride = dims[1];
  }
  for (std::size_t k = dims.size(); k-- > 0;) {
    if (channels_last && k == 1) continue;
    strides[k] = stride;
    stride *= dims[k];
  }
  return strides;
}

std::vector<std::int64_t> padded_to(std::vector<std::int64_t> dims, std::size_t rank) {
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

}  // namespace xflow::cost::cpu
