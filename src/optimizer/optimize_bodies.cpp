#include "src/optimizer/optimize_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "src/devices/device_costs.h"
#include "src/onnx/document/body_document.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lift/lift_operator.h"
#include "src/optimizer/inner_graphs.h"
#include "src/optimizer/rounds.h"

namespace xflow::api {
namespace {

using onnx_io::Document;
using onnx_io::GraphId;
using onnx_io::KnownValues;
using onnx_io::Node;

// The known value of a constant with one element.
std::optional<std::int64_t> number_of(const KnownValues& values, std::string_view name) {
  const auto found = values.find(std::string(name));
  if (found == values.end() || !found->second.constant || found->second.constant->elements() != 1) return std::nullopt;
  const auto integers = ir::integers(*found->second.constant);
  return integers ? std::optional((*integers)[0]) : std::nullopt;
}

// How often the body of a node runs in one run of the graph around it; 1 if unknown.
std::uint64_t trips(const Document& document, const Node& node, const KnownValues& around) {
  const auto positive = [](std::optional<std::int64_t> count) { return count && *count > 0 ? static_cast<std::uint64_t>(*count) : 1; };
  if (node.is("Loop") && node.inputs.size() > 1) {
    const bool goes_on = node.inputs[1].empty() || number_of(around, node.inputs[1]) == 1;
    // The body may end the loop earlier by its condition; then this count is an upper bound.
    return goes_on && !node.inputs[0].empty() ? positive(number_of(around, node.inputs[0])) : 1;
  }
  const onnx_io::Attribute* scans = node.is("Scan") ? node.find("num_scan_inputs") : nullptr;
  const auto count = scans == nullptr ? Result<std::int64_t>(fail(ErrorCode::unreadable, "no scan inputs")) : scans->integer();
  const auto version = document.opset(node.graph, "");
  constexpr std::int64_t kFirstWithoutBatch = 9;
  if (!count || *count < 1 || static_cast<std::size_t>(*count) > node.inputs.size() || version.value_or(0) < kFirstWithoutBatch) return 1;
  const onnx_io::Attribute* axes = node.find("scan_input_axes");
  const auto axis = axes == nullptr ? Result<std::vector<std::int64_t>>(std::vector<std::int64_t>{0}) : axes->integers();
  const auto input = around.find(std::string(node.inputs[node.inputs.size() - static_cast<std::size_t>(*count)]));
  if (!axis || axis->empty() || input == around.end() || !input->second.ranked) return 1;
  const auto rank = static_cast<std::int64_t>(input->second.dims.size());
  const std::int64_t at = (*axis)[0] < 0 ? (*axis)[0] + rank : (*axis)[0];
  if (at < 0 || at >= rank) return 1;
  const onnx_io::Dimension& dim = input->second.dims[static_cast<std::size_t>(at)];
  return dim.kind == onnx_io::Dimension::Kind::value ? positive(dim.value) : 1;
}

// The options of the model without its input shapes and files, which do not apply to a body.
OptimizeOptions options_of_body(const OptimizeOptions& options) {
  OptimizeOptions own = options;
  own.search.gap = false;  // the report has that of the main graph
  own.input.shapes.clear();
  own.input.files.clear();
  // A runner runs the whole model with all bodies, so a body has no gate of its own.
  if (runs_models(own.device)) own.validation.gate = false;
  return own;
}

}  // namespace

Result<OptimizedBodies> optimize_bodies(const Document& document, const OptimizeOptions& options, const RunLimits& limits,
                                        const OptimizeReport& before, const OptimizeBody& optimize) {
  OptimizedBodies result;
  InnerValues known(document);
  std::map<GraphId, std::uint64_t> runs;  // by graph, in one run of the model
  OptimizeReport used = before;
  for (const GraphId id : inner_graphs(document)) {
    if (limits.ends_search()) return result;
    const bool is_main = id == GraphId{0};
    std::optional<Document> body;
    if (is_main) {
      runs[id] = 1;
    } else {
      const KnownValues values = known.around(id);
      if (const auto owner = document.graph(id).owner; owner)
        runs[id] = runs[document.node(*owner).graph] * trips(document, document.node(*owner), values);
      auto parsed = onnx_io::body_document(document, id, values);
      if (!parsed) continue;
      body = *std::move(parsed);
    }
    ir::Arena arena;
    const Document& graph = is_main ? document : *body;
    const auto model = onnx_io::lift(graph, arena, {.infer = is_main, .stop = [&] { return limits.ends_search().has_value(); }});
    if (!model) continue;
    known.add(id, *model, arena);
    for (const Node& node : document.nodes(id))
      if (const auto* function = called_function(document, node); function != nullptr) runs[function->body] += runs[id];
    const auto own = is_main ? std::nullopt : options_of_next_round(options_of_body(options), used);
    if (!own) continue;
    auto optimized = optimize(*body, {document, id}, *own);
    XFLOW_CHECK(limits.check());
    if (!optimized) continue;
    OptimizeReport& report = optimized->report;
    used.time += report.time;
    used.kernels.time += report.kernels.time;
    used.gate.time += report.gate.time;
    std::optional<onnx_io::GraphEdit> edit;
    if (!optimized->lowered.edits.empty()) {
      auto own_edit = onnx_io::edit_of_body(document, id, std::move(optimized->lowered.edits[0]));
      if (!own_edit) {
        report.improved = false;
        report.reason = own_edit.error().text();
      } else {
        edit = *std::move(own_edit);
      }
    }
    result.bodies.push_back({describe_graph(document, id), runs[id], report.predicted, report.nodes.before, report.nodes.after,
                             report.improved, report.reason});
    if (report.improved) {
      for (const GateComparison& c : report.gate.comparisons)
        result.bodies.back().run.push_back(
            fmt::format("{:.3f} of the time of the body [{:.3f}, {:.3f}] in {} pairs", c.ratio, c.low, c.high, c.pairs));
    }
    result.reports.push_back(std::move(report));
    if (edit) {
      result.edits.push_back(*std::move(edit));
      std::ranges::move(optimized->lowered.constants, std::back_inserter(result.constants));
    }
  }
  return result;
}

void leave_bodies(const std::string& reason, OptimizedBodies& bodies) {
  bodies.edits.clear();
  bodies.constants.clear();
  for (std::size_t k = 0; k < bodies.bodies.size(); ++k) {
    BodyReport& body = bodies.bodies[k];
    if (!body.improved) continue;
    body.improved = bodies.reports[k].improved = false;
    body.reason = reason;
    body.nodes_after = body.nodes_before;
  }
}

void add_bodies(OptimizeReport& report, OptimizedBodies bodies) {
  for (std::size_t k = 0; k < bodies.bodies.size(); ++k) {
    BodyReport& body = bodies.bodies[k];
    OptimizeReport& own = bodies.reports[k];
    const auto weight = static_cast<double>(body.runs);
    // A body of an earlier round already has a report; extend it.
    const auto known = std::ranges::find(report.bodies, body.place, &BodyReport::place);
    const Nanoseconds others = report.predicted.after;
    if (known == report.bodies.end()) {
      report.predicted.before += weight * body.predicted.before;
      report.predicted.after += weight * (body.improved ? body.predicted.after : body.predicted.before);
      report.bodies.push_back(body);
    } else if (body.improved) {
      report.predicted.after += weight * (body.predicted.after - body.predicted.before);
      known->predicted.after = body.predicted.after;
      known->nodes_after = body.nodes_after;
      std::ranges::move(body.run, std::back_inserter(known->run));
      known->improved = true;
      known->reason.clear();
    }
    if (report.search.gap) {
      report.search.gap->lower_bound += report.predicted.after - others;
      report.search.gap->body_time += report.predicted.after - others;
    }
    for (RewriteStep& step : own.search.steps) step.where += ", in the " + body.place;
    for (CheckedRegion& region : own.regions.checked) region.value += ", in the " + body.place;
    add_search(report, std::move(own));
  }
}

}  // namespace xflow::api
