// What an edit replaced in a model, and with what.
#pragma once

#include <span>
#include <vector>

#include "src/onnx/document/document_writer.h"
#include "xflow/report.h"

namespace xflow::api {

// The parts of the main graph that differ: `original` beside `base` after `edits`. `steps`: those of the
// search, whose places assign them to parts.
std::vector<RewrittenPart> rewritten_parts(const onnx_io::Document& original, const onnx_io::Document& base,
                                           std::span<const onnx_io::GraphEdit> edits, std::span<const RewriteStep> steps);

// The number of elements of all initializers: those of `original`, and those of `base` after `edits`.
ParameterCounts parameter_counts(const onnx_io::Document& original, const onnx_io::Document& base,
                                 std::span<const onnx_io::GraphEdit> edits);

// The bytes of a model and of its external data.
std::uint64_t file_bytes(const onnx_io::Document& document);

}  // namespace xflow::api
