// Compares the times of a profile with measured times.
#pragma once

#include <xflow/error.h>
#include <xflow/profile.h>

#include "src/devices/profile/profile.h"

namespace xflow::cost::profile {

// Compares the times that a ProfileDevice of `profile` gives with those of `measured`. Errors:
// invalid_argument if no kernel is left to compare.
Result<ProfileComparison> compare(const Profile& profile, const Profile& measured);

}  // namespace xflow::cost::profile
