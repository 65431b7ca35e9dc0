#include "xflow/simplify.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "src/api/exceptions.h"
#include "src/api/simplify_document.h"
#include "src/onnx/document_writer.h"
#include "src/onnx/printable.h"

namespace xflow {

using onnx_io::Document;

namespace {

api::RunLimits limits_of(const SimplifyOptions& options) {
  OptimizeOptions all;
  all.max_total_seconds = options.max_total_seconds;
  all.cancel = options.cancel;
  return api::RunLimits(all);
}

}  // namespace

Result<SimplifyResult> simplify(std::string_view model, const SimplifyOptions& options) {
  return api::guarded<SimplifyResult>([&]() -> Result<SimplifyResult> {
    const api::RunLimits limits = limits_of(options);
    XFLOW_TRY(const Document document, Document::parse(std::string(model)));
    XFLOW_TRY(api::Simplified simplified, api::simplify_document(document, options, limits));
    if (!simplified.report.simplified) return SimplifyResult{std::string(model), std::move(simplified.report)};
    XFLOW_TRY(std::string bytes, onnx_io::write_bytes(*simplified.base(&document), simplified.last.edits));
    return SimplifyResult{std::move(bytes), std::move(simplified.report)};
  });
}

Result<SimplifyReport> simplify_file(const std::string& input, const std::string& output, const SimplifyOptions& options) {
  return api::guarded<SimplifyReport>([&]() -> Result<SimplifyReport> {
    const api::RunLimits limits = limits_of(options);
    XFLOW_TRY(const Document document, Document::open(input, options.allow_external));
    XFLOW_TRY(const auto files, onnx_io::OutputFiles::begin(output));
    onnx_io::SaveOptions save;
    save.external_name = options.save_as_external_data;
    XFLOW_CHECK(onnx_io::check_save_options(document, files->place(), save));
    XFLOW_TRY(api::Simplified simplified, api::simplify_document(document, options, limits));
    XFLOW_CHECK(onnx_io::write_document(*simplified.base(&document), simplified.last.edits, *files, save));
    return std::move(simplified.report);
  });
}

std::string SimplifyReport::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<12}{}\n", label, onnx_io::printable(value));
  };
  line("nodes", fmt::format("{} -> {}, {} of them as they were", nodes_before, nodes_after, nodes_kept));
  line("stored", fmt::format("{} B -> {} B", stored_bytes_before, stored_bytes_after));
  for (const std::string& nodes : opaque) line("opaque", nodes);
  if (!rules.empty()) {
    text += fmt::format("\n{:<44} {:>8}\n", "rule", "applied");
    for (const Count& count : rules)
      text += fmt::format("{:<44} {:>8}{}\n", count.rule, count.applied, count.numbers.empty() ? "" : "  " + count.numbers);
    text += '\n';
  }
  if (!stopped.empty()) line("stopped", stopped);
  line("result", simplified ? "a smaller model" : "the original model: " + reason);
  line("time", fmt::format("{:.2f} s", seconds));
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
  for (const Count& count : rules) json["rules"].push_back({{"rule", count.rule}, {"applied", count.applied}, {"numbers", count.numbers}});
  json["seconds"] = seconds;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace xflow
