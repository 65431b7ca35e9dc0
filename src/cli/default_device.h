// The device of a command line that names none.
#pragma once

#include <functional>
#include <string>

namespace xflow::cli {

// "cuda:0" where the first GPU can be used and passes `xflow devices --check` in another process, which a fault of a driver or library may
// end; otherwise "cpu". `warning` is told of a GPU that does not pass.
std::string default_device(const std::function<void(const std::string&)>& warning);

// The same of devices that are there, and a command of the shell that checks the first GPU.
struct DefaultDevice {
  std::string name;
  std::string warning;  // empty if there is none
};
DefaultDevice choose_device(bool has_gpu, const std::string& check, double seconds);

}  // namespace xflow::cli
