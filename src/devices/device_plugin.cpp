#include "src/devices/device_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "src/support/shared_library.h"

namespace xflow::cost {

Result<DevicePlugin*> load_plugin_from(const std::string& folder, std::string_view name) {
  const std::string file = fmt::format("libxflow_{}.so", name);
  const std::array<std::string, 3> paths = {fmt::format("{}/{}", folder, file), fmt::format("{}/xflow/{}", folder, file),
                                            fmt::format("{}/../lib/xflow/{}", folder, file)};
  const auto is_there = [](const std::string& path) {
    std::error_code none;
    return std::filesystem::exists(path, none);
  };
  if (std::ranges::none_of(paths, is_there))
    return fail(ErrorCode::unsupported, fmt::format("this xflow was built without {}: {} was not found", name, file));
  XFLOW_TRY(const SharedLibrary library, SharedLibrary::open(paths));
  XFLOW_TRY(auto* const build, library.function<xflow_plugin_build_function>("xflow_plugin_build"));
  if (build() != kPluginBuild) return fail(ErrorCode::unsupported, fmt::format("{} is from another build: {}", file, build()));
  XFLOW_TRY(auto* const plugin, library.function<xflow_plugin_function>("xflow_plugin"));
  return plugin();
}

Result<DevicePlugin*> load_plugin(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, Result<DevicePlugin*>, std::less<>> loaded;
  const std::lock_guard lock(mutex);
  const auto known = loaded.find(name);
  return known != loaded.end() ? known->second : loaded.emplace(name, load_plugin_from(own_folder(), name)).first->second;
}

}  // namespace xflow::cost
