#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "src/report/report_text.h"
#include "src/support/printable.h"
#include "xflow/check_plan.h"

namespace xflow {
namespace {

using PlanJson = nlohmann::ordered_json;

PlanJson name_or_null(const std::string& name) { return name.empty() ? PlanJson(nullptr) : PlanJson(name); }

std::string line_of(const PlanConfiguration& configuration) {
  std::string devices = counted(static_cast<std::size_t>(configuration.devices), "device");
  if (!configuration.device_names.empty()) devices += fmt::format(" ({})", fmt::join(configuration.device_names, ", "));
  std::string text = fmt::format("configuration {}: {}, {}, {}", onnx_io::in_quotes(configuration.name), onnx_io::printable(devices),
                                 counted(configuration.nodes, "node"), counted(configuration.specs, "sharding spec"));
  if (configuration.stages > 0) text += ", " + counted(configuration.stages, "pipeline stage");
  return text + "\n";
}

}  // namespace

std::string PlanCheck::to_text() const {
  if (configurations.empty() && faults.empty()) return "no multi-device configuration\n";
  std::string text;
  for (const PlanConfiguration& configuration : configurations) text += line_of(configuration);
  if (!not_compared.empty()) {
    text += "\ninputs that are divided and were not compared, without a rule for the operator or the axis:\n";
    for (const std::string& node : not_compared) text += fmt::format("  {}\n", node);
  }
  if (!faults.empty()) text += '\n';
  for (const PlanFault& fault : faults) text += fault.to_text() + "\n";
  return text + (faults.empty() ? "no faults\n" : counted(faults.size(), "fault") + "\n");
}

std::string PlanCheck::to_json() const {
  PlanJson json;
  json["version"] = 1;
  json["consistent"] = consistent();
  json["configurations"] = PlanJson::array();
  for (const PlanConfiguration& configuration : configurations) {
    json["configurations"].push_back({{"name", configuration.name},
                                      {"devices", configuration.devices},
                                      {"device_names", configuration.device_names},
                                      {"nodes", configuration.nodes},
                                      {"sharding_specs", configuration.specs},
                                      {"pipeline_stages", configuration.stages}});
  }
  json["not_compared"] = not_compared;
  json["faults"] = PlanJson::array();
  for (const PlanFault& fault : faults) {
    json["faults"].push_back({{"field", to_string(fault.field)},
                              {"configuration", name_or_null(fault.configuration)},
                              {"node", name_or_null(fault.node)},
                              {"tensor", name_or_null(fault.tensor)},
                              {"text", fault.text}});
  }
  return onnx_io::printable_json(json.dump(2, ' ', false, PlanJson::error_handler_t::replace));
}

}  // namespace xflow
