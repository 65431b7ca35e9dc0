#include "src/equivalence/prove_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "src/equivalence/merged_nodes.h"
#include "src/equivalence/more_runs.h"
#include "src/equivalence/same_bodies.h"
#include "src/equivalence/same_nodes.h"
#include "src/equivalence/sweep.h"
#include "src/equivalence/two_models.h"
#include "src/eval/compare.h"
#include "src/search/rule_rewriter.h"
#include "src/search/simplify.h"
#include "xflow/optimize.h"

namespace xflow::equivalence {
namespace {

using Clock = std::chrono::steady_clock;

// The share of the time limit that the first attempt may take.
constexpr double kFirstShare = 0.4;
// That of more runs, if the first attempt came to its end and decided nothing.
constexpr double kRunsShare = 0.25;
// That after which the second attempt leaves the rest to more runs, if the first did not come to its end.
constexpr double kSecondShare = 0.85;
// That of the time that is left which the proof of two bodies may take.
constexpr double kBodyShare = 0.5;
// Bodies that are nested deeper are compared byte for byte.
constexpr int kDeepestBody = 8;
// That of the proof of one part.
constexpr double kPartShare = 0.1;

// Rebuilds a graph with its constant expressions computed.
class Folding final : public Rebuild {
 public:
  Folding(ir::Arena& arena, Constants& constants) : Rebuild(arena), constants_(constants) {}

 protected:
  Result<ir::ValueId> constant(ir::ValueId value) override { return constants_.folded(value); }

 private:
  Constants& constants_;
};

std::size_t count_operations(const ir::Arena& arena, const ir::Graph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(ir::topological_order(arena, graph), [&](ir::NodeId id) {
    return !arena.node(id).is_constant && arena.node(id).kind != ir::NodeKind::input;
  }));
}

class Prover {
 public:
  Prover(const VerifyModelsOptions& options, api::Session& session, int depth = 0) : options_(options), session_(session), depth_(depth) {}

  Result<ModelProof> run(const std::string& a, const std::string& b) {
    files_ = {&a, &b};
    return run(TwoModels::open(a, b, options_, [this] { return is_over(); }));
  }

  // The proof of two bodies, which is not refuted by more runs.
  Result<ModelProof> run(onnx_io::Document a, onnx_io::Document b, const BodyInputs& inputs) {
    return run(TwoModels::of_bodies(std::move(a), std::move(b), inputs, [this] { return is_over(); }));
  }

 private:
  Result<ModelProof> run(Result<std::unique_ptr<TwoModels>> models) {
    auto proof = decide(std::move(models));
    if (options_.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
    // Reading or lifting was stopped.
    if (!proof && proof.error().code == ErrorCode::limit && is_over()) {
      proof = ModelProof();
      proof->verdict = Verdict::timeout;
    }
    if (proof) proof->time = Clock::now() - start_;
    return proof;
  }

  bool is_over() const { return options_.cancel.is_finishing() || Clock::now() - start_ >= options_.time_limit; }

  bool is_stage_over() const { return is_over() || Clock::now() >= stage_end_; }

  Result<ModelProof> decide(Result<std::unique_ptr<TwoModels>> models) {
    XFLOW_TRY(models_, std::move(models));
    bodies_.emplace(models_->arena(), models_->a().document, models_->b().document,
                    [this](onnx_io::Document a, onnx_io::Document b, const BodyInputs& inputs) {
                      return prove_bodies(std::move(a), std::move(b), inputs);
                    });
    XFLOW_TRY(Acceptance same, models_->same_interface());
    if (!same) {
      proof_.verdict = Verdict::refuted;
      proof_.difference = std::move(same.reason);
      return std::move(proof_);
    }
    XFLOW_CHECK(models_->join());
    original_a_ = models_->a().graph;
    original_b_ = models_->b().graph;
    names_a_ = models_->a().names;
    names_b_ = models_->b().names;
    auto run = models_->run(options_);
    if (!run && run.error().code == ErrorCode::invalid_argument) return fail(run.error());
    if (run) run_ = *std::move(run);
    proof_.inputs = run_.label;
    run_.options.stop = [this] { return is_stage_over(); };
    constants_.emplace(models_->arena(), run_.options);
    XFLOW_TRY(const bool is_decided, attempt_all());
    if (!is_decided && !is_over()) find_difference();
    if (proof_.outputs.empty()) proof_.verdict = Verdict::timeout;  // no attempt came to its end
    if (proof_.verdict == Verdict::proved) proof_.not_run.clear();
    return std::move(proof_);
  }

  // Both attempts. Whether the models are proved or refuted, or no runs are left that could refute them.
  Result<bool> attempt_all() {
    const auto is_decided = [this] { return proof_.verdict == Verdict::proved || proof_.verdict == Verdict::refuted; };
    // More rules make more models the same graph, but some less alike.
    begin_stage(start_, kFirstShare);
    const auto first = prove_by(search::is_clean_up);
    const bool is_complete = !is_stage_over();
    if (!first && is_complete) return fail(first.error());
    if (first && is_decided()) return true;
    if (is_complete) {
      begin_stage(Clock::now(), kRunsShare);
      if (find_difference()) return true;
      stage_end_ = Clock::time_point::max();
    } else {
      begin_stage(start_, kSecondShare);
    }
    if (is_over()) return false;
    const auto second = prove_by([](const rules::Rule&) { return true; });
    if (!second && !is_stage_over()) return fail(second.error());
    const bool is_done = is_complete || (second && is_decided());
    stage_end_ = Clock::time_point::max();
    return is_done;
  }

  void begin_stage(Clock::time_point from, double share) {
    stage_end_ = from + std::chrono::duration_cast<Clock::duration>(share * options_.time_limit);
  }

  // The proof of two bodies of nodes; nothing if it is not tried.
  std::optional<ModelProof> prove_bodies(onnx_io::Document a, onnx_io::Document b, const BodyInputs& inputs) {
    const Clock::time_point end = std::min(stage_end_, start_ + std::chrono::duration_cast<Clock::duration>(options_.time_limit));
    const Seconds left = end - Clock::now();
    if (depth_ == kDeepestBody || !(left > Seconds(0)) || options_.cancel.is_finishing()) return std::nullopt;
    VerifyModelsOptions options = options_;
    options.shapes.clear();
    options.time_limit = kBodyShare * left;
    options.progress = {};
    auto proof = Prover(options, session_, depth_ + 1).run(std::move(a), std::move(b), inputs);
    return proof ? std::optional(*std::move(proof)) : std::nullopt;
  }

  // Refutes the models by more runs, if it can.
  bool find_difference() {
    if (files_.first == nullptr) return false;
    MoreRuns runs(*files_.first, *files_.second, options_, *models_, [this] { return is_stage_over(); });
    const auto found = runs.find_difference();
    proof_.not_run = found ? std::string() : runs.why_not_run();
    if (!found) return false;
    proof_.verdict = Verdict::refuted;
    proof_.inputs = found->inputs;
    proof_.difference.clear();
    proof_.outputs.clear();
    for (std::size_t k = 0; k < found->outputs.size(); ++k) {
      ModelProof::Output& output = proof_.outputs.emplace_back();
      output.name = models_->a().lifted.output_names[k];
      if (found->outputs[k]) take(*found->outputs[k], output);
    }
    return true;
  }

  // One attempt, after rewrites by the rules of a kind.
  Result<void> prove_by(const std::function<bool(const rules::Rule&)>& kind) {
    ++attempt_;
    models_->a().graph = original_a_;
    models_->b().graph = original_b_;
    models_->a().names = names_a_;
    models_->b().names = names_b_;
    proof_.outputs.clear();
    proof_.parts.clear();
    proof_.constants.clear();
    proof_.assumed.clear();
    XFLOW_CHECK(clean_up(kind));
    XFLOW_CHECK(merge_nodes(models_->a(), 0));
    XFLOW_CHECK(merge_nodes(models_->b(), models_->first_of_b()));
    Folding folding(models_->arena(), *constants_);
    XFLOW_TRY(models_->a().graph, folding.run(models_->a().graph));
    models_->a().names = folding.renamed(models_->a().names);
    values_.emplace(models_->arena(), run_.inputs, run_.options);
    draw();
    XFLOW_CHECK(sweep());
    conclude();
    return {};
  }

  Result<void> clean_up(const std::function<bool(const rules::Rule&)>& kind) {
    const auto stop = [this] { return is_stage_over(); };
    const double seconds = (options_.time_limit - (Clock::now() - start_)).count();
    XFLOW_TRY(rules::VerifiedRules rules, session_.rules(OptimizeOptions(), seconds, stop));
    rules.keep(kind);
    for (OneModel* model : {&models_->a(), &models_->b()}) {
      search::RuleRewriter rewriter(rules, rules::MatchOptions{false, false});
      search::SimplifyOptions how;
      how.stop = stop;
      how.max_growth = 1;
      search::Finalist cleaned = search::simplify(models_->arena(), model->graph, rewriter, how);
      model->graph = std::move(cleaned.graph);
      NameMap names;
      for (const auto& [value, name] : model->names) {
        const auto now = cleaned.correspondence.find(value);
        const auto [at, added] = names.emplace(now == cleaned.correspondence.end() ? value : now->second, name);
        if (!added) at->second = std::min(at->second, name);
      }
      model->names = std::move(names);
    }
    return {};
  }

  Result<void> merge_nodes(OneModel& model, std::uint32_t first) {
    MergedNodes merged(models_->arena(), model.document, first);
    XFLOW_TRY(model.graph, merged.run(model.graph));
    model.names = merged.renamed(model.names);
    return {};
  }

  void draw() {
    for (const ir::NodeId id : ir::topological_order(models_->arena(), models_->a().graph)) {
      const ir::Node& node = models_->arena().node(id);
      if (node.kind != ir::NodeKind::opaque) continue;
      values_->draw(id, options_.seed + node.serial);
      has_opaque_ = true;
    }
  }

  Result<void> sweep() {
    bodies_->clear();
    const SameNodes same(models_->a().document, models_->b().document, models_->first_of_b(), *bodies_);
    SweepOptions how;
    how.part_seconds = std::min(options_.part_time_limit, kPartShare * options_.time_limit).count();
    how.may_be_equal = [this] {
      compare_results();
      return std::ranges::none_of(results_, [](const auto& result) { return result && !result->agrees; });
    };
    how.deadline = verifier::Deadline(
        verifier::Deadline::Moment::max(), [this] { return is_stage_over(); }, true);
    const std::size_t all = count_operations(models_->arena(), models_->b().graph);
    how.progress = [this, all](std::size_t visited) { report_progress(visited, all); };
    Sweep sweep(models_->arena(), models_->a().graph, *constants_, *values_, same, how);
    const ir::Graph of_b = models_->b().graph;
    XFLOW_TRY(models_->b().graph, sweep.run(of_b));
    report(sweep, of_b);
    return {};
  }

  void report_progress(std::size_t visited, std::size_t all) {
    constexpr std::chrono::milliseconds kPause{200};
    if (!options_.progress || Clock::now() - reported_ < kPause) return;
    reported_ = Clock::now();
    const Seconds time = reported_ - start_;
    options_.progress({attempt_, visited, all, time, options_.time_limit - time});
  }

  void report(const Sweep& sweep, const ir::Graph& of_b) {
    const Names names_a(models_->arena(), models_->a().graph, models_->a().names);
    const Names names_b(models_->arena(), of_b, models_->b().names);
    for (const SweptPart& part : sweep.parts()) {
      const PartDecision& decision = part.decision;
      proof_.parts.push_back({names_a.of(part.a), names_b.of(part.b), decision.operations_a, decision.operations_b, decision.verdict,
                              decision.open, Seconds(part.seconds)});
    }
    for (const SweptConstant& constant : sweep.constants()) {
      const Rounding& rounding = constant.rounding;
      proof_.constants.push_back(
          {names_a.of(constant.a), names_b.of(constant.b), rounding.difference, rounding.allowed, rounding.magnitude});
    }
    std::map<std::string, std::size_t> assumed;
    for (const std::uint32_t serial : sweep.assumed()) {
      const onnx_io::Node& node = models_->a().document.node(onnx_io::NodeId{serial});
      if (!onnx_io::is_default_domain(node.domain)) ++assumed[fmt::format("{}.{}", node.domain, node.op_type)];
    }
    for (const auto& [name, count] : assumed) proof_.assumed.push_back(fmt::format("{} x {}", count, name));
    for (const ModelProof* body : bodies_->proofs()) {
      proof_.parts.insert(proof_.parts.end(), body->parts.begin(), body->parts.end());
      if (body->verdict != Verdict::proved) continue;
      proof_.constants.insert(proof_.constants.end(), body->constants.begin(), body->constants.end());
      proof_.assumed.insert(proof_.assumed.end(), body->assumed.begin(), body->assumed.end());
    }
  }

  void conclude() {
    const std::vector<ir::ValueId>& a = models_->a().graph.outputs;
    const std::vector<ir::ValueId>& b = models_->b().graph.outputs;
    if (a != b && results_.empty() && !is_stage_over()) compare_results();
    for (std::size_t k = 0; k < a.size(); ++k) {
      ModelProof::Output& output = proof_.outputs.emplace_back();
      output.name = models_->a().lifted.output_names[k];
      output.verdict = a[k] == b[k] ? Verdict::proved : is_stage_over() ? Verdict::timeout : Verdict::unknown;
      if (a[k] != b[k] && k < results_.size() && results_[k]) take(*results_[k], output);
    }
    const auto any = [&](Verdict verdict) {
      return std::ranges::any_of(proof_.outputs, [&](const ModelProof::Output& output) { return output.verdict == verdict; });
    };
    proof_.verdict = Verdict::proved;
    for (const Verdict verdict : {Verdict::refuted, Verdict::timeout, Verdict::unknown})
      if (proof_.verdict == Verdict::proved && any(verdict)) proof_.verdict = verdict;
  }

  void take(const eval::Comparison& comparison, ModelProof::Output& output) {
    output.error = comparison.error;
    output.allowed = comparison.allowed;
    if (comparison.agrees) return;
    output.verdict = Verdict::refuted;
    if (proof_.difference.empty())
      proof_.difference = fmt::format("output '{}' is {} for {}", output.name, comparison.reason, proof_.inputs);
  }

  // Runs both models as they were read, and compares their outputs. Nothing for an output that cannot be
  // computed.
  void compare_results() {
    results_.resize(original_a_.outputs.size());
    if (has_opaque_ || proof_.inputs.empty()) return;
    eval::Options in_float = run_.options;
    in_float.number = eval::Number::float32;
    const auto own = eval::evaluate(models_->arena(), original_a_, run_.inputs, in_float);
    for (std::size_t k = 0; own && k < results_.size(); ++k) {
      const eval::Tensor* of_a = values_->at(original_a_.outputs[k]);
      const eval::Tensor* of_b = values_->at(original_b_.outputs[k]);
      if (of_a != nullptr && of_b != nullptr) results_[k] = eval::compare(*of_a, (*own)[k], *of_b);
    }
    // The next attempt runs them once more.
    if (is_stage_over() && !is_over()) results_.clear();
  }

  const VerifyModelsOptions& options_;
  api::Session& session_;
  int depth_;                                                  // of bodies; 0: models
  std::pair<const std::string*, const std::string*> files_{};  // of models; null: bodies
  Clock::time_point start_ = Clock::now();
  Clock::time_point reported_;  // the last progress
  int attempt_ = 0;
  ModelProof proof_;
  std::unique_ptr<TwoModels> models_;
  Clock::time_point stage_end_ = Clock::time_point::max();  // of the current attempt
  ir::Graph original_a_;                                    // before any rewrite
  ir::Graph original_b_;
  NameMap names_a_;
  NameMap names_b_;
  ModelRun run_;
  std::optional<SameBodies> bodies_;
  std::optional<Constants> constants_;
  std::optional<Values> values_;
  std::vector<std::optional<eval::Comparison>> results_;  // of a run, by output; empty until it was made
  bool has_opaque_ = false;
};

}  // namespace

Result<ModelProof> prove_models(const std::string& a, const std::string& b, const VerifyModelsOptions& options, api::Session& session) {
  if (!(options.time_limit > Seconds(0))) return fail(ErrorCode::invalid_argument, "time_limit must be positive");
  if (!(options.part_time_limit > Seconds(0))) return fail(ErrorCode::invalid_argument, "part_time_limit must be positive");
  return Prover(options, session).run(a, b);
}

}  // namespace xflow::equivalence
