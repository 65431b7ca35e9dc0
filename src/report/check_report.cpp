#include <fmt/format.h>
#include <xflow/check.h>

#include <nlohmann/json.hpp>

#include "src/support/printable.h"

namespace xflow {

std::string CheckReport::to_text() const {
  const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
  std::string text;
  for (const std::string& run : runs) text += fmt::format("inputs   {}\n", onnx_io::printable(run));
  for (const std::string& reason : skipped) text += fmt::format("skipped  {}\n", onnx_io::printable(reason));
  for (const Output& output : outputs) {
    if (output.inputs.empty()) continue;
    const std::string share =
        output.checked_values < output.values ? fmt::format("checked {} of {} values  ", output.checked_values, output.values) : "";
    text += fmt::format("output   {}: {}  error {:.3g}  bound {:.3g}  {}{}\n", onnx_io::printable(output.name), output.type, output.error,
                        output.allowed, share, output.agrees ? "agrees" : "differs");
  }
  if (equal)
    return text + fmt::format("equal: {} output{} on {} set{} of inputs\n", outputs.size(), plural(outputs.size()), runs.size(),
                              plural(runs.size()));
  return text + fmt::format("different: {}\n", onnx_io::printable(difference));
}

std::string CheckReport::to_json() const {
  nlohmann::ordered_json json{{"equal", equal}, {"difference", difference}, {"runs", runs}, {"skipped", skipped}};
  json["outputs"] = nlohmann::ordered_json::array();
  for (const Output& output : outputs)
    json["outputs"].push_back({{"name", output.name},
                               {"type", output.type},
                               {"agrees", output.agrees},
                               {"reason", output.reason},
                               {"error", output.error},
                               {"allowed", output.allowed},
                               {"inputs", output.inputs},
                               {"checked_values", output.checked_values},
                               {"values", output.values}});
  return onnx_io::printable_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace xflow
