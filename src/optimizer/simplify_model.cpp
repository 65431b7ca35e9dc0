#include "src/optimizer/simplify_model.h"

#include <utility>

#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/fixed_inputs.h"
#include "src/optimizer/simplify_document.h"

namespace xflow::api {

using onnx_io::Document;

namespace {

RunLimits limits_of(const SimplifyOptions& options) {
  OptimizeOptions all;
  all.time_limit = options.time_limit;
  all.cancel = options.cancel;
  return RunLimits(all);
}

}  // namespace

Result<SimplifyResult> simplify_model(std::string_view model, const SimplifyOptions& options, Session& session) {
  const RunLimits limits = limits_of(options);
  XFLOW_TRY(Document document, Document::parse(std::string(model)));
  XFLOW_CHECK(onnx_io::fix_inputs(document, options.fixed_shapes));
  XFLOW_TRY(Simplified simplified, simplify_document(document, options, limits, session));
  if (!simplified.report.simplified) return SimplifyResult{std::string(document.bytes()), std::move(simplified.report)};
  XFLOW_TRY(std::string bytes, onnx_io::write_bytes(*simplified.base(&document), simplified.last.edits));
  return SimplifyResult{std::move(bytes), std::move(simplified.report)};
}

Result<SimplifyReport> simplify_model_file(const std::string& input, const std::string& output, const SimplifyOptions& options,
                                           Session& session) {
  const RunLimits limits = limits_of(options);
  XFLOW_TRY(Document document, Document::open(input, options.allow_external));
  XFLOW_CHECK(onnx_io::fix_inputs(document, options.fixed_shapes));
  XFLOW_TRY(const auto files, onnx_io::OutputFiles::begin(output));
  onnx_io::SaveOptions save;
  save.external_name = options.save_as_external_data;
  XFLOW_CHECK(onnx_io::check_save_options(document, files->place(), save));
  XFLOW_TRY(Simplified simplified, simplify_document(document, options, limits, session));
  XFLOW_CHECK(onnx_io::write_document(*simplified.base(&document), simplified.last.edits, *files, save));
  return std::move(simplified.report);
}

}  // namespace xflow::api
