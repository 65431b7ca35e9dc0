// Records profiles of available devices (this CPU, a GPU or a runner): the times of kernels of models, and
// of kernels of the rewrites that a search finds.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>
#include <xflow/profile.h>

#include <functional>
#include <span>
#include <string>

#include "src/devices/profile/profile.h"
#include "src/optimizer/session.h"

namespace xflow::api {

// Exports the measurements of options.device.cost_database for the device of the options. Errors:
// unsupported if the device is not available, invalid_argument if the device is a profile.
Result<cost::profile::Profile> export_profile(const OptimizeOptions& options);

// Times the kernels of the models, and searches up to options.search.max_states graphs of each model. With a
// cost database, its kernels are not timed again, and the profile contains all its entries. A model that
// cannot be read or costed is reported to options.warning and left out. Implements Profile::record of
// <xflow/profile.h>, which describes cancellation. Errors: as above; those of loading rules; unreadable if
// no model is left; limit if it is cancelled.
Result<cost::profile::Profile> record_profile(std::span<const std::string> models, const OptimizeOptions& options,
                                              const ProfileProgressCallback& progress, Session& session);

}  // namespace xflow::api
