#include "src/optimizer/optimize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_set>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/output_files.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"
#include "src/optimizer/checked_search.h"
#include "src/optimizer/clean_up.h"
#include "src/optimizer/engine.h"
#include "src/optimizer/inner_graphs.h"
#include "src/optimizer/optimize_bodies.h"
#include "src/optimizer/places.h"
#include "src/optimizer/rounds.h"
#include "src/optimizer/simplify_document.h"
#include "src/validation/device_gate.h"
#include "src/validation/end_to_end.h"
#include "src/validation/sized_model.h"

namespace xflow::api {
namespace {

using onnx_io::Document;
using onnx_io::LiftedModel;
using onnx_io::LoweredModel;

// What all parts of a call share.
struct Run {
  const RunLimits& limits;
  const ProgressCallback& progress;
  Session& session;
};

// What became of a model: nothing to write where it stays as it is.
struct Optimized {
  OptimizeReport report;
  std::optional<LoweredModel> lowered;
  std::unique_ptr<const Document> document;  // which `lowered` edits; null: the document that was given
};

// The candidate as a file that a runner can read, beside the file that will be written. It and its external data go again.
class CandidateFile {
 public:
  static Result<std::unique_ptr<CandidateFile>> write(const Document& document, std::span<const onnx_io::GraphEdit> edits,
                                                      const onnx_io::OutputPlace& output, std::string_view ending) {
    if (output.kind != onnx_io::OutputPlace::Kind::file)
      return fail(ErrorCode::unsupported, "a model with external data needs a file beside which its candidates can lie", output.path);
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

// Where a document came from and the result will go; no input for a result that is not written yet, no output either for a model that is
// given as bytes.
struct Files {
  std::string input;
  onnx_io::OutputFiles* output = nullptr;
};

// The values of inputs that have one.
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

// Empty if the candidate may be shipped; otherwise why not.
std::string judge_here(const Document& document, const LiftedModel& model, const Problem& problem, const OptimizeOptions& options,
                       const ir::Graph& candidate, const std::function<void()>& progress, OptimizeReport& report) {
  const auto defaults = defaults_of(document, model);
  if (!defaults) return report.gate.reason = "it could not be run: " + defaults.error().text();
  const std::vector<std::string> outputs(model.output_names.begin(),
                                         model.output_names.begin() + static_cast<std::ptrdiff_t>(model.output_count));
  return judge_on_device(
      {problem.arena, problem.graph, problem.inputs, *defaults, outputs, *problem.runs, options, problem.session->costs(), *problem.limits},
      candidate, progress, report);
}

// The same in a runner, against the document with the edits `before`. `edits` are those of `edited`, or of the document.
std::string judge(RunnerGate& gate, const Document& document, const Files& files, const Problem& problem,
                  std::span<const NamedInput> required, std::span<const onnx_io::GraphEdit> before,
                  std::span<const onnx_io::GraphEdit> edits, const std::function<void()>& progress, GateReport& report,
                  const Document* edited = nullptr) {
  const auto failed = [](const Error& error) { return "it could not be written for the runner: " + error.text(); };
  const auto judged = [&](const RunnerGate::Model& original, const RunnerGate::Model& candidate) {
    return gate.judge(problem.arena, problem.graph, problem.inputs, required, original, candidate, progress, report);
  };
  if (document.external_files().empty()) {
    const auto original = before.empty() ? Result<std::string>(std::string()) : onnx_io::write_bytes(document, before);
    const auto bytes = onnx_io::write_bytes(edited != nullptr ? *edited : document, edits);
    if (!original || !bytes) return report.reason = failed(original ? bytes.error() : original.error());
    return judged({before.empty() ? document.bytes() : std::string_view(*original), {}}, {*bytes, {}});
  }
  // Candidates in another folder than the model's share the copies of its data.
  if (const auto copied = onnx_io::copy_external_files(document, *files.output); !copied) return report.reason = failed(copied.error());
  std::string original;
  std::unique_ptr<CandidateFile> former;
  if (!before.empty() || files.input.empty()) {
    auto written = CandidateFile::write(document, before, files.output->place(), ".former");
    if (!written) return report.reason = failed(written.error());
    former = *std::move(written);
    original = former->path();
  } else {
    original = std::filesystem::absolute(files.input).string();
  }
  const auto candidate = CandidateFile::write(edited != nullptr ? *edited : document, edits, files.output->place(), ".candidate");
  if (!candidate) return report.reason = failed(candidate.error());
  return judged({{}, original}, {{}, (*candidate)->path()});
}

// `body`: where the document is a body of another one.
Result<Optimized> optimize_document(const Document& document, const Files& files, const OptimizeOptions& all_options, const Run& run,
                                    const BodyPlace* body = nullptr) {
  const RunLimits& limits = run.limits;
  const ProgressCallback& progress = run.progress;
  const double start = limits.seconds();
  Optimized result;
  OptimizeReport& report = result.report;
  report.nodes.before = report.nodes.after = report.nodes.kept = document.nodes(onnx_io::GraphId{0}).size();
  auto lifted = SizedModel::lift(document, all_options, [&] { return limits.ends_search().has_value(); });
  if (const auto ended = limits.ends_search(); !lifted && lifted.error().code == ErrorCode::limit && ended) {
    XFLOW_CHECK(limits.check());
    keep_original(nothing_found(*ended), {}, report);
    report.search.stop_reason = search::name(*ended);
    report.time = Seconds(limits.seconds() - start);
    return result;
  }
  if (!lifted) return fail(lifted.error());
  const std::unique_ptr<SizedModel> sized = *std::move(lifted);
  ir::Arena& arena = sized->arena();
  const LiftedModel& model = sized->model();
  report.sizes.contradictions = sized->contradictions();
  report.opaque = opaque_nodes(document, model);

  const std::vector<NamedInput>& inputs = sized->inputs();
  const std::vector<NamedInput>& required = sized->required();
  const RunInputs& runs = sized->runs();
  // Costs are those at the first choice of sizes.
  OptimizeOptions options = all_options;
  options.input.shapes = runs.shapes[0];
  if (is_elsewhere(options)) options.validation.gate = false;
  std::unique_ptr<RunnerGate> gate;
  if (options.validation.gate && runs_models(options.device)) {
    XFLOW_TRY(gate, RunnerGate::open(options, runs, limits));
  }
  const onnx_io::FoldedShapes folds = onnx_io::fold_shapes(document, model, arena, all_options.search.numerics == Numerics::exact);
  std::vector<GraphMove> moves = graph_moves(document, model, folds, arena);
  const Places places(document, model, arena);
  std::map<ir::ValueId, ir::Constant> folded;
  const eval::Options fold_options = within(limits);
  const onnx_io::Fold fold = [&](ir::ValueId value) -> Result<ir::Constant> {
    if (const auto known = folded.find(value); known != folded.end()) return known->second;
    XFLOW_TRY(ir::Constant constant, eval::fold(arena, value, fold_options));
    return folded.emplace(value, std::move(constant)).first->second;
  };
  Problem problem{arena, model.graph, inputs};
  problem.can_spell = [&](const ir::Arena& in, ir::NodeId node) { return onnx_io::can_spell(in, node, model.opset); };
  problem.name_of = [&](ir::ValueId value) {
    const auto found = model.names.find(value);
    return found == model.names.end() ? "inside " + places.of(value) : std::string(found->second);
  };
  problem.place_of = [&](ir::ValueId value) { return places.of(value); };
  problem.fold = fold;
  problem.moves = &moves;
  problem.session = &run.session;
  problem.limits = &limits;
  problem.runs = &runs;
  XFLOW_CHECK(limits.check());
  XFLOW_TRY(search::Outcome outcome, improve(problem, options, progress, report));
  std::vector<search::Finalist> finalists = api::finalists(std::move(outcome));
  list_steps(places, finalists[0], report);
  const auto finish = [&] {
    report.time = Seconds(limits.seconds() - start);
    return std::move(result);
  };
  const auto keep_original = [&](std::string reason, std::optional<Nanoseconds> predicted = {}) {
    api::keep_original(std::move(reason), predicted, report);
    if (limits.is_over()) report.search.stop_reason = search::name(search::StopReason::time_limit);
    return finish();
  };
  const bool moves_alone = finalists[0].steps.empty();
  // What a runtime makes of a model without them, only running it tells.
  if (moves_alone && !gain_time(moves) && (!gate || moves.empty())) return keep_original(report.reason);
  if (moves_alone && options.validation.gate && !gate) return keep_original(report.gate.reason = no_gain_of_moves(moves));
  report.reason.clear();

  // Where no rewrite is faster in the runner, the original without the nodes that can go may be. It takes the place of the last result: the
  // gate's level is for so many.
  if (gate && !moves_alone && !moves.empty()) {
    if (finalists.size() >= kFinalists) finalists.pop_back();
    finalists.push_back({model.graph, {}, cost::Nanoseconds{report.predicted.before.count()}, {}, report.constant_bytes.before});
  }
  onnx_io::LowerOptions lower_options;
  lower_options.folds = &folds;
  if (body != nullptr) {
    lower_options.around = &body->around;
    lower_options.name_prefix = fmt::format("xflow_g{}_", onnx_io::index(body->graph));
  }
  const auto lower = [&](const search::Finalist& found) {
    return onnx_io::lower(document, model, arena, found.graph, found.correspondence, fold, lower_options);
  };
  auto lowered = lower(finalists[0]);
  if (!lowered) return keep_original(lowered.error().text());
  if (lowered->edits.empty()) return keep_original("the cheaper graph is spelled like the original");
  if (options.validation.gate) {
    const std::function<void()> running = api::running(progress, options, limits, report);
    running();
    const auto judged = [&](std::size_t k) -> std::string {
      if (k > 0) lowered = lower(finalists[k]);
      if (!lowered) return lowered.error().text();
      return gate ? judge(*gate, document, files, problem, required, {}, lowered->edits, running, report.gate)
                  : judge_here(document, model, problem, options, finalists[k].graph, running, report);
    };
    std::string against;
    const auto shipped = judge_in_turn(problem, runs, finalists, options, judged, against, report);
    XFLOW_CHECK(limits.check());
    if (!shipped) return keep_original("run from end to end, " + against, report.predicted.after);
    list_steps(places, finalists[*shipped], report);
    // A runtime may write a result in the place of an operand where it sees that shapes are equal, and may find fewer patterns: that as
    // well only running it tells.
    lower_options.declare = true;
    auto declared = gate && !limits.ends_gate() ? lower(finalists[*shipped]) : Result<onnx_io::LoweredModel>(onnx_io::LoweredModel());
    if (declared && declared->declared > 0) {
      GateReport trial;
      trial.time = report.gate.time;
      const std::string kept = judge(*gate, document, files, problem, required, lowered->edits, declared->edits, running, trial);
      list_declared(trial, declared->declared, kept, report.gate);
      if (kept.empty()) lowered = std::move(declared);
    }
  } else {
    // One node of the document may be several operations to the search, where a runtime has one kernel.
    const std::size_t nodes = lowered->kept_nodes + lowered->renamed_nodes + lowered->new_nodes;
    if (nodes > report.nodes.before)
      return keep_original(fmt::format("the result has {} nodes in the place of {}, and was not run", nodes, report.nodes.before));
    if (auto reason = below_noise(report, moves); !reason.empty()) return keep_original(std::move(reason), report.predicted.after);
    report.gate.reason = why_not_run(options, "model", "--no-gate");
  }
  list_moves(moves, report);
  report.improved = true;
  report.nodes.kept = lowered->kept_nodes;
  report.nodes.merged = lowered->merged_nodes;
  report.nodes.after = lowered->kept_nodes + lowered->renamed_nodes + lowered->new_nodes;
  result.lowered = *std::move(lowered);
  return finish();
}

// Of a model that is written to memory, where it is twice.
std::size_t most_bytes_of_copies(const RunLimits& limits) {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  return std::min(kMost, limits.bytes_left() / 2);
}

// Nodes that are written back as `original` has them.
std::uint64_t count_kept(const Document& original, const Document& edited, const onnx_io::GraphEdit& edit) {
  std::unordered_multiset<std::string_view> known;
  for (const onnx_io::Node& node : original.nodes(onnx_io::GraphId{0})) known.insert(node.payload);
  std::uint64_t kept = 0;
  const auto nodes = edited.nodes(onnx_io::GraphId{0});
  for (const onnx_io::Entry& entry : *edit.nodes) {
    const auto found = known.find(entry.kept ? nodes[*entry.kept].payload : std::string_view(entry.message));
    if (found == known.end()) continue;
    known.erase(found);
    ++kept;
  }
  return kept;
}

// Bytes of constants that an edit adds.
std::uint64_t constant_bytes(const LoweredModel& lowered) {
  std::uint64_t bytes = 0;
  for (const ir::Constant& constant : lowered.constants) bytes += ir::storage_bytes(constant.data_type, constant.elements());
  return bytes;
}

// Optimises a document, and then the result, until that stays as it is: then it also does in another run. Each result is run against the
// one before, where models are run.
Result<Optimized> optimize_until_stable(const Document& document, const Files& files, const OptimizeOptions& options, const Run& run) {
  const RunLimits& limits = run.limits;
  XFLOW_TRY(Optimized best, optimize_document(document, files, options, run));
  XFLOW_CHECK(limits.check());
  for (int round = 1; best.lowered && round < kMostRounds && !limits.ends_search(); ++round) {
    const auto next_options = options_of_next_round(options, best.report);
    const Document& last = best.document ? *best.document : document;
    if (!next_options || last.bytes().size() + constant_bytes(*best.lowered) > most_bytes_of_copies(limits)) break;
    auto bytes = onnx_io::write_bytes(last, best.lowered->edits);
    if (!bytes) break;
    auto written = Document::parse(*std::move(bytes), document.origin());
    if (!written) break;
    auto edited = std::make_unique<const Document>(*std::move(written));
    auto next = optimize_document(*edited, {{}, files.output}, *next_options, run);
    XFLOW_CHECK(limits.check());
    if (!next) break;
    const bool improved = next->lowered.has_value();
    add_round(best.report, std::move(next->report));
    if (!improved) break;
    best.report.nodes.kept = count_kept(document, *edited, next->lowered->edits[0]);
    best.lowered = std::move(next->lowered);
    best.document = std::move(edited);
  }
  return best;
}

// Runs a model with edits, of `edited` where that is not null, in the runner against itself. Empty if it may be shipped.
std::string judge_in_runner(const Document& shipped, const Files& files, SizedModel& model, std::span<const onnx_io::GraphEdit> edits,
                            const Document* edited, const OptimizeOptions& options, const Run& run, OptimizeReport& report) {
  const RunLimits& limits = run.limits;
  const ProgressCallback& progress = run.progress;
  Problem problem{model.arena(), model.model().graph, model.inputs()};
  problem.limits = &limits;
  problem.runs = &model.runs();
  const auto gate = RunnerGate::open(options, model.runs(), limits);
  if (!gate) return gate.error().text();
  const std::function<void()> running = api::running(progress, options, limits, report);
  return judge(**gate, shipped, files, problem, model.required(), {}, edits, running, report.gate, edited);
}

// Optimises the bodies of nodes in what is going to be written, each as a graph of its own, until they stay as they are. With the gate a
// body is run by itself, in a runner the whole model.
Result<void> optimize_bodies_of(const Document& document, const Files& files, const OptimizeOptions& options, const Run& run,
                                Optimized& best) {
  const RunLimits& limits = run.limits;
  if (inner_graphs(document).size() < 2 || document.bytes().size() > most_bytes_of_copies(limits)) return {};
  const auto optimize = [&](const Document& body, const BodyPlace& place, const OptimizeOptions& own) -> Result<OptimizedBody> {
    XFLOW_TRY(Optimized optimized, optimize_document(body, {}, own, run, &place));
    return OptimizedBody{std::move(optimized.report), optimized.lowered ? *std::move(optimized.lowered) : LoweredModel()};
  };
  OptimizeReport& report = best.report;
  for (int round = 0; round < kMostRounds && !limits.ends_search(); ++round) {
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
      const std::string against =
          judge_in_runner(shipped, written ? Files{{}, files.output} : files, *model, bodies.edits, nullptr, options, run, trial);
      XFLOW_CHECK(limits.check());
      if (!against.empty()) leave_bodies("run from end to end, " + against, bodies);
      if (against.empty() && !written) std::swap(report.gate, trial.gate);  // it is the original that both were run against
      add_run(report.gate, written || !against.empty() ? trial.gate : GateReport(), against);
    }
    const bool improved = !bodies.edits.empty();
    if (improved && !report.improved) {  // the rewrites that were found are not in it
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

// Runs the clean-ups of `shipped` against it. Empty if it is measured to be no slower; otherwise why it may not be written.
std::string judge_smaller(const Document& shipped, const Files& files, const Simplified& smaller, const OptimizeOptions& options,
                          const Run& run, const OptimizeReport& before) {
  const RunLimits& limits = run.limits;
  const ProgressCallback& progress = run.progress;
  const auto sized = SizedModel::lift(shipped, options, [&] { return limits.is_over(); });
  if (!sized) return sized.error().text();
  const std::unique_ptr<SizedModel>& model = *sized;
  Problem problem{model->arena(), model->model().graph, model->inputs()};
  problem.session = &run.session;
  problem.limits = &limits;
  problem.runs = &model->runs();
  OptimizeReport trial = before;
  trial.gate = {};
  const std::function<void()> running = api::running(progress, options, limits, trial);
  std::string against;
  if (runs_models(options.device)) {
    against = judge_in_runner(shipped, files, *model, smaller.last.edits, smaller.base(&shipped), options, run, trial);
  } else {
    const auto graph = cleaned_graph(model->model(), model->arena(), options, limits);
    if (!graph) return graph.error().text();
    if (*graph == problem.graph) return {};
    if (const auto opened = open_costs(problem, options); !opened) return opened.error().text();
    against = judge_here(shipped, model->model(), problem, options, *graph, running, trial);
    if (against.starts_with(kRunAlike)) return {};
  }
  return is_no_slower(trial.gate) ? std::string() : against;
}

// Cleans up what is going to be written, or says what that would remove.
Result<void> clean_up_result(const Document& document, const Files& files, const OptimizeOptions& options, const Run& run,
                             Optimized& best) {
  const RunLimits& limits = run.limits;
  constexpr std::size_t kMostNodes = 2000;  // of a model that is cleaned up only to say what that would remove
  if (options.output.accept == Accept::faster && document.nodes().size() > kMostNodes) return {};
  if (limits.ends_clean_ups()) return fail(ErrorCode::limit, limits.why_over());
  std::unique_ptr<const Document> written;
  if (best.lowered) {
    if (document.bytes().size() > most_bytes_of_copies(limits)) return {};
    XFLOW_TRY(std::string bytes, onnx_io::write_bytes(best.document ? *best.document : document, best.lowered->edits));
    XFLOW_TRY(Document parsed, Document::parse(std::move(bytes), document.origin()));
    written = std::make_unique<const Document>(std::move(parsed));
  }
  const Document& shipped = written ? *written : document;
  auto cleaned = simplify_document(shipped, simplify_options(options), limits);
  if (limits.ends_clean_ups()) return fail(ErrorCode::limit, limits.why_over());
  XFLOW_TRY(Simplified smaller, std::move(cleaned));
  if (!smaller.report.simplified) return {};
  OptimizeReport& report = best.report;
  report.clean_ups.nodes_before = smaller.report.nodes_before;
  report.clean_ups.nodes = smaller.report.nodes_before - smaller.report.nodes_after;
  report.clean_ups.bytes =
      smaller.report.stored_bytes_before - std::min(smaller.report.stored_bytes_before, smaller.report.stored_bytes_after);
  if (options.output.accept == Accept::smaller) {
    if (options.validation.gate && !is_elsewhere(options))
      report.clean_ups.reason = judge_smaller(shipped, written ? Files{{}, files.output} : files, smaller, options, run, report);
    report.clean_ups.written = report.clean_ups.reason.empty();
  }
  if (!report.clean_ups.written) return {};
  if (!report.improved) {  // the rewrites that were found are not in it
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

// Optimises a document as the options say.
Result<Optimized> optimize_and_clean_up(const Document& document, const Files& files, const OptimizeOptions& options, const Run& run) {
  const RunLimits& limits = run.limits;
  XFLOW_TRY(Optimized best, optimize_until_stable(document, files, options, run));
  XFLOW_CHECK(optimize_bodies_of(document, files, options, run, best));
  // What cannot be cleaned up stays as it is.
  if (const auto cleaned = clean_up_result(document, files, options, run, best); !cleaned)
    best.report.clean_ups.reason = "the clean-ups did not end: " + cleaned.error().text();
  XFLOW_CHECK(limits.check());
  best.report.time = Seconds(limits.seconds());
  return best;
}

}  // namespace

Result<OptimizeResult> optimize_model(std::string_view model, const OptimizeOptions& options, const ProgressCallback& progress,
                                      Session& session) {
  const RunLimits limits(options);
  const Session::Call call(session, options);
  XFLOW_TRY(const Document document, Document::parse(std::string(model)));
  XFLOW_TRY(Optimized optimized, optimize_and_clean_up(document, {}, options, {limits, progress, session}));
  if (!optimized.lowered) return OptimizeResult{std::string(model), std::move(optimized.report)};
  const Document& edited = optimized.document ? *optimized.document : document;
  XFLOW_TRY(std::string bytes, onnx_io::write_bytes(edited, optimized.lowered->edits));
  return OptimizeResult{std::move(bytes), std::move(optimized.report)};
}

Result<OptimizeReport> optimize_model_file(const std::string& input, const std::string& output, const OptimizeOptions& options,
                                           const ProgressCallback& progress, Session& session) {
  const RunLimits limits(options);
  const Session::Call call(session, options);
  XFLOW_TRY(const Document document, Document::open(input, options.input.allow_external));
  XFLOW_TRY(const auto files, onnx_io::OutputFiles::begin(output));  // before the work, which would be lost
  onnx_io::SaveOptions save;
  save.external_name = options.output.save_as_external_data;
  XFLOW_CHECK(onnx_io::check_save_options(document, files->place(), save));
  XFLOW_TRY(const Optimized optimized, optimize_and_clean_up(document, {input, files.get()}, options, {limits, progress, session}));
  const auto edits =
      optimized.lowered ? std::span<const onnx_io::GraphEdit>(optimized.lowered->edits) : std::span<const onnx_io::GraphEdit>();
  XFLOW_CHECK(onnx_io::write_document(optimized.document ? *optimized.document : document, edits, *files, save));
  return optimized.report;
}

}  // namespace xflow::api
