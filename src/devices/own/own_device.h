// A device of the caller as one that the search can ask.
#pragma once

#include <xflow/device.h>

#include <memory>

#include "src/kernels/device.h"

namespace xflow::cost::own {

// `threads`: of one kernel.
DeviceInfo info_of(const xflow::Device& device, int threads);

class OwnDevice final : public Device {
 public:
  OwnDevice(const std::shared_ptr<xflow::Device>& device, int threads) : device_(device), info_(info_of(*device, threads)) {}

  const DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec& /*spec*/) const override { return false; }
  bool works_in(const ops::KernelSpec& /*spec*/, Layout layout) const override { return is_plain(layout); }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override;
  // A time that is negative or no number is an error: internal.
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override;

 private:
  std::shared_ptr<xflow::Device> device_;
  DeviceInfo info_;
};

}  // namespace xflow::cost::own
