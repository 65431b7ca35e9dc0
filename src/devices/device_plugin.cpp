#include "src/devices/device_plugin.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "src/support/shared_library.h"

namespace xflow::cost {

Result<DevicePlugin*> load_plugin_from(const std::string& folder, std::string_view name) {
  XFLOW_TRY(const SharedLibrary library, open_plugin(folder, name));
  XFLOW_TRY(auto* const build, library.function<xflow_plugin_build_function>("xflow_plugin_build"));
  if (build() != kPluginBuild) return fail(ErrorCode::unsupported, fmt::format("libxflow_{}.so is from another build: {}", name, build()));
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
