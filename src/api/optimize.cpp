#include "xflow/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <optional>

#include "src/api/end_to_end.h"
#include "src/api/engine.h"
#include "src/eval/evaluate.h"
#include "src/onnx/document.h"
#include "src/onnx/document_writer.h"
#include "src/onnx/lift.h"
#include "src/onnx/lower.h"

namespace xflow {
namespace {

using onnx_io::Document;
using onnx_io::LiftedModel;
using onnx_io::LoweredModel;

// What became of a model: nothing to write where it stays as it is.
struct Optimized {
  OptimizeReport report;
  std::optional<LoweredModel> lowered;
};

// "node 'conv1' (Conv)" for a value of the original graph. A value inside of what one node of the document was lifted to (the product in a
// BatchNormalization) is at the node that uses it.
class Places {
 public:
  Places(const Document& document, const LiftedModel& model, const ir::Arena& arena) : document_(document), model_(model) {
    const std::vector<ir::NodeId> order = ir::topological_order(arena, model.graph);
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const ir::Node& node = arena.node(*id);
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
        const auto place = node_of({*id, k});
        if (!place) continue;
        for (const ir::ValueId operand : node.operands) users_.try_emplace(operand, *place);
      }
    }
  }

  // Nothing for a value that came up during the search.
  std::string of(ir::ValueId value) const {
    const auto place = node_of(value);
    return place ? onnx_io::describe(document_, *place) : std::string();
  }

 private:
  std::optional<onnx_io::NodeId> node_of(ir::ValueId value) const {
    if (const auto origin = model_.origins.find(value); origin != model_.origins.end()) return origin->second.node;
    const auto user = users_.find(value);
    return user == users_.end() ? std::nullopt : std::optional(user->second);
  }

  const Document& document_;
  const LiftedModel& model_;
  std::map<ir::ValueId, onnx_io::NodeId> users_;
};

void list_steps(const Places& places, const search::Outcome& outcome, OptimizeReport& report) {
  // Values of later graphs back to the document, along what each step replaced is not kept; the equal value of the original is found by the
  // correspondence read backwards.
  std::map<ir::ValueId, ir::ValueId> original;
  for (const auto& [before, after] : outcome.correspondence) {
    const auto [known, fresh] = original.try_emplace(after, before);
    if (!fresh && before < known->second) known->second = before;
  }
  for (const search::Step& step : outcome.steps) {
    OptimizeReport::Step line{step.rule, {}, step.gain.value};
    for (const ir::ValueId value : step.replaced) {
      line.where = places.of(value);
      if (line.where.empty()) {
        if (const auto found = original.find(value); found != original.end()) line.where = places.of(found->second);
      }
      if (!line.where.empty()) break;
    }
    if (line.where.empty()) line.where = "a value that an earlier step made";
    report.steps.push_back(std::move(line));
  }
}

void list_opaque(const Document& document, const LiftedModel& model, OptimizeReport& report) {
  std::map<std::string, std::size_t> reasons;
  for (const onnx_io::OpaqueNode& opaque : model.opaque)
    ++reasons[fmt::format("{}: {}", document.node(opaque.node).op_type, opaque.reason)];
  for (const auto& [reason, count] : reasons) report.opaque.push_back(fmt::format("{} x {}", count, reason));
}

// The candidate as a file that a runner can read, beside the file that will be written. It and its external data go again.
class CandidateFile {
 public:
  static Result<std::unique_ptr<CandidateFile>> write(const Document& document, std::span<const onnx_io::GraphEdit> edits,
                                                      const std::string& output) {
    std::unique_ptr<CandidateFile> file(new CandidateFile());
    file->path_ = std::filesystem::absolute(output).string() + ".candidate";
    XFLOW_TRY(file->data_, onnx_io::write_document(document, edits, file->path_));
    return file;
  }
  ~CandidateFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    for (const std::string& path : data_) std::filesystem::remove(path, ignored);
  }
  CandidateFile(const CandidateFile&) = delete;
  CandidateFile& operator=(const CandidateFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  CandidateFile() = default;
  std::string path_;
  std::vector<std::string> data_;
};

// Where a document came from and the result will go; empty for a model that is given as bytes.
struct Files {
  std::string input;
  std::string output;
};

// Empty if the rewritten model may be shipped; otherwise why not.
std::string judge(api::RunnerGate& gate, const Document& document, const Files& files, const LiftedModel& model, ir::Arena& arena,
                  std::span<const onnx_io::GraphEdit> edits, const std::function<void()>& progress, OptimizeReport::EndToEnd& report) {
  std::vector<api::NamedInput> inputs;
  for (std::size_t k = 0; k < model.inputs.size(); ++k) {
    // What has a default keeps it.
    const onnx_io::Definition* definition = document.find(onnx_io::GraphId{0}, model.input_names[k]);
    if (definition == nullptr || !definition->initializer) inputs.push_back({model.input_names[k], model.inputs[k]});
  }
  const auto failed = [](const Error& error) { return "it could not be written for the runner: " + error.text(); };
  if (document.external_files().empty()) {
    const auto bytes = onnx_io::write_bytes(document, edits);
    if (!bytes) return report.reason = failed(bytes.error());
    return gate.judge(arena, model.graph, inputs, {document.bytes(), {}}, {*bytes, {}}, progress, report);
  }
  const auto candidate = CandidateFile::write(document, edits, files.output);
  if (!candidate) return report.reason = failed(candidate.error());
  const std::string original = std::filesystem::absolute(files.input).string();
  return gate.judge(arena, model.graph, inputs, {{}, original}, {{}, (*candidate)->path()}, progress, report);
}

Result<Optimized> optimize_document(const Document& document, const Files& files, const OptimizeOptions& all_options,
                                    const ProgressCallback& progress) {
  // Costs are those at the first choice of sizes.
  OptimizeOptions options = all_options;
  const std::vector<std::vector<InputShape>> shapes = api::shape_choices(all_options.shapes);
  options.shapes = shapes[0];
  const auto start = std::chrono::steady_clock::now();
  Optimized result;
  OptimizeReport& report = result.report;
  ir::Arena arena;
  XFLOW_TRY(const LiftedModel model, onnx_io::lift(document, arena));
  list_opaque(document, model, report);
  report.nodes_before = report.nodes_after = report.nodes_kept = document.nodes(onnx_io::GraphId{0}).size();

  std::vector<api::NamedInput> inputs;
  inputs.reserve(model.inputs.size());
  for (std::size_t k = 0; k < model.inputs.size(); ++k) inputs.push_back({model.input_names[k], model.inputs[k]});
  for (std::size_t k = 1; k < shapes.size(); ++k) XFLOW_CHECK(api::choose_fitting_sizes(arena, model.graph, inputs, shapes[k]));
  std::unique_ptr<api::RunnerGate> gate;
  if (options.gate && !options.runner.empty()) {
    XFLOW_TRY(gate, api::RunnerGate::open(all_options));
  }
  std::vector<api::GraphMove> moves = api::graph_moves(document, model, arena);
  const Places places(document, model, arena);
  std::map<ir::ValueId, ir::Constant> folded;
  const onnx_io::Fold fold = [&](ir::ValueId value) -> Result<ir::Constant> {
    if (const auto known = folded.find(value); known != folded.end()) return known->second;
    XFLOW_TRY(ir::Constant constant, eval::fold(arena, value));
    return folded.emplace(value, std::move(constant)).first->second;
  };
  api::Problem problem{arena, model.graph, inputs};
  problem.can_spell = [&](const ir::Arena& in, ir::NodeId node) { return onnx_io::can_spell(in, node, model.opset); };
  problem.name_of = [&](ir::ValueId value) {
    const auto found = model.names.find(value);
    return found == model.names.end() ? "inside " + places.of(value) : std::string(found->second);
  };
  problem.place_of = [&](ir::ValueId value) { return places.of(value); };
  problem.fold = fold;
  problem.moves = &moves;
  XFLOW_TRY(const search::Outcome outcome, api::improve(problem, options, progress, report));
  list_steps(places, outcome, report);
  const auto finish = [&] {
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result);
  };
  const auto keep_original = [&](std::string reason) {
    report.improved = false;
    report.reason = std::move(reason);
    report.after_nanoseconds = report.before_nanoseconds;
    report.constant_bytes_after = report.constant_bytes_before;
    return finish();
  };
  if (outcome.steps.empty() && !api::gain_time(moves)) return keep_original(report.reason);
  report.reason.clear();

  auto lowered = onnx_io::lower(document, model, arena, outcome.best, outcome.correspondence, fold);
  if (!lowered) return keep_original(lowered.error().text());
  if (lowered->edits.empty()) return keep_original("the cheaper graph is spelled like the original");
  if (gate) {
    const auto running = [&] {
      if (!progress) return;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      progress(OptimizeProgress{"running", report.states, report.before_nanoseconds, report.after_nanoseconds, seconds});
    };
    running();
    const std::string against = judge(*gate, document, files, model, arena, lowered->edits, running, report.end_to_end);
    if (!against.empty()) {
      const double predicted = report.after_nanoseconds;
      Optimized kept = keep_original("run from end to end, " + against);
      kept.report.after_nanoseconds = predicted;  // which was wrong: worth knowing
      return kept;
    }
  } else {
    report.end_to_end.reason = options.gate ? "the whole model was not timed, its time is predicted; --runner names what can run it"
                                            : "the whole model was not timed, its time is predicted: --no-gate";
  }
  api::list_moves(moves, report);
  report.improved = true;
  report.nodes_kept = lowered->kept_nodes;
  report.nodes_merged = lowered->merged_nodes;
  report.nodes_after = lowered->kept_nodes + lowered->renamed_nodes + lowered->new_nodes;
  result.lowered = *std::move(lowered);
  return finish();
}

// Exceptions of the standard library (no memory) must not cross the public interface.
template <typename T, typename Body>
Result<T> guarded(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::limit, "out of memory");
  } catch (const std::exception& e) {
    return fail(ErrorCode::internal, e.what());
  }
}

}  // namespace

Result<OptimizeResult> optimize(std::string_view model, const OptimizeOptions& options, const ProgressCallback& progress) {
  return guarded<OptimizeResult>([&]() -> Result<OptimizeResult> {
    XFLOW_TRY(const Document document, Document::parse(std::string(model)));
    XFLOW_TRY(Optimized optimized, optimize_document(document, {}, options, progress));
    if (!optimized.lowered) return OptimizeResult{std::string(model), std::move(optimized.report)};
    XFLOW_TRY(std::string bytes, onnx_io::write_bytes(document, optimized.lowered->edits));
    return OptimizeResult{std::move(bytes), std::move(optimized.report)};
  });
}

Result<OptimizeReport> optimize_file(const std::string& input, const std::string& output, const OptimizeOptions& options,
                                     const ProgressCallback& progress) {
  return guarded<OptimizeReport>([&]() -> Result<OptimizeReport> {
    XFLOW_TRY(const Document document, Document::open(input));
    XFLOW_TRY(Optimized optimized, optimize_document(document, {input, output}, options, progress));
    XFLOW_CHECK(onnx_io::write_document(
        document, optimized.lowered ? std::span<const onnx_io::GraphEdit>(optimized.lowered->edits) : std::span<const onnx_io::GraphEdit>(),
        output));
    return std::move(optimized.report);
  });
}

}  // namespace xflow
