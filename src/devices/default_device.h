// The device of a program whose user names none.
#pragma once

#include <xflow/device.h>

#include <string>

namespace xflow::cost {

// default_device of <xflow/device.h>, for GPUs that are there. `check`: a command of the shell that checks the first GPU.
DefaultDevice choose_device(bool has_gpu, const std::string& check, double seconds);

}  // namespace xflow::cost
