#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/support/printable.h"
#include "xflow/place.h"

namespace xflow {
namespace {

using Json = nlohmann::ordered_json;

// The devices of one kind, as a split has them.
Json parts_of(const PlacementResult& result, bool accelerators) {
  Json parts = Json::array();
  for (const PlacedDevice& device : result.devices) {
    if (device.is_accelerator == accelerators)
      parts.push_back({{"load", device.load.count()}, {"bytes", device.bytes}, {"nodes", device.nodes}});
  }
  return parts;
}

}  // namespace

std::string PlacementResult::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& content) { text += fmt::format("{:<12}{}\n", label, content); };
  line("objective", to_string(objective));
  line("value", fmt::format("{:.4f} ms", value.count()));
  line("bound", fmt::format("{:.4f} ms by {}, gap {:.2f} %", bound.count(), to_string(bound_by), 100 * gap()));
  if (contiguous) line("contiguous", fmt::format("{:.4f} ms at best", contiguous->count()));
  line("method", to_string(method));
  if (method != PlacementMethod::split) line("stop", fmt::format("{} after {} steps, seed {}", to_string(stop), steps, seed));
  text += fmt::format("\n{:<16}{:>16}{:>14}{:>8}\n", "device", "load", "memory", "nodes");
  std::size_t of_kind = 0;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const PlacedDevice& device = devices[k];
    of_kind = k > 0 && devices[k - 1].is_accelerator == device.is_accelerator ? of_kind + 1 : 1;
    const std::string used = !device.is_accelerator ? "" : memory > 0 ? fmt::format("{:.1f} %", 100 * device.bytes / memory) : "0 B";
    text += fmt::format("{:<16}{:>13.4f} ms{:>14}{:>8}\n", fmt::format("{} {}", device.is_accelerator ? "accelerator" : "CPU", of_kind),
                        device.load.count(), used, device.nodes.size());
  }
  if (!fits_memory()) text += "\nan accelerator has more than its memory\n";
  return text;
}

std::string PlacementResult::to_json() const {
  Json json;
  json["objective"] = to_string(objective);
  json["value"] = value.count();
  json["bound"] = bound.count();
  json["bound_by"] = to_string(bound_by);
  json["gap"] = gap();
  json["contiguous"] = contiguous ? Json(contiguous->count()) : Json(nullptr);
  json["method"] = to_string(method);
  json["stop"] = to_string(stop);
  json["seed"] = seed;
  json["steps"] = steps;
  json["fits_memory"] = fits_memory();
  json["fpgas"] = parts_of(*this, true);
  json["cpus"] = parts_of(*this, false);
  return onnx_io::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace xflow
