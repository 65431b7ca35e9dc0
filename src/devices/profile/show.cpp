#include "src/devices/profile/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/devices/profile/calibration.h"
#include "src/ops/kernel_text.h"

namespace xflow::cost::profile {
namespace {

std::string head(const Profile& profile) {
  const DeviceInfo& device = profile.device;
  std::string text = fmt::format("profile     {}: {}, {} thread{}, {}{}\n", device.name, device.model, device.threads,
                                 device.threads == 1 ? "" : "s", device.library, device.clock.empty() ? "" : ", " + device.clock);
  if (!profile.source.empty()) text += fmt::format("source      {}\n", profile.source);
  if (!profile.licence.empty()) text += fmt::format("licence     {}\n", profile.licence);
  if (!profile.views.operators.empty()) {
    text += fmt::format("views       {}", operators_of(profile.views));
    if (profile.views.alignment > 1) text += fmt::format(", parts at multiples of {} bytes", profile.views.alignment);
    text += '\n';
  }
  if (!profile.roofline.given()) return text;
  text += fmt::format("roofline    {} to launch, {:.4g} GB/s", to_string(profile.roofline.launch), profile.roofline.bandwidth / 1e9);
  for (const auto& [type, peak] : profile.roofline.peak) text += fmt::format(", {} {:.4g} Gop/s", ir::name(type), peak / 1e9);
  if (profile.roofline.group_channels > 0) text += fmt::format(", peak from {} channels in a group", profile.roofline.group_channels);
  if (profile.roofline.multiprocessors > 0) text += fmt::format(", {} multiprocessors", profile.roofline.multiprocessors);
  if (profile.roofline.cache > 0) text += fmt::format(", {:.4g} MB of cache", profile.roofline.cache / 1e6);
  return text + "\n";
}

struct TimeRange {
  std::size_t kernels = 0;
  Nanoseconds least{}, most{};
};

}  // namespace

std::string describe(const Profile& profile) {
  std::size_t refused = 0;
  std::size_t with_interference = 0;
  std::map<std::string, TimeRange> classes;
  for (const auto& [key, entry] : profile.kernels) {
    if (!entry.ran) {
      ++refused;
      continue;
    }
    if (is_provisional(entry.cost)) ++with_interference;
    const auto spec = ops::parse_kernel(key.first);
    if (!spec) continue;
    TimeRange& times = classes[class_of(*spec)];
    const Nanoseconds time = entry.cost.median;
    times = {times.kernels + 1, times.kernels == 0 ? time : std::min(times.least, time), std::max(times.most, time)};
  }
  std::string text = head(profile) + fmt::format("kernels     {} with times, {} refused\n", profile.kernels.size() - refused, refused);
  if (const std::size_t floor = profile.count(Mark::at_floor); floor > 0)
    text += fmt::format("            {} at the launch floor, which models leave out\n", floor);
  if (const std::size_t contradicted = profile.count(Mark::contradicted); contradicted > 0)
    text += fmt::format("            {} whose measurements contradict each other, which are modelled\n", contradicted);
  if (with_interference > 0) text += fmt::format("            {} timed under interference\n", with_interference);
  if (classes.empty()) return text;
  text += fmt::format("\n{:<36}{:>8}{:>10}{:>10}\n", "class", "kernels", "least", "most");
  for (const auto& [group, times] : classes)
    text += fmt::format("{:<36}{:>8}{:>10}{:>10}\n", group, times.kernels, to_string(times.least), to_string(times.most));
  return text;
}

std::string describe_check(const Profile& profile) {
  std::string text =
      head(profile) + fmt::format("\n{:<36}{:>8}{:>10}{:>14}{:>10}\n", "class", "kernels", "held out", "median error", "9 of 10");
  for (const HeldOut& row : check(profile)) {
    text += fmt::format("{:<36}{:>8}{:>10}", row.group, row.kernels, row.held_out);
    text += row.held_out == 0 ? "  too few for a model\n"
                              : fmt::format("{:>14}{:>10}\n", fmt::format("x {:.2f}", row.median), fmt::format("x {:.2f}", row.most));
  }
  return text;
}

}  // namespace xflow::cost::profile
