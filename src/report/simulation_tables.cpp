#include "src/report/simulation_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/report/report_text.h"

namespace xflow {
namespace {

std::string size_of_bytes(double bytes) {
  constexpr double kMost = 1e18;
  return bytes_text(static_cast<std::uint64_t>(std::min(bytes, kMost)));
}

// A cell of a table. Names are cut where they are too long.
std::string cell(std::string text, std::size_t width) {
  if (text.size() > width) text.replace(width - 3, std::string::npos, "...");
  return fmt::format("{:<{}}", text, width);
}

}  // namespace

std::string device_table(const SimulationResult& result) {
  std::string text = fmt::format("\n{:<16}{:<14}{:>7}{:>16}{:>9}{:>12}{:>12}{:>12}\n", "device", "kind", "nodes", "compute", "busy",
                                 "constants", "peak", "memory");
  std::size_t idle = 0;
  for (const SimulatedDevice& device : result.devices) {
    if (device.nodes == 0) {
      ++idle;
      continue;
    }
    text += fmt::format("{} {} {:>6}{:>13.4f} ms{:>9}{:>12}{:>12}{:>12}\n", cell(device.name, 15), cell(device.kind, 13), device.nodes,
                        device.busy.count() * kMilliseconds, percent(result.share(device.busy)), size_of_bytes(device.resident),
                        size_of_bytes(device.peak), size_of_bytes(device.memory));
  }
  if (idle > 0) text += fmt::format("{} of {} devices have no nodes\n", idle, result.devices.size());
  return text;
}

std::string link_table(const SimulationResult& result) {
  if (result.links.empty()) return {};
  std::string text = fmt::format("\n{:<32}{:>10}{:>14}{:>16}{:>9}\n", "link", "transfers", "bytes", "time", "busy");
  const auto row = [&](const std::string& name, const std::string& transfers, const std::string& bytes, Seconds busy) {
    text += fmt::format("{} {:>10}{:>14}{:>13.4f} ms{:>9}\n", cell(name, 31), transfers, bytes, busy.count() * kMilliseconds,
                        percent(result.share(busy)));
  };
  for (const SimulatedLink& link : result.links) {
    row(fmt::format("{} -> {}", result.devices[link.from].name, result.devices[link.to].name), std::to_string(link.transfers),
        size_of_bytes(link.bytes), link.busy);
  }
  for (const SimulatedPort& port : result.ports) row(fmt::format("port of host {}", port.host), "", "", port.busy);
  return text;
}

std::string memory_lines(const SimulationResult& result) {
  std::string text;
  for (const SimulatedDevice& device : result.devices) {
    if (device.missing() == 0) continue;
    text += fmt::format("device '{}' lacks {:.0f} bytes: it has {:.0f} and needs {:.0f}, {:.0f} of them for constants\n", device.name,
                        device.missing(), device.memory, device.peak, device.resident);
  }
  return text;
}

}  // namespace xflow
