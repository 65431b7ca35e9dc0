#include "src/optimizer/document_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document_writer.h"
#include "src/optimizer/clean_up.h"
#include "src/optimizer/shipping.h"

namespace xflow::api {

using onnx_io::Document;
using onnx_io::LoweredModel;

namespace {

// Bytes of the constants that an edit adds.
std::uint64_t constant_bytes(const LoweredModel& lowered) {
  std::uint64_t bytes = 0;
  for (const ir::Constant& constant : lowered.constants) bytes += ir::storage_bytes(constant.data_type, constant.elements());
  return bytes;
}

}  // namespace

std::size_t most_bytes_of_copies(const RunLimits& limits) {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  return std::min(kMost, limits.bytes_left() / 2);
}

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

Result<void> DocumentModel::lift(const OptimizeOptions& options, const RunLimits& limits, OptimizeReport& report) {
  limits_ = &limits;
  report.nodes.before = report.nodes.after = report.nodes.kept = document_.nodes(onnx_io::GraphId{0}).size();
  XFLOW_TRY(sized_, SizedModel::lift(document_, options, [&] { return limits.ends_search().has_value(); }));
  report.sizes.contradictions = sized_->contradictions();
  report.opaque = opaque_nodes(document_, model());
  folds_ = onnx_io::fold_shapes(document_, model(), sized_->arena(), options.search.numerics == Numerics::exact);
  simplifications_ = find_simplifications(document_, model(), folds_, sized_->arena());
  places_.emplace(document_, model(), sized_->arena());
  return {};
}

Problem DocumentModel::problem() {
  Problem problem{sized_->arena(), model().graph, sized_->inputs()};
  problem.can_export = [this](const ir::Arena& in, ir::NodeId node) { return onnx_io::can_export(in, node, model().opset); };
  problem.name_of = [this](ir::ValueId value) {
    const auto found = model().names.find(value);
    return found == model().names.end() ? "inside " + places_->of(value) : std::string(found->second);
  };
  problem.place_of = [this](ir::ValueId value) { return places_->of(value); };
  problem.fold = [this](ir::ValueId value) { return fold(value); };
  problem.limits = limits_;
  problem.runs = &sized_->runs();
  return problem;
}

std::vector<Simplification> DocumentModel::simplifications() { return simplifications_; }

Result<void> DocumentModel::open_runner(const OptimizeOptions& options, const RunLimits& limits) {
  XFLOW_TRY(gate_, RunnerGate::open(options, runs(), limits));
  return {};
}

void DocumentModel::list_steps(const search::Finalist& found, OptimizeReport& report) const { api::list_steps(*places_, found, report); }

Result<ir::Constant> DocumentModel::fold(ir::ValueId value) {
  if (const auto known = folded_.find(value); known != folded_.end()) return known->second;
  XFLOW_TRY(ir::Constant constant, eval::fold(sized_->arena(), value, within(*limits_)));
  return folded_.emplace(value, std::move(constant)).first->second;
}

Result<LoweredModel> DocumentModel::lowered(const search::Finalist& found, bool declare) {
  onnx_io::LowerOptions options;
  options.folds = &folds_;
  options.declare = declare;
  if (body_ != nullptr) {
    options.around = &body_->around;
    options.name_prefix = fmt::format("xflow_g{}_", onnx_io::index(body_->graph));
  }
  const onnx_io::Fold fold = [this](ir::ValueId value) { return this->fold(value); };
  return onnx_io::lower(document_, model(), sized_->arena(), found.graph, found.correspondence, fold, options);
}

Acceptance DocumentModel::lower(const search::Finalist& found) {
  auto result = lowered(found, false);
  if (!result) return refused(result.error().text());
  lowered_ = *std::move(result);
  if (lowered_->edits.empty()) return refused("the cheaper graph is exported like the original");
  return accepted();
}

Acceptance DocumentModel::judge(const Problem& problem, const search::Finalist& found, const OptimizeOptions& options,
                                const std::function<void()>& progress, OptimizeReport& report) {
  if (!gate_) return judge_here(document_, model(), problem, options, found.graph, progress, report).acceptance;
  return judge_in_runner(*gate_, document_, files_, problem, sized_->required(), {}, lowered_->edits, progress, report.gate);
}

// Tries the result with declared shapes. With them a runtime may compute in place where shapes are equal,
// but may also match fewer fusion patterns; only a run shows which.
bool DocumentModel::refine(const Problem& problem, const search::Finalist& found, const RunLimits& limits,
                           const std::function<void()>& progress, OptimizeReport& report) {
  if (!gate_ || limits.ends_gate()) return false;
  auto declared = lowered(found, true);
  if (!declared || declared->declared == 0) return false;
  GateReport trial;
  trial.time = report.gate.time;
  const Acceptance kept =
      judge_in_runner(*gate_, document_, files_, problem, sized_->required(), lowered_->edits, declared->edits, progress, trial);
  list_declared(trial, declared->declared, kept, report.gate);
  if (kept) lowered_ = *std::move(declared);
  return kept.accepted;
}

Acceptance DocumentModel::lower_with_shapes(const search::Finalist& found) {
  auto declared = lowered(found, true);
  if (!declared) return refused(declared.error().text());
  lowered_ = *std::move(declared);
  return accepted();
}

// Refuses a result with more nodes. One document node may be several operations in the search but one kernel
// of a runtime.
Acceptance DocumentModel::accept_size(const OptimizeReport& report) const {
  if (nodes_after() <= report.nodes.before) return accepted();
  return refused(fmt::format("the result has {} nodes instead of {}, and was not run", nodes_after(), report.nodes.before));
}

Acceptance DocumentModel::accept_gain(const OptimizeReport& report, std::span<const Simplification> simplifications) const {
  return above_noise(report, simplifications);
}

std::string DocumentModel::why_not_run(const OptimizeOptions& options) const { return api::why_not_run(options, "model"); }

void DocumentModel::count_nodes(const search::Finalist& /*found*/, std::span<const Simplification> /*simplifications*/,
                                OptimizeReport& report) const {
  report.nodes.kept = owned_ ? count_kept(first_, document_, lowered_->edits[0]) : lowered_->kept_nodes;
  report.nodes.merged = lowered_->merged_nodes;
  report.nodes.after = nodes_after();
}

std::unique_ptr<Model> DocumentModel::next(const RunLimits& limits) {
  if (document_.bytes().size() + constant_bytes(*lowered_) > most_bytes_of_copies(limits)) return nullptr;
  auto bytes = onnx_io::write_bytes(document_, lowered_->edits);
  if (!bytes) return nullptr;
  auto written = Document::parse(*std::move(bytes), first_.origin());
  if (!written) return nullptr;
  auto edited = std::make_unique<const Document>(*std::move(written));
  return std::unique_ptr<Model>(new DocumentModel(std::move(edited), first_, Files{{}, files_.output}));
}

}  // namespace xflow::api
