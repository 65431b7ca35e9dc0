// Chooses the device if the user names none.
#pragma once

#include <xflow/device.h>

#include <string>

namespace xflow::cost {

// Implements default_device of <xflow/device.h>. `has_gpu`: whether a GPU exists. `check`: shell command
// that checks the first GPU. `seconds`: timeout of the command.
DefaultDevice choose_device(bool has_gpu, const std::string& check, double seconds);

}  // namespace xflow::cost
