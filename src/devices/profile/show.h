// Describes profiles for people.
#pragma once

#include <string>

#include "src/devices/profile/profile.h"

namespace xflow::cost::profile {

// The device, its roofline, and the number of kernels of each class.
std::string describe(const Profile& profile);
// The prediction errors on held-out kernels, for each class (see check).
std::string describe_check(const Profile& profile);

}  // namespace xflow::cost::profile
