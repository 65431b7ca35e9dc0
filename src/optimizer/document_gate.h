// The gate of a document: runs a result against the original, on the device or in a runner.
#pragma once

#include <xflow/optimize.h>

#include <functional>
#include <span>
#include <string>

#include "src/onnx/document/document.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/output_files.h"
#include "src/onnx/lift/lift.h"
#include "src/optimizer/problem.h"
#include "src/support/acceptance.h"
#include "src/validation/device_gate.h"
#include "src/validation/end_to_end.h"

namespace xflow::api {

// The source of a document and the destination of its result. `input` is empty for a result that is not
// written yet. A model given as bytes has neither.
struct Files {
  std::string input;
  onnx_io::OutputFiles* output = nullptr;
};

// Runs a candidate graph against the lifted model, on the device of the problem's session.
DeviceJudgement judge_here(const onnx_io::Document& document, const onnx_io::LiftedModel& model, const Problem& problem,
                           const OptimizeOptions& options, const ir::Graph& candidate, const std::function<void()>& progress,
                           OptimizeReport& report);

// Runs the candidate in a runner against the document with the edits `before`. The candidate is `edited`, or
// `document` if `edited` is null, with `edits`.
Acceptance judge_in_runner(RunnerGate& gate, const onnx_io::Document& document, const Files& files, const Problem& problem,
                           std::span<const NamedInput> required, std::span<const onnx_io::GraphEdit> before,
                           std::span<const onnx_io::GraphEdit> edits, const std::function<void()>& progress, GateReport& report,
                           const onnx_io::Document* edited = nullptr);

}  // namespace xflow::api
