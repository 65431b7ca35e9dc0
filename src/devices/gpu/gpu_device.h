// A GPU as a device: kernels timed in graphs of many launches.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/devices/gpu/gpu.h"
#include "src/kernels/device.h"

namespace xflow::cost::gpu {

struct GpuOptions {
  // What a run of the whole graph goes through, in bytes, before it comes to the same kernel again: launches that are timed in a row have
  // constants and results of their own in as much memory. 0: all are in the cache.
  std::size_t between = 0;
  std::size_t most_bytes = std::size_t{8} << 30U;  // of the tensors of one kernel
  std::size_t most_ways = 8;                       // of running a kernel that are tried
};

// No result has elements.
bool computes_nothing(const ops::KernelSpec& spec);

class GpuDevice final : public Device {
 public:
  // The GPU must outlive it.
  explicit GpuDevice(Gpu& gpu, const GpuOptions& options = {});

  const DeviceInfo& info() const override { return info_; }
  Gpu& gpu() const { return gpu_; }

  // Convolutions are timed in both layouts. Channels last is taken where it is quicker by a tenth: it costs conversions.
  bool chooses_layout(const ops::KernelSpec& spec) const override;
  bool works_in(const ops::KernelSpec& spec, Layout layout) const override;
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override;
  bool has_attention(const ops::KernelSpec& spec) const override { return attention_of(spec).has_value(); }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override;
  // By cycles, read before and after: a kernel that was timed while the clock was lower than at its best is timed again.
  Nanoseconds fastest_control() const override { return shortest_cycle_; }
  void know_fastest_control(Nanoseconds time) override;

  // The way that measure() timed, or, where an earlier run of the program did, the one that is quickest at first sight; the same for equal
  // kernels.
  // Errors: unsupported, 'cannot run ... here: ...'.
  Result<std::unique_ptr<Ready>> quickest(const ops::KernelSpec& spec, Layout layout);

 private:
  struct Tensors;
  struct Choice;
  Result<std::vector<std::unique_ptr<Ready>>> ways(const ops::KernelSpec& spec, Layout layout);
  Result<KernelCost> measure_in_any(const ops::KernelSpec& spec);
  Result<Choice> choose(const ops::KernelSpec& spec, Layout layout);
  Result<double> glance(Recorded& recorded);
  double longer_cycle();

  Gpu& gpu_;
  GpuOptions options_;
  DeviceInfo info_;
  Nanoseconds shortest_cycle_{};
  std::map<std::string, std::string> chosen_;  // implementations, by kernel and layout
};

}  // namespace xflow::cost::gpu
