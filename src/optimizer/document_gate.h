// Results of a document run against it, on the device or in a runner.
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
#include "src/validation/end_to_end.h"

namespace xflow::api {

// Where a document came from and the result will go; no input for a result that is not written yet, no output either for a model that is
// given as bytes.
struct Files {
  std::string input;
  onnx_io::OutputFiles* output = nullptr;
};

// Runs a graph that was found on the device of the problem's session, against the lifted model.
Acceptance judge_here(const onnx_io::Document& document, const onnx_io::LiftedModel& model, const Problem& problem,
                      const OptimizeOptions& options, const ir::Graph& candidate, const std::function<void()>& progress,
                      OptimizeReport& report);

// Runs the document with `edits`, of `edited` where that is not null, in a runner against the document with the edits `before`.
Acceptance judge_in_runner(RunnerGate& gate, const onnx_io::Document& document, const Files& files, const Problem& problem,
                           std::span<const NamedInput> required, std::span<const onnx_io::GraphEdit> before,
                           std::span<const onnx_io::GraphEdit> edits, const std::function<void()>& progress, GateReport& report,
                           const onnx_io::Document* edited = nullptr);

}  // namespace xflow::api
