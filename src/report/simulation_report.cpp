#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/report/simulation_tables.h"
#include "src/support/printable.h"
#include "xflow/simulate.h"

namespace xflow {
namespace {

using SimulationJson = nlohmann::ordered_json;

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
  const std::string several = divided ? fmt::format(", {} of them on several devices", divided->on_several) : "";
  line("nodes", fmt::format("{} that run{}, {} without a kernel", divided ? divided->running : nodes.size(), several, without_kernel));
  if (!assumed_sizes.empty()) line("assumed", fmt::format("{}", fmt::join(assumed_sizes, ", ")));
  text += device_table(*this) + link_table(*this);
  if (!estimated.empty()) text += fmt::format("\nestimated by the bytes moved:\n");
  for (const auto& [node, reason] : estimated) text += fmt::format("  {}: {}\n", node, reason);
  if (!fits_memory()) text += '\n' + memory_lines(*this);
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
  if (divided)
    json["divided_nodes"] = {{"running", divided->running}, {"on_several_devices", divided->on_several}};
  else
    json["plan"] = plan_json(*this);
  return onnx_io::printable_json(json.dump(2, ' ', false, SimulationJson::error_handler_t::replace));
}

}  // namespace xflow
