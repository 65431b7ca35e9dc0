// A GPU as a device: times kernels in recorded graphs of many launches.
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
  // Bytes that a run of the whole graph accesses between two launches of the same kernel. Consecutive timed
  // launches cycle through as much memory of constants and results. 0: everything stays in the cache.
  std::size_t cache_footprint = 0;
  std::size_t most_bytes = std::size_t{8} << 30U;  // for the tensors of one kernel
  std::size_t most_ways = 8;                       // maximum number of implementations tried per kernel
};

// Whether no result has elements.
bool computes_nothing(const ops::KernelSpec& spec);

class GpuDevice final : public Device {
 public:
  // `gpu` must outlive the device.
  explicit GpuDevice(Gpu& gpu, const GpuOptions& options = {});

  const DeviceInfo& info() const override { return info_; }
  Gpu& gpu() const { return gpu_; }

  // Convolutions are timed in both layouts. Channels last is chosen if it is faster by a tenth, because it
  // causes conversions.
  bool chooses_layout(const ops::KernelSpec& spec) const override;
  bool works_in(const ops::KernelSpec& spec, Layout layout) const override;
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override;
  bool has_attention(const ops::KernelSpec& spec) const override { return attention_of(spec).has_value(); }
  Result<KernelCost> measure(const ops::KernelSpec& spec, Layout layout) override;
  std::shared_ptr<GraphRunner> graph_runner() override;
  std::uint64_t peak_bytes() const override { return gpu_.peak_bytes(); }
  // Interference is measured by the cycle time, read before and after timing: a kernel timed while the clock
  // was lower than its maximum is timed again.
  Nanoseconds fastest_calibration() const override { return shortest_cycle_; }
  void know_fastest_calibration(Nanoseconds time) override;

  // The implementation that measure() timed for the kernel. If an earlier run of the program timed it, a
  // short measurement chooses the fastest. Equal kernels get the same implementation. Errors: unsupported,
  // 'cannot run ... here: ...'.
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
