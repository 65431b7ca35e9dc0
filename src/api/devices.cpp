#include <fmt/format.h>
#include <xflow/device.h>

#include <algorithm>

#include "src/devices/cpu/cpu_device.h"
#include "src/devices/default_device.h"
#include "src/devices/device_plugin.h"
#include "src/support/exceptions.h"
#include "src/validation/device_check.h"

namespace xflow {
namespace {

DeviceDescription describe_cpu() {
  const auto device = cost::cpu::open_cpu_device();
  if (!device) return {"cpu", device.error().message, false};
  const cost::DeviceInfo& info = (*device)->info();
  return {"cpu", fmt::format("{}, {}", info.model, info.library), true};
}

void add_gpus(std::vector<DeviceDescription>& found) {
  const auto plugin = cost::load_plugin("cuda");
  const auto listed = plugin ? (*plugin)->devices() : Result<std::vector<cost::DevicePlugin::Listed>>(fail(plugin.error()));
  if (!listed) return found.push_back({"cuda", listed.error().message, false});
  for (std::size_t k = 0; k < listed->size(); ++k) {
    const cost::DevicePlugin::Listed& gpu = (*listed)[k];
    const std::string text = gpu.refusal.empty() ? gpu.text : fmt::format("{}: {}", gpu.refusal, gpu.text);
    found.push_back({fmt::format("cuda:{}", k), text, gpu.refusal.empty()});
  }
}

}  // namespace

std::vector<DeviceDescription> devices() {
  std::vector<DeviceDescription> found = {describe_cpu()};
  add_gpus(found);
  return found;
}

DefaultDevice default_device(const std::string& check, double seconds) {
  const bool has_gpu =
      std::ranges::any_of(devices(), [](const DeviceDescription& device) { return device.name == "cuda:0" && device.usable; });
  return cost::choose_device(has_gpu, check, seconds);
}

Result<DeviceCheck> check_device(const std::string& name) {
  return api::guarded<DeviceCheck>([&] { return api::check_device_named(name); });
}

}  // namespace xflow
