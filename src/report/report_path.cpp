#include <xflow/report.h>

#include <filesystem>
#include <string_view>

#include "src/onnx/document/document.h"
#include "src/support/output_place.h"

namespace xflow {

bool is_standard_output(const std::string& output) {
  const auto place = onnx_io::output_place(output);
  return place && place->kind == onnx_io::OutputPlace::Kind::standard_output;
}

Result<void> check_report_path(const std::string& report, const std::string& input, const std::string& output,
                               const std::string& external_data, const std::vector<std::string>& allow_external) {
  const auto refuse = [&](const char* what) {
    return fail(ErrorCode::invalid_argument, std::string("the report would overwrite ") + what, report);
  };
  if (input != "-" && onnx_io::same_place(report, input)) return refuse("the model that is read");
  const bool both_standard = is_standard_output(report) && is_standard_output(output);
  if (both_standard || onnx_io::same_place(report, output)) return refuse("the model that is written");
  if (!external_data.empty() && onnx_io::same_place(report, onnx_io::folder_of(output) + "/" + external_data))
    return refuse("the external data that is written");
  std::error_code ignored;
  if (input != "-" && std::filesystem::is_regular_file(report, ignored)) {
    XFLOW_TRY(const onnx_io::Document document, onnx_io::Document::open(input, allow_external));
    for (const onnx_io::ExternalFile& file : document.external_files()) {
      if (onnx_io::same_place(report, file.path)) return refuse("external data of the model that is read");
    }
  }
  return onnx_io::check_output(report);
}

bool is_page(const std::string& path) { return path.ends_with(".html") || path.ends_with(".htm"); }

Result<void> write_report(const std::string& path, const std::string& report) {
  const std::string text = report + "\n";
  const std::string_view chunk = text;
  return onnx_io::write_file(path, {&chunk, 1});
}

}  // namespace xflow
