#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/report/report_text.h"
#include "src/support/printable.h"
#include "xflow/simulate.h"

namespace xflow {
namespace {

using SimulationJson = nlohmann::ordered_json;

constexpr double kMilliseconds = 1e3;

std::string size_of_bytes(double bytes) {
  constexpr double kMost = 1e18;
  return bytes_text(static_cast<std::uint64_t>(std::min(bytes, kMost)));
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// A cell of a table. Names are cut where they are too long.
std::string cell(std::string text, std::size_t width) {
  if (text.size() > width) text.replace(width - 3, std::string::npos, "...");
  return fmt::format("{:<{}}", text, width);
}

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

SimulationJson device_json(const SimulationResult& result, const SimulatedDevice& device) {
  return {{"name", device.name},
          {"kind", device.kind},
          {"host", device.host},
          {"nodes", device.nodes},
          {"busy_seconds", device.busy.count()},
          {"busy_share", result.share(device.busy)},
          {"constant_bytes", device.resident},
          {"peak_bytes", device.peak},
          {"memory_bytes", device.memory},
          {"missing_bytes", device.missing()}};
}

SimulationJson plan_json(const SimulationResult& result) {
  SimulationJson nodes = SimulationJson::array();
  for (const PlannedNode& node : result.nodes) {
    nodes.push_back({{"node", node.name.empty() ? SimulationJson(node.number) : SimulationJson(node.name)},
                     {"device", result.devices[node.device].name}});
  }
  return {{"version", 1}, {"nodes", std::move(nodes)}};
}

}  // namespace

std::string SimulationResult::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& content) { text += fmt::format("{:<12}{}\n", label, content); };
  line("cluster", fmt::format("{}, {} device{}", cluster, devices.size(), devices.size() == 1 ? "" : "s"));
  line("plan", plan);
  line("step", fmt::format("{:.4f} ms", step.count() * kMilliseconds));
  line("nodes", fmt::format("{} that run, {} without a kernel", nodes.size(), without_kernel));
  if (!assumed_sizes.empty()) line("assumed", fmt::format("{}", fmt::join(assumed_sizes, ", ")));
  text += device_table(*this) + link_table(*this);
  if (!estimated.empty()) text += fmt::format("\nestimated by the bytes moved:\n");
  for (const auto& [node, reason] : estimated) text += fmt::format("  {}: {}\n", node, reason);
  if (!fits_memory()) text += '\n';
  for (const SimulatedDevice& device : devices) {
    if (device.missing() == 0) continue;
    text += fmt::format("device '{}' lacks {:.0f} bytes: it has {:.0f} and needs {:.0f}, {:.0f} of them for constants\n", device.name,
                        device.missing(), device.memory, device.peak, device.resident);
  }
  return text;
}

std::string SimulationResult::to_json() const {
  SimulationJson json;
  json["version"] = 1;
  json["cluster"] = cluster;
  json["policy"] = plan;
  json["step_seconds"] = step.count();
  json["fits_memory"] = fits_memory();
  json["devices"] = SimulationJson::array();
  for (const SimulatedDevice& device : devices) json["devices"].push_back(device_json(*this, device));
  json["links"] = SimulationJson::array();
  for (const SimulatedLink& link : links) {
    json["links"].push_back({{"from", devices[link.from].name},
                             {"to", devices[link.to].name},
                             {"transfers", link.transfers},
                             {"bytes", link.bytes},
                             {"busy_seconds", link.busy.count()},
                             {"busy_share", share(link.busy)}});
  }
  json["ports"] = SimulationJson::array();
  for (const SimulatedPort& port : ports)
    json["ports"].push_back({{"host", port.host}, {"busy_seconds", port.busy.count()}, {"busy_share", share(port.busy)}});
  json["without_kernel"] = without_kernel;
  json["estimated"] = SimulationJson::array();
  for (const auto& [node, reason] : estimated) json["estimated"].push_back({{"node", node}, {"reason", reason}});
  json["assumed_sizes"] = assumed_sizes;
  json["plan"] = plan_json(*this);
  return onnx_io::printable_json(json.dump(2, ' ', false, SimulationJson::error_handler_t::replace));
}

}  // namespace xflow
