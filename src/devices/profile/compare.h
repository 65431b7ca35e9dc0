// Prices of a profile: of single kernels, and beside measured times.
#pragma once

#include <xflow/error.h>
#include <xflow/profile.h>

#include <string>
#include <vector>

#include "src/devices/profile/profile.h"

namespace xflow::cost::profile {

// Compares the times that a ProfileDevice of `profile` gives with those of `measured`. Errors:
// invalid_argument if no kernel is left to compare.
Result<ProfileComparison> compare(const Profile& profile, const Profile& measured);

// The times that a ProfileDevice of `profile` gives for kernels, by their texts (ops/kernel_text.h). Errors:
// syntax for a text that is no kernel; those of the device, with the text as `where`.
Result<ProfilePrices> price(const Profile& profile, const std::vector<std::string>& kernels);

}  // namespace xflow::cost::profile
