// Profiles of devices that are here, this CPU or a runner: what the kernels of models, and of the rewrites that a search meets, take there.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <span>
#include <string>

#include "src/devices/profile/profile.h"

namespace xflow::api {

// What options.device.cost_database holds for the device of the options. Errors: unsupported for a device that is not here,
// invalid_argument for a profile as the device.
Result<cost::profile::Profile> export_profile(const OptimizeOptions& options);

// Times the kernels of the models, searching up to options.search.max_states graphs of each. With a cost database: what it knows is not
// timed again, and all that it holds is in the profile. A model that cannot be read or costed is told to options.warning and left out.
// Errors: as above; of the rules; unreadable if no model is left.
Result<cost::profile::Profile> record_profile(std::span<const std::string> models, const OptimizeOptions& options,
                                              const std::function<void(const std::string&)>& progress);

}  // namespace xflow::api
