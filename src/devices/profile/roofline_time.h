// The time that a roofline predicts for a kernel.
#pragma once

#include "src/devices/profile/profile.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost::profile {

// launch + max(operations / peak, bytes / bandwidth) (Williams, Waterman, Patterson 2009). Errors:
// unsupported if the roofline has no peak of the kernel's data type, or is not given.
Result<Nanoseconds> roofline_time(const Roofline& roofline, const ops::KernelSpec& spec);

}  // namespace xflow::cost::profile
