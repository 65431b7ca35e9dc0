// Times of kernels that were not timed, as those of other kernels suggest them.
#pragma once

#include <optional>

#include "src/kernels/device.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost {

struct KernelEstimate {
  KernelCost cost;
  double deviation = 0;  // the standard deviation of log(measured / estimated)
};

// With estimates a cost model leaves out measurements that can change no decision.
class KernelEstimates {
 public:
  KernelEstimates() = default;
  virtual ~KernelEstimates() = default;
  KernelEstimates(const KernelEstimates&) = delete;
  KernelEstimates& operator=(const KernelEstimates&) = delete;

  // A time that the kernel would hardly fall below; nothing if too few similar kernels were timed.
  virtual std::optional<Nanoseconds> at_least(const ops::KernelSpec& spec) = 0;
  // The cost that the device is expected to measure; nothing if too few similar kernels were timed.
  virtual std::optional<KernelEstimate> expected(const ops::KernelSpec& spec, Layout layout) = 0;
};

}  // namespace xflow::cost
