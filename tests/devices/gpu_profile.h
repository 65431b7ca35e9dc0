// Profiles of a GPU that nobody has.
#pragma once

#include <string>
#include <string_view>

#include "src/devices/profile/profile.h"

namespace xflow::cost::profile::testing {

constexpr std::string_view kGpuHead = "xflow profile 1\ndevice gpu\nmodel GPU\nlibrary vendor\nthreads 1\n";

// The profile with these lines behind its head.
inline Profile gpu_profile(const std::string& lines) { return parse_profile(std::string(kGpuHead) + lines, "p").value(); }

}  // namespace xflow::cost::profile::testing
