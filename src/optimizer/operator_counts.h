// The operators of a model before and after an edit.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/onnx/document/document_writer.h"
#include "xflow/report.h"

namespace xflow::api {

// "Conv", or "com.microsoft.Gelu" outside of ONNX's own domain.
std::string operator_name(std::string_view op_type, std::string_view domain);

// Counts the nodes of the main graph by operator: those of `original`, and those of `base` after `edits`.
std::vector<OperatorChange> operator_counts(const onnx_io::Document& original, const onnx_io::Document& base,
                                            std::span<const onnx_io::GraphEdit> edits);

}  // namespace xflow::api
