#include "src/optimizer/optimize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "src/onnx/document/document.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/fixed_inputs.h"
#include "src/onnx/document/output_files.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"
#include "src/optimizer/document_model.h"
#include "src/optimizer/inner_graphs.h"
#include "src/optimizer/operator_counts.h"
#include "src/optimizer/optimize_bodies.h"
#include "src/optimizer/replay.h"
#include "src/optimizer/rewritten_parts.h"
#include "src/optimizer/rounds.h"
#include "src/optimizer/run.h"
#include "src/optimizer/shipping.h"
#include "src/optimizer/simplify_document.h"
#include "src/validation/end_to_end.h"
#include "src/validation/sized_model.h"

namespace xflow::api {
namespace {

using onnx_io::Document;
using onnx_io::LoweredModel;

// The result of optimising a model. Without `lowered` the model stays unchanged.
struct Optimized {
  OptimizeReport report;
  std::optional<LoweredModel> lowered;
  std::unique_ptr<const Document> document;  // the document that `lowered` edits; null: the original
};

Result<Optimized> optimize_document(const Document& document, const Files& files, const OptimizeOptions& options, const RunContext& run,
                                    int rounds, const BodyPlace* body = nullptr) {
  XFLOW_TRY(Finished finished, api::run(std::make_unique<DocumentModel>(document, files, body), options, run, rounds));
  Optimized result{std::move(finished.report), std::nullopt, nullptr};
  if (finished.model == nullptr) return result;
  auto& model = static_cast<DocumentModel&>(*finished.model);
  result.lowered = model.take_lowered();
  result.document = model.take_document();
  return result;
}

// Runs a model in the runner against the model with edits. The edits apply to `edited`, or to `shipped` if
// `edited` is null.
Acceptance judge_edits(const Document& shipped, const Files& files, SizedModel& model, std::span<const onnx_io::GraphEdit> edits,
                       const Document* edited, const OptimizeOptions& options, const RunContext& run, OptimizeReport& report) {
  const RunLimits& limits = run.limits;
  const ProgressCallback& progress = run.progress;
  Problem problem{model.arena(), model.model().graph, model.inputs()};
  problem.limits = &limits;
  problem.runs = &model.runs();
  const auto gate = RunnerGate::open(options, model.runs(), limits);
  if (!gate) return refused(gate.error().text());
  const std::function<void()> running = api::running(progress, options, limits, report);
  return judge_in_runner(**gate, shipped, files, problem, model.required(), {}, edits, running, report.gate, edited);
}

// Optimises the bodies of nodes in the current result, each as a graph of its own, until no body changes.
// The gate runs each body by itself on the device, but the whole model in a runner.
Result<void> optimize_bodies_of(const Document& document, const Files& files, const OptimizeOptions& options, const RunContext& run,
                                Optimized& best) {
  const RunLimits& limits = run.limits;
  if (inner_graphs(document).size() < 2 || document.bytes().size() > most_bytes_of_copies(limits)) return {};
  std::uint64_t pass = 0;
  const auto optimize = [&](const Document& body, const BodyPlace& place, const OptimizeOptions& own) -> Result<OptimizedBody> {
    RunContext run_of_body = run;
    run_of_body.pass = pass;
    XFLOW_TRY(Optimized optimized, optimize_document(body, {}, own, run_of_body, 1, &place));
    return OptimizedBody{std::move(optimized.report), optimized.lowered ? *std::move(optimized.lowered) : LoweredModel()};
  };
  OptimizeReport& report = best.report;
  for (; pass < kMostRounds && !limits.ends_search(); ++pass) {
    std::unique_ptr<const Document> written;
    if (best.lowered) {
      XFLOW_TRY(std::string bytes, onnx_io::write_bytes(best.document ? *best.document : document, best.lowered->edits));
      XFLOW_TRY(Document parsed, Document::parse(std::move(bytes), document.origin()));
      written = std::make_unique<const Document>(std::move(parsed));
    }
    const Document& shipped = written ? *written : document;
    XFLOW_TRY(OptimizedBodies bodies, optimize_bodies(shipped, options, limits, report, optimize));
    if (!bodies.edits.empty() && options.validation.gate && runs_models(options.device)) {
      XFLOW_TRY(const auto model, SizedModel::lift(shipped, options, [&] { return limits.is_over(); }));
      OptimizeReport trial = report;
      trial.gate = {};
      const Acceptance acceptance =
          judge_edits(shipped, written ? Files{{}, files.output} : files, *model, bodies.edits, nullptr, options, run, trial);
      XFLOW_CHECK(limits.check());
      if (!acceptance) leave_bodies("run from end to end, " + acceptance.reason, bodies);
      if (acceptance && !written) std::swap(report.gate, trial.gate);  // both were run against the original
      add_run(report.gate, written || !acceptance ? trial.gate : GateReport(), acceptance);
    }
    const bool improved = !bodies.edits.empty();
    if (improved && !report.improved) {  // the result does not have the rewrites of the search
      report.search.steps.clear();
      for (RuleCount& count : report.search.rules) count.applied = 0;
      report.predicted.after = report.predicted.before;
    }
    LoweredModel lowered;
    lowered.edits = std::move(bodies.edits);
    lowered.constants = std::move(bodies.constants);
    add_bodies(report, std::move(bodies));
    if (!improved) return {};
    report.improved = true;
    report.reason.clear();
    best.document = std::move(written);
    best.lowered = std::move(lowered);
  }
  return {};
}

// Runs `shipped` against its cleaned-up form. Accepts the clean-ups if they are measured to be no slower.
Acceptance judge_smaller(const Document& shipped, const Files& files, const Simplified& smaller, const OptimizeOptions& options,
                         const RunContext& run, const OptimizeReport& before) {
  const RunLimits& limits = run.limits;
  const ProgressCallback& progress = run.progress;
  const auto sized = SizedModel::lift(shipped, options, [&] { return limits.is_over(); });
  if (!sized) return refused(sized.error().text());
  const std::unique_ptr<SizedModel>& model = *sized;
  Problem problem{model->arena(), model->model().graph, model->inputs()};
  problem.session = &run.session;
  problem.limits = &limits;
  problem.runs = &model->runs();
  OptimizeReport trial = before;
  trial.gate = {};
  const std::function<void()> running = api::running(progress, options, limits, trial);
  Acceptance acceptance;
  if (runs_models(options.device)) {
    acceptance = judge_edits(shipped, files, *model, smaller.last.edits, smaller.base(&shipped), options, run, trial);
  } else {
    const auto graph = cleaned_graph(model->model(), model->arena(), options, limits, run.session);
    if (!graph) return refused(graph.error().text());
    if (*graph == problem.graph) return accepted();
    if (const auto opened = open_costs(problem, options); !opened) return refused(opened.error().text());
    DeviceJudgement judgement = judge_here(shipped, model->model(), problem, options, *graph, running, trial);
    if (judgement.is_run_alike) return accepted();
    acceptance = std::move(judgement.acceptance);
  }
  return is_no_slower(trial.gate) ? accepted() : acceptance;
}

// Cleans up the current result, or only reports what the clean-ups would remove.
Result<void> clean_up_result(const Document& document, const Files& files, const OptimizeOptions& options, const RunContext& run,
                             Optimized& best) {
  const RunLimits& limits = run.limits;
  if (limits.ends_clean_ups()) return fail(ErrorCode::limit, limits.may_continue().reason);
  std::unique_ptr<const Document> written;
  if (best.lowered) {
    if (document.bytes().size() > most_bytes_of_copies(limits)) return {};
    XFLOW_TRY(std::string bytes, onnx_io::write_bytes(best.document ? *best.document : document, best.lowered->edits));
    XFLOW_TRY(Document parsed, Document::parse(std::move(bytes), document.origin()));
    written = std::make_unique<const Document>(std::move(parsed));
  }
  const Document& shipped = written ? *written : document;
  auto cleaned = simplify_document(shipped, simplify_options(options), limits, run.session);
  if (const Acceptance goes_on = limits.may_continue(); !goes_on) return fail(ErrorCode::limit, goes_on.reason);
  XFLOW_TRY(Simplified smaller, std::move(cleaned));
  if (!smaller.report.simplified) return {};
  OptimizeReport& report = best.report;
  report.clean_ups.nodes_before = smaller.report.nodes_before;
  report.clean_ups.nodes = smaller.report.nodes_before - smaller.report.nodes_after;
  report.clean_ups.bytes =
      smaller.report.stored_bytes_before - std::min(smaller.report.stored_bytes_before, smaller.report.stored_bytes_after);
  if (options.output.accept == Accept::smaller) {
    Acceptance acceptance;
    if (options.validation.gate && !is_elsewhere(options))
      acceptance = judge_smaller(shipped, written ? Files{{}, files.output} : files, smaller, options, run, report);
    report.clean_ups.written = acceptance.accepted;
    report.clean_ups.reason = std::move(acceptance.reason);
  }
  if (!report.clean_ups.written) return {};
  if (!report.improved) {  // the result does not have the rewrites of the search
    report.search.steps.clear();
    for (RuleCount& count : report.search.rules) count.applied = 0;
    report.predicted.after = report.predicted.before;
  }
  report.improved = true;
  report.reason.clear();
  const Document& edited = *smaller.base(&shipped);
  const auto main = std::ranges::find(smaller.last.edits, onnx_io::GraphId{0}, &onnx_io::GraphEdit::graph);
  report.nodes.after = main == smaller.last.edits.end() ? edited.nodes(onnx_io::GraphId{0}).size() : main->nodes->size();
  if (main != smaller.last.edits.end()) report.nodes.kept = count_kept(document, edited, *main);
  best.document = smaller.edited ? std::move(smaller.edited) : std::move(written);
  best.lowered.emplace();
  best.lowered->edits = std::move(smaller.last.edits);
  best.lowered->constants = std::move(smaller.last.constants);
  return {};
}

// Optimises a document: main graph, bodies, clean-ups. With options.search.replay, the options are
// replay_options().
Result<Optimized> optimize_and_clean_up(const Document& document, const Files& files, const OptimizeOptions& options,
                                        const RunContext& context) {
  const RunLimits& limits = context.limits;
  std::optional<Replay> replay;
  if (options.search.replay) {
    replay.emplace(*options.search.replay);
    XFLOW_CHECK(replay->check_model(document.bytes()));
  }
  RunContext run = context;
  run.replay = replay ? &*replay : nullptr;
  XFLOW_TRY(Optimized best, optimize_document(document, files, options, run, kMostRounds));
  XFLOW_CHECK(optimize_bodies_of(document, files, options, run, best));
  if (replay) XFLOW_CHECK(replay->check_end(limits));
  if (replay) mark_replayed(best.report);
  // An error of the clean-ups leaves the result as it is.
  if (const auto cleaned = clean_up_result(document, files, options, run, best); !cleaned)
    best.report.clean_ups.reason = "the clean-ups did not finish: " + cleaned.error().text();
  XFLOW_CHECK(limits.check());
  const std::span<const onnx_io::GraphEdit> edits =
      best.lowered ? std::span<const onnx_io::GraphEdit>(best.lowered->edits) : std::span<const onnx_io::GraphEdit>();
  const Document& base = best.document ? *best.document : document;
  best.report.operators = operator_counts(document, base, edits);
  best.report.parts = rewritten_parts(document, base, edits, best.report.search.steps);
  best.report.parameters = parameter_counts(document, base, edits);
  best.report.file_bytes = {file_bytes(document), file_bytes(document)};
  describe_call(options, best.report.clean_ups.written, model_hash(document.bytes()), best.report.trace);
  best.report.time = Seconds(limits.seconds());
  return best;
}

// The bytes of a model that was written, with its external data; 0 if it is in no file.
std::uint64_t bytes_of_file(const std::string& path, const std::vector<std::string>& allow_external) {
  std::error_code none;
  if (is_standard_output(path) || !std::filesystem::is_regular_file(path, none)) return 0;
  const auto document = Document::open(path, allow_external);
  return document ? file_bytes(*document) : 0;
}

}  // namespace

Result<OptimizeResult> optimize_model(std::string_view model, const OptimizeOptions& given, const ProgressCallback& progress,
                                      Session& session) {
  const OptimizeOptions options = given.search.replay ? replay_options(given) : given;
  const RunLimits limits(options);
  const Session::Call call(session, options);
  XFLOW_TRY(Document document, Document::parse(std::string(model)));
  XFLOW_CHECK(onnx_io::fix_inputs(document, options.input.fixed_shapes));
  XFLOW_TRY(Optimized optimized, optimize_and_clean_up(document, {}, options, {limits, progress, session}));
  if (!optimized.lowered) return OptimizeResult{std::string(document.bytes()), std::move(optimized.report)};
  const Document& edited = optimized.document ? *optimized.document : document;
  XFLOW_TRY(std::string bytes, onnx_io::write_bytes(edited, optimized.lowered->edits));
  optimized.report.file_bytes.after = bytes.size();
  return OptimizeResult{std::move(bytes), std::move(optimized.report)};
}

Result<OptimizeReport> optimize_model_file(const std::string& input, const std::string& output, const OptimizeOptions& given,
                                           const ProgressCallback& progress, Session& session) {
  const OptimizeOptions options = given.search.replay ? replay_options(given) : given;
  const RunLimits limits(options);
  const Session::Call call(session, options);
  XFLOW_TRY(Document document, Document::open(input, options.input.allow_external));
  XFLOW_CHECK(onnx_io::fix_inputs(document, options.input.fixed_shapes));
  XFLOW_TRY(const auto files, onnx_io::OutputFiles::begin(output));  // fails before the optimisation, whose result would be lost
  onnx_io::SaveOptions save;
  save.external_name = options.output.save_as_external_data;
  XFLOW_CHECK(onnx_io::check_save_options(document, files->place(), save));
  XFLOW_TRY(Optimized optimized, optimize_and_clean_up(document, {options.input.fixed_shapes.empty() ? input : "", files.get()}, options,
                                                       {limits, progress, session}));
  const auto edits =
      optimized.lowered ? std::span<const onnx_io::GraphEdit>(optimized.lowered->edits) : std::span<const onnx_io::GraphEdit>();
  XFLOW_CHECK(onnx_io::write_document(optimized.document ? *optimized.document : document, edits, *files, save));
  if (optimized.lowered || !save.external_name.empty())
    optimized.report.file_bytes.after = bytes_of_file(output, options.input.allow_external);
  return std::move(optimized.report);
}

}  // namespace xflow::api
