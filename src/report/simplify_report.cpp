#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/rules/rule.h"
#include "src/support/printable.h"
#include "xflow/simplify.h"

namespace xflow {
namespace {

std::string numbers_of(const SimplifyReport::Count& count) {
  return count.float_class ? rules::numbers_text(*count.float_class, count.float_effects) : "";
}

}  // namespace

std::string SimplifyReport::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<12}{}\n", label, onnx_io::printable(value));
  };
  line("nodes", fmt::format("{} -> {}, {} unchanged", nodes_before, nodes_after, nodes_kept));
  line("stored", fmt::format("{} B -> {} B", stored_bytes_before, stored_bytes_after));
  for (const std::string& nodes : opaque) line("opaque", nodes);
  if (!rules.empty()) {
    text += fmt::format("\n{:<44} {:>8}\n", "rule", "applied");
    for (const Count& count : rules)
      text += fmt::format("{:<44} {:>8}{}\n", count.rule, count.applied, count.float_class ? "  " + numbers_of(count) : "");
    text += '\n';
  }
  if (!stopped.empty()) line("stopped", stopped);
  line("result", simplified ? "a smaller model" : "the original model: " + reason);
  line("time", fmt::format("{:.2f} s", time.count()));
  return text;
}

std::string SimplifyReport::to_json() const {
  nlohmann::ordered_json json;
  json["simplified"] = simplified;
  json["reason"] = reason;
  json["stopped"] = stopped;
  json["nodes"] = {{"before", nodes_before}, {"after", nodes_after}, {"kept", nodes_kept}};
  json["stored_bytes"] = {{"before", stored_bytes_before}, {"after", stored_bytes_after}};
  json["opaque"] = opaque;
  json["rules"] = nlohmann::ordered_json::array();
  for (const Count& count : rules)
    json["rules"].push_back({{"rule", count.rule}, {"applied", count.applied}, {"numbers", numbers_of(count)}});
  json["seconds"] = time.count();
  return onnx_io::printable_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace xflow
