#include "src/support/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace xflow::cost {

Result<SharedLibrary> SharedLibrary::open(std::span<const std::string> paths) {
  SharedLibrary library;
  library.name_ = std::filesystem::path(paths.front()).filename().string();
  std::string broken;
  for (const std::string& path : paths) {
    library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ != nullptr) return library;
    const char* const why = dlerror();
    std::error_code none;
    if (broken.empty() && path.find('/') != std::string::npos && std::filesystem::exists(path, none)) broken = why == nullptr ? path : why;
  }
  if (!broken.empty()) return fail(ErrorCode::unsupported, fmt::format("{} cannot be loaded: {}", library.name_, broken));
  return fail(ErrorCode::unsupported, fmt::format("{} was not found", library.name_));
}

Result<void*> SharedLibrary::symbol(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) return fail(ErrorCode::unsupported, fmt::format("{} has no function {}", name_, name));
  return found;
}

std::string own_folder() {
  Dl_info info{};
  std::error_code none;
  std::filesystem::path file = "/proc/self/exe";
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) != 0 && info.dli_fname != nullptr &&
      std::string_view(info.dli_fname).find('/') != std::string_view::npos)
    file = info.dli_fname;
  const std::filesystem::path real = std::filesystem::canonical(file, none);
  return real.parent_path().string();
}

Result<SharedLibrary> open_plugin(const std::string& folder, std::string_view name) {
  const std::string file = fmt::format("libxflow_{}.so", name);
  const std::array<std::string, 3> paths = {fmt::format("{}/{}", folder, file), fmt::format("{}/xflow/{}", folder, file),
                                            fmt::format("{}/../lib/xflow/{}", folder, file)};
  const auto is_there = [](const std::string& path) {
    std::error_code none;
    return std::filesystem::exists(path, none);
  };
  if (std::ranges::none_of(paths, is_there))
    return fail(ErrorCode::unsupported, fmt::format("this xflow was built without {}: {} was not found", name, file));
  return SharedLibrary::open(paths);
}

}  // namespace xflow::cost
