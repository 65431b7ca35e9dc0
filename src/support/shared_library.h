// Libraries that are found by name while the program runs, because they may not be there.
#pragma once

#include <xflow/error.h>

#include <span>
#include <string>

namespace xflow::cost {

class SharedLibrary {
 public:
  // The first of `paths` that can be loaded; a name without a folder is looked up by the system. It stays to the end of the process.
  // Errors: unsupported: "libcudnn.so.9 was not found", or, of a file that is there, "libcudnn.so.9 cannot be loaded: ...".
  static Result<SharedLibrary> open(std::span<const std::string> paths);

  // A function that it has. Errors: unsupported: "libcuda.so.1 has no function cuInit".
  template <typename Function>
  Result<Function*> function(const char* name) const {
    XFLOW_TRY(void* const found, symbol(name));
    return reinterpret_cast<Function*>(found);
  }

  // As dlopen gives it.
  void* handle() const { return handle_; }

 private:
  Result<void*> symbol(const char* name) const;

  std::string name_;
  void* handle_ = nullptr;
};

// The folder of the file, program or library, that holds this function.
std::string own_folder();

}  // namespace xflow::cost
