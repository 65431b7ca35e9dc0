// The time of kernels that the memory of a GPU bounds, where none of their class was measured (docs/cost.md,
// *Kernels bound by memory*).
#pragma once

#include <optional>

#include "src/devices/profile/profile.h"
#include "src/kernels/device.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost::profile {

// (launch^p + (m · bytes / bandwidth)^p)^(1/p), with m and p that are fitted to all GPUs of NeuSight's
// tables, for pointwise kernels, softmax, and normalisations of layers. nullopt for other kernels, and if
// the roofline does not say how many multiprocessors the device has.
std::optional<Nanoseconds> memory_bound_time(const Roofline& roofline, const ops::KernelSpec& spec);

}  // namespace xflow::cost::profile
