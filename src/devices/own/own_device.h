// Adapts a device of the caller to the interface that the search uses.
#pragma once

#include <xflow/device.h>

#include <memory>

#include "src/kernels/device.h"

namespace xflow::cost::own {

// `threads`: per kernel.
DeviceInfo info_of(const xflow::Device& device, int threads);

class OwnDevice final : public Device {
 public:
  OwnDevice(const std::shared_ptr<xflow::Device>& device, int threads) : device_(device), info_(info_of(*device, threads)) {}

  const DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec& /*spec*/) const override { return false; }
  bool works_in(const ops::KernelSpec& /*spec*/, Layout layout) const override { return is_plain(layout); }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override;
  // Errors: internal for a time that is negative or not finite.
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override;

 private:
  std::shared_ptr<xflow::Device> device_;
  DeviceInfo info_;
};

}  // namespace xflow::cost::own
