// Profiles for people.
#pragma once

#include <string>

#include "src/devices/profile/profile.h"

namespace xflow::cost::profile {

// Device, roofline, and how many kernels of each class there are.
std::string describe(const Profile& profile);
// How well the model predicts kernels that it was not fitted on, for each class.
std::string describe_check(const Profile& profile);

}  // namespace xflow::cost::profile
