// Shared libraries that are loaded by name at run time because they may be missing.
#pragma once

#include <xflow/error.h>

#include <span>
#include <string>
#include <string_view>

namespace xflow::cost {

class SharedLibrary {
 public:
  // Opens the first of `paths` that can be loaded. The system's search path is used for a name without a
  // folder. The library stays loaded until the process ends. Errors: unsupported, "libcudnn.so.9 was not
  // found", or "libcudnn.so.9 cannot be loaded: ..." for a file that exists.
  static Result<SharedLibrary> open(std::span<const std::string> paths);

  // Looks up a function. Errors: unsupported, "libcuda.so.1 has no function cuInit".
  template <typename Function>
  Result<Function*> function(const char* name) const {
    XFLOW_TRY(void* const found, symbol(name));
    return reinterpret_cast<Function*>(found);
  }

  // The handle returned by dlopen.
  void* handle() const { return handle_; }

 private:
  Result<void*> symbol(const char* name) const;

  std::string name_;
  void* handle_ = nullptr;
};

// The folder of the program or library that contains this function.
std::string own_folder();

// Opens libxflow_NAME.so, which comes from the same build, in `folder` or in its subfolder `xflow` or
// ../lib/xflow. Errors: unsupported, "this xflow was built without cuda: libxflow_cuda.so was not found", or
// as SharedLibrary::open().
Result<SharedLibrary> open_plugin(const std::string& folder, std::string_view name);

}  // namespace xflow::cost
