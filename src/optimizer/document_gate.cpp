#include "src/optimizer/document_gate.h"

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "src/optimizer/session.h"

namespace xflow::api {

using onnx_io::Document;
using onnx_io::LiftedModel;

namespace {

// The candidate as a file for a runner, beside the output file. The destructor removes the file and its
// external data.
class CandidateFile {
 public:
  static Result<std::unique_ptr<CandidateFile>> write(const Document& document, std::span<const onnx_io::GraphEdit> edits,
                                                      const onnx_io::OutputPlace& output, std::string_view ending) {
    if (output.kind != onnx_io::OutputPlace::Kind::file)
      return fail(ErrorCode::unsupported, "must be a file: the candidates of a model with external data are written beside it",
                  output.path);
    std::unique_ptr<CandidateFile> file(new CandidateFile());
    XFLOW_TRY(file->path_, onnx_io::temporary_name(output, ending));
    XFLOW_TRY(file->files_, onnx_io::OutputFiles::begin(file->path_, onnx_io::OutputFiles::Purpose::candidate));
    XFLOW_CHECK(onnx_io::write_document(document, edits, *file->files_));
    return file;
  }

  const std::string& path() const { return path_; }

 private:
  CandidateFile() = default;
  std::string path_;
  std::unique_ptr<onnx_io::OutputFiles> files_;
};

// The default values of inputs.
Result<eval::Bindings> defaults_of(const Document& document, const LiftedModel& model) {
  eval::Bindings defaults;
  for (std::size_t k = 0; k < model.inputs.size(); ++k) {
    const onnx_io::Definition* definition = document.find(onnx_io::GraphId{0}, model.input_names[k]);
    if (definition == nullptr || !definition->initializer) continue;
    const onnx_io::TensorView& tensor = document.main().initializers[*definition->initializer].tensor;
    if (tensor.data_type == ir::DataType::string) continue;  // no kernel reads strings
    XFLOW_TRY(ir::Constant constant, document.constant(tensor));
    defaults.emplace(model.inputs[k], eval::Tensor::of(std::move(constant)));
  }
  return defaults;
}

}  // namespace

DeviceJudgement judge_here(const Document& document, const LiftedModel& model, const Problem& problem, const OptimizeOptions& options,
                           const ir::Graph& candidate, const std::function<void()>& progress, OptimizeReport& report) {
  const auto defaults = defaults_of(document, model);
  if (!defaults) return {refused(report.gate.reason = "it could not be run: " + defaults.error().text())};
  const std::vector<std::string> outputs(model.output_names.begin(),
                                         model.output_names.begin() + static_cast<std::ptrdiff_t>(model.output_count));
  return judge_on_device(
      {problem.arena, problem.graph, problem.inputs, *defaults, outputs, *problem.runs, options, problem.session->costs(), *problem.limits},
      candidate, progress, report);
}

Acceptance judge_in_runner(RunnerGate& gate, const Document& document, const Files& files, const Problem& problem,
                           std::span<const NamedInput> required, std::span<const onnx_io::GraphEdit> before,
                           std::span<const onnx_io::GraphEdit> edits, const std::function<void()>& progress, GateReport& report,
                           const Document* edited) {
  const auto failed = [&report](const Error& error) {
    return refused(report.reason = "it could not be written for the runner: " + error.text());
  };
  const auto judged = [&](const RunnerGate::Model& original, const RunnerGate::Model& candidate) {
    return gate.judge(problem.arena, problem.graph, problem.inputs, required, original, candidate, progress, report);
  };
  if (document.external_files().empty()) {
    const auto original = before.empty() ? Result<std::string>(std::string()) : onnx_io::write_bytes(document, before);
    const auto bytes = onnx_io::write_bytes(edited != nullptr ? *edited : document, edits);
    if (!original || !bytes) return failed(original ? bytes.error() : original.error());
    return judged({before.empty() ? document.bytes() : std::string_view(*original), {}}, {*bytes, {}});
  }
  // Candidates outside the model's folder share copies of its external data.
  if (const auto copied = onnx_io::copy_external_files(document, *files.output); !copied) return failed(copied.error());
  std::string original;
  std::unique_ptr<CandidateFile> former;
  if (!before.empty() || files.input.empty()) {
    auto written = CandidateFile::write(document, before, files.output->place(), ".former");
    if (!written) return failed(written.error());
    former = *std::move(written);
    original = former->path();
  } else {
    original = std::filesystem::absolute(files.input).string();
  }
  const auto candidate = CandidateFile::write(edited != nullptr ? *edited : document, edits, files.output->place(), ".candidate");
  if (!candidate) return failed(candidate.error());
  return judged({{}, original}, {{}, (*candidate)->path()});
}

}  // namespace xflow::api
