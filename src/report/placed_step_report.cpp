#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/support/printable.h"
#include "xflow/place_step.h"

namespace xflow {

std::string PlacedStep::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& content) { text += fmt::format("{:<12}{}\n", label, content); };
  line("objective", "step");
  line("cluster", onnx_io::printable(cluster));
  line("value", fmt::format("{:.4f} ms", value.count()));
  line("bound", fmt::format("{:.4f} ms, gap {:.2f} %", bound.count(), 100 * gap()));
  if (choices > 0) line("fused", fmt::format("{} of {} nodes that could be", fusions.size(), choices));
  line("method", fmt::format("{}{}", to_string(method), policy.empty() ? "" : ": " + onnx_io::printable(policy)));
  line("stop", fmt::format("{} after {} plans, seed {}", to_string(stop), steps, seed));
  std::size_t width = 16;
  for (const StepDevice& device : devices) width = std::max(width, onnx_io::printable(device.name).size() + 2);
  text += fmt::format("\n{:<{}}{:>16}{:>14}{:>8}\n", "device", width, "busy", "memory", "nodes");
  for (const StepDevice& device : devices)
    text += fmt::format("{:<{}}{:>13.4f} ms{:>12.1f} %{:>8}\n", onnx_io::printable(device.name), width, device.busy.count(),
                        device.memory > 0 ? 100 * device.bytes / device.memory : 0, device.nodes.size());
  if (missing() > 0) text += fmt::format("\ndevices lack {:.0f} bytes of memory\n", missing());
  return text;
}

std::string PlacedStep::to_json() const {
  using Json = nlohmann::ordered_json;
  Json json;
  json["objective"] = "step";
  json["cluster"] = cluster;
  json["value"] = value.count();
  json["bound"] = bound.count();
  json["gap"] = gap();
  json["method"] = to_string(method);
  if (!policy.empty()) json["policy"] = policy;
  json["stop"] = to_string(stop);
  json["seed"] = seed;
  json["steps"] = steps;
  json["missing"] = missing();
  json["devices"] = Json::array();
  for (const StepDevice& device : devices)
    json["devices"].push_back({{"name", device.name},
                               {"busy", device.busy.count()},
                               {"bytes", device.bytes},
                               {"memory", device.memory},
                               {"nodes", device.nodes}});
  json["fusions"] = Json::array();
  for (const StepFusion& fusion : fusions) json["fusions"].push_back({{"nodeId", fusion.node}, {"intoId", fusion.into}});
  return onnx_io::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace xflow
