#include "src/devices/own/own_device.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "src/ops/kernel_text.h"

namespace xflow::cost::own {
namespace {

std::vector<KernelTensor> tensors(const std::vector<ops::TensorSpec>& specs) {
  std::vector<KernelTensor> result;
  result.reserve(specs.size());
  for (const ops::TensorSpec& spec : specs)
    result.push_back({static_cast<xflow::DataType>(static_cast<std::uint8_t>(spec.data_type)), spec.dims, spec.constant});
  return result;
}

FusedOperation fused(const ops::PostOperation& post) { return {ops::step_name(post), post.reals, tensors(post.operands)}; }

Kernel kernel(const ops::KernelSpec& spec) {
  Kernel result{
      ops::kernel_name(spec), ops::kernel_variant(spec), tensors(spec.operands), tensors(spec.results), spec.integers, spec.reals, {},
      ops::to_string(spec)};
  for (const ops::PostOperation& post : spec.post) result.fused.push_back(fused(post));
  return result;
}

}  // namespace

DeviceInfo info_of(const xflow::Device& device, int threads) {
  DeviceInfo info;
  info.name = "own";
  info.model = device.name();
  info.library = "by the caller";
  info.threads = threads;
  return info;
}

bool OwnDevice::can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const {
  return device_->can_fuse(kernel(base), fused(post));
}

Result<KernelCost> OwnDevice::measure(const ops::KernelSpec& spec, Layout /*layout*/) {
  if (is_stopped()) return fail(ErrorCode::limit, fmt::format("cannot run {} here: time is over", ops::kernel_name(spec)));
  const auto time = device_->measure(kernel(spec));
  if (!time) return fail(time.error().code, fmt::format("cannot run {} here: {}", ops::kernel_name(spec), time.error().text()));
  if (!std::isfinite(time->count()) || time->count() < 0)
    return fail(ErrorCode::internal,
                fmt::format("device '{}' says that {} takes {} ns", info_.model, ops::kernel_name(spec), time->count()));
  KernelCost cost;
  cost.median = *time;
  cost.repeats = 1;
  return cost;
}

}  // namespace xflow::cost::own
