#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "src/report/report_text.h"
#include "src/report/trace_json.h"
#include "src/support/printable.h"
#include "xflow/optimize.h"

namespace xflow {
namespace {

nlohmann::ordered_json json_of(const GapReport& gap, Nanoseconds time) {
  nlohmann::ordered_json json = {{"reason", gap.reason}, {"above", nullptr}};
  if (const auto above = gap.above(time)) json["above"] = *above;
  if (!gap.reason.empty()) return json;
  json["lower_bound_nanoseconds"] = gap.lower_bound.count();
  json["body_nanoseconds"] = gap.body_time.count();
  json["parts"] = gap.parts;
  json["open_parts"] = gap.open_parts;
  json["open_nanoseconds"] = gap.open_time.count();
  json["states"] = gap.states;
  return json;
}

// The rows of a report about the runs of whole models.
template <typename Line>
void describe(const GateReport& run, const Line& line) {
  if (!run.run) {
    if (!run.reason.empty()) line("not run", run.reason);
    return;
  }
  for (const GateComparison& c : run.comparisons) {
    if (c.verdict == GateVerdict::failed) {
      line("run", fmt::format("{} at {}", c.failure, c.sizes));
      continue;
    }
    line("run", fmt::format("{} -> {} ({:.3f} of the original [{:.3f}, {:.3f}]) at {}", time_text(c.original), time_text(c.result), c.ratio,
                            c.low, c.high, c.sizes));
    const auto counts = [&](const PairedTimes& times) {
      return fmt::format("faster in {} of {} pairs, slower in {}, sign test {:.2g}", times.faster, c.pairs, times.slower, times.p_value);
    };
    line("", fmt::format("{}: {}, {}", counts(c), to_string(c.verdict), to_string(c.stop_reason)));
    if (c.processor) {
      line("", fmt::format("by processor time {} -> {} ({:.3f} of the original [{:.3f}, {:.3f}])", time_text(c.processor->original),
                           time_text(c.processor->result), c.processor->ratio, c.processor->low, c.processor->high));
      line("", counts(*c.processor));
    }
    if (!c.confirmations.empty())
      line("", fmt::format("confirmed with both set up again: {:.3f} of the original{}", fmt::join(c.confirmations, ", "),
                           c.processor ? fmt::format(", {:.3f} of its processor time", fmt::join(c.processor->confirmations, ", ")) : ""));
  }
  for (const std::string& later : run.later) line("", "searched again: " + later);
  if (!run.declared.empty()) line("", "shapes of values declared: " + run.declared);
  for (const std::string& other : run.others) line("", "rejected result: " + other);
  if (run.share_not_run > 0)
    line("", fmt::format("{:.2g} % of the operations could not run here; the parts between them ran on random values",
                         100 * run.share_not_run));
  line("", fmt::format("{}, {}; {:.1f} s", run.device, to_string(run.clock), run.time.count()));
}

nlohmann::ordered_json json_of(const PairedTimes& times) {
  return {{"faster", times.faster},
          {"slower", times.slower},
          {"ratio", times.ratio},
          {"low", times.low},
          {"high", times.high},
          {"sign_test", times.p_value},
          {"again", times.confirmations},
          {"original_nanoseconds", times.original.count()},
          {"result_nanoseconds", times.result.count()}};
}

nlohmann::ordered_json json_of(const GateReport& run) {
  nlohmann::ordered_json json = {
      {"run", run.run}, {"reason", run.reason}, {"device", run.device}, {"clock", run.run ? to_string(run.clock) : ""}};
  json["comparisons"] = nlohmann::ordered_json::array();
  for (const GateComparison& c : run.comparisons) {
    nlohmann::ordered_json comparison = {{"sizes", c.sizes}, {"verdict", to_string(c.verdict)}, {"pairs", c.pairs}, {"repeats", c.repeats}};
    comparison.update(json_of(c));
    if (c.processor) comparison["processor"] = json_of(*c.processor);
    comparison["stop_reason"] = to_string(c.stop_reason);
    comparison["failure"] = c.failure;
    json["comparisons"].push_back(std::move(comparison));
  }
  json["later"] = run.later;
  json["declared"] = run.declared;
  json["others"] = run.others;
  json["share_not_run"] = run.share_not_run;
  json["seconds"] = run.time.count();
  return json;
}

// The rows about the sizes that costs and runs assume.
template <typename Line>
void describe(const SizesReport& report, const Line& line) {
  const std::string because = report.refused.empty() ? "" : fmt::format(", because the model does not accept 128 ({})", report.refused);
  for (const std::string& assumed : report.assumed)
    line("sizes", fmt::format("{} assumed for costs and runs{}; give others with option 'shapes'", assumed, because));
  for (const std::string& assumed : report.assumed_inner)
    line("sizes", assumed + " assumed for costs and runs; they are not known before a run");
  for (const std::string& contradiction : report.contradictions) line("warning", contradiction + ": no rewrite relies on it");
}

// The rows about the timing of kernels.
template <typename Line>
void describe(const KernelReport& report, const Line& line) {
  if (report.recorded + report.modelled > 0) {
    line("kernels", fmt::format("{} recorded in the profile, {} modelled", report.recorded, report.modelled));
  } else {
    line("kernels", timed_kernels(report));
  }
  if (report.refused > 0) line("", fmt::format("{} of them cannot run there and are not used", report.refused));
  if (report.failed > 0) {
    line("warning", fmt::format("{} could not be timed, and the next run tries again: {}",
                                report.failed == 1 ? "1 kernel" : fmt::format("{} kernels", report.failed), report.failure));
  }
  if (report.device_bytes > 0) line("", fmt::format("at most {} of the device's memory in use", bytes_text(report.device_bytes)));
  if (report.outliers > 0) {
    line("",
         fmt::format("{} of {} samples were outliers (interrupted, or 1.5 times as long as the median)", report.outliers, report.samples));
  }
  if (report.with_interference > 0) {
    line("", fmt::format("{} of them timed under interference, {} measured again", report.with_interference, report.timed_again));
  }
  if (report.provisional > 0) {
    line("warning",
         fmt::format("{} of {} kernels were timed under interference: their times may be too long, and the next run measures them again",
                     report.provisional, report.measured + report.known));
  }
}

// The rows about the checks of rewritten regions.
template <typename Line>
void describe(const RegionsReport& report, const Line& line) {
  if (!report.checked.empty()) {
    double worst = 0;
    std::uint64_t checked = 0;
    std::uint64_t values = 0;
    for (const CheckedRegion& region : report.checked) {
      worst = std::max(worst, region.error);
      checked += region.checked_values;
      values += region.values;
    }
    const std::string share = checked < values ? fmt::format("{} of {} values", checked, values) : fmt::format("{} values", checked);
    line("checked", fmt::format("{} rewritten region{}, {}, largest relative error {:.1e}", report.checked.size(),
                                report.checked.size() == 1 ? "" : "s", share, worst));
    for (const std::string& at : report.sizes) line("", "at " + at);
    for (const std::string& at : report.skipped_sizes) line("", "not at " + at);
  }
  for (const WithdrawnRewrite& rewrite : report.withdrawn) {
    const std::string at = rewrite.where.empty() ? "" : " at " + rewrite.where;
    const std::string value = rewrite.value.empty() ? "" : fmt::format(", whose value '{}'", rewrite.value);
    line("taken back",
         fmt::format("{}{}{} does not agree with the original: {}", rewrite.rule, at, value.empty() ? ", which" : value, rewrite.message));
  }
}

template <typename Line>
void describe(const std::vector<BodyReport>& bodies, const Line& line) {
  std::map<std::string, std::size_t> left;
  for (const BodyReport& body : bodies) {
    if (body.improved) {
      line("body", text_of(body));
    } else {
      ++left[body.reason];
    }
  }
  for (const auto& [why, count] : left) line("bodies", fmt::format("{} unchanged: {}", count, why));
}

// The table of the rules of the steps, sorted by gain, largest first. Rewrites of a trace have no gains.
std::string rule_table(const SearchReport& search, bool has_gains) {
  std::string text = fmt::format("\n{:<44} {:>8}{}\n", "rule", "applied", has_gains ? fmt::format(" {:>12}", "gain") : "");
  struct Row {
    std::string rule;
    std::uint64_t applied = 0;
    Nanoseconds gain{};
  };
  std::vector<Row> rows;
  for (const RewriteStep& step : search.steps) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.rule == step.rule; });
    if (row == rows.end()) row = rows.insert(rows.end(), Row{step.rule, 0, {}});
    ++row->applied;
    row->gain += step.gain;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.gain > b.gain; });
  for (const Row& row : rows) {
    const auto count = std::find_if(search.rules.begin(), search.rules.end(), [&](const RuleCount& c) { return c.rule == row.rule; });
    const std::string numbers = count == search.rules.end() || !count->float_class ? "" : "  " + numbers_of(*count);
    text +=
        fmt::format("{:<44} {:>8}{}{}\n", row.rule, row.applied, has_gains ? fmt::format(" {:>12}", signed_time(row.gain)) : "", numbers);
  }
  text += '\n';
  return text;
}

// The rewritten parts with their gains, where prices are modelled; the surest first.
std::string gain_table(const SearchReport& search) {
  if (std::ranges::none_of(search.gains, [](const PartGain& gain) { return gain.modelled > 0; })) return "";
  std::string text = fmt::format("{:<44} {:>12} {:>26} {:>8}  {}\n", "part", "gain", "with 90 % probability", "sure", "modelled");
  for (const PartGain& gain : search.gains) {
    std::string name = gain.steps.empty() ? "other kernels" : search.steps[gain.steps[0]].rule;
    if (gain.steps.size() > 1) name += fmt::format(" and {} more", gain.steps.size() - 1);
    const std::string interval = fmt::format("{} to {}", signed_time(gain.low), signed_time(gain.high));
    text += fmt::format("{:<44} {:>12} {:>26} {:>8}  {} of {}\n", name, signed_time(gain.time.before - gain.time.after), interval,
                        percent(gain.sureness), gain.modelled, counted(gain.kernels, "kernel"));
  }
  return text + '\n';
}

// The operators whose number changed.
std::string operator_table(const std::vector<OperatorChange>& operators) {
  std::string rows;
  for (const OperatorChange& change : operators) {
    if (change.before != change.after)
      rows += fmt::format("{:<44} {:>8} {:>12}\n", onnx_io::printable(change.op), change.before, change.after);
  }
  return rows.empty() ? "" : fmt::format("{:<44} {:>8} {:>12}\n{}\n", "operator", "before", "after", rows);
}

// "29.8 s: search 5.0 s, kernels 16.5 s, checks 2.2 s, runs 4.1 s"; the rest is reading and writing.
std::string time_line(const OptimizeReport& report) {
  std::string text = fmt::format("{:.1f} s", report.time.count());
  if (report.replayed) return text;
  text += fmt::format(": search {:.1f} s, kernels {:.1f} s, checks {:.1f} s", report.search.time.count(), report.kernels.time.count(),
                      report.regions.time.count());
  return report.gate.run ? text + fmt::format(", runs {:.1f} s", report.gate.time.count()) : text;
}

double ratio(const PredictedTimes& times) { return times.before > Nanoseconds(0) ? times.after / times.before : 1; }

}  // namespace

std::string OptimizeProgress::to_text() const {
  const double rate = time.count() > 0 ? static_cast<double>(states) / time.count() : 0;
  return fmt::format("{} {:.0f} s, {:.0f} s left, {} graphs ({:.0f}/s), {} -> {}", to_string(phase), time.count(), time_left.count(),
                     states, rate, time_text(predicted.before), time_text(predicted.after));
}

std::string OptimizeReport::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<12}{}\n", label, onnx_io::printable(value));
  };
  describe(sizes, line);
  if (!replayed) {
    line("device", device);
    line("predicted",
         fmt::format("{} -> {} ({:.3f} of the original)", time_text(predicted.before), time_text(predicted.after), ratio(predicted)));
  }
  line("nodes", fmt::format("{} -> {}, {} unchanged{}", nodes.before, nodes.after, nodes.kept,
                            nodes.merged > 0 ? fmt::format(", {} merged with an equal one", nodes.merged) : ""));
  if (parameters.before > 0) line("parameters", fmt::format("{} -> {}", parameters.before, parameters.after));
  if (!replayed || constant_bytes.before > 0)
    line("constants", fmt::format("{} -> {}", bytes_text(constant_bytes.before), bytes_text(constant_bytes.after)));
  if (file_bytes.after > 0) line("file", fmt::format("{} -> {}", bytes_text(file_bytes.before), bytes_text(file_bytes.after)));
  for (const std::string& reason : opaque) line("opaque", reason);
  if (replayed) {
    line("trace", fmt::format("{} rewrites in {} searches were applied", search.steps.size(), trace.searches.size()));
  } else {
    line("search", fmt::format("{} graphs costed, {} expanded, {}", search.states, search.expanded, stop_text(search)));
    if (search.gap) line("gap", text_of(*search.gap, improved ? predicted.after : predicted.before));
    describe(kernels, line);
  }
  for (const UnsureRewrite& rewrite : search.unsure) line("unsure", text_of(rewrite));
  if (!search.steps.empty()) text += rule_table(search, !replayed) + gain_table(search);
  if (const std::string table = operator_table(operators); !table.empty()) text += (search.steps.empty() ? "\n" : "") + table;
  describe(regions, line);
  describe(gate, line);
  describe(bodies, line);
  if (clean_ups.nodes_before > 0) line("clean-ups", text_of(clean_ups));
  if (clean_ups.nodes_before == 0 && !clean_ups.reason.empty()) line("clean-ups", clean_ups.reason);
  line("result", result_text(*this));
  line("time", time_line(*this));
  return text;
}

std::optional<double> GapReport::above(Nanoseconds time) const {
  if (!reason.empty() || time > 2 * lower_bound) return std::nullopt;
  return std::max(0.0, time / lower_bound - 1);
}

namespace {

nlohmann::ordered_json json_of(const std::vector<KernelChange>& changes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const KernelChange& change : changes)
    json.push_back({{"kernel", change.kernel},
                    {"before", change.before},
                    {"after", change.after},
                    {"predicted_nanoseconds", {{"before", change.time.before.count()}, {"after", change.time.after.count()}}}});
  return json;
}

nlohmann::ordered_json json_of(const std::vector<OperatorChange>& changes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const OperatorChange& change : changes) json.push_back({{"op", change.op}, {"before", change.before}, {"after", change.after}});
  return json;
}

nlohmann::ordered_json json_of(const std::vector<PartNode>& nodes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const PartNode& node : nodes)
    json.push_back({{"name", node.name}, {"op", node.op}, {"inputs", node.inputs}, {"outputs", node.outputs}});
  return json;
}

nlohmann::ordered_json json_of(const std::vector<RuleCount>& rules) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const RuleCount& count : rules)
    json.push_back({{"rule", count.rule},
                    {"matched", count.matched},
                    {"improved", count.improved},
                    {"applied", count.applied},
                    {"numbers", numbers_of(count)},
                    {"equation", count.equation}});
  return json;
}

nlohmann::ordered_json json_of(const std::vector<PartGain>& gains) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const PartGain& gain : gains)
    json.push_back({{"steps", gain.steps},
                    {"predicted_nanoseconds", {{"before", gain.time.before.count()}, {"after", gain.time.after.count()}}},
                    {"low_nanoseconds", gain.low.count()},
                    {"high_nanoseconds", gain.high.count()},
                    {"sureness", gain.sureness},
                    {"kernels", gain.kernels},
                    {"modelled", gain.modelled}});
  return json;
}

nlohmann::ordered_json json_of(const std::vector<UnsureRewrite>& rewrites) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const UnsureRewrite& rewrite : rewrites)
    json.push_back(
        {{"rule", rewrite.rule}, {"where", rewrite.where}, {"gain_nanoseconds", rewrite.gain.count()}, {"sureness", rewrite.sureness}});
  return json;
}

nlohmann::ordered_json json_of(const std::vector<RewrittenPart>& parts) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const RewrittenPart& part : parts)
    json.push_back({{"before", json_of(part.before)}, {"after", json_of(part.after)}, {"steps", part.steps}});
  return json;
}

nlohmann::ordered_json json_of(const KernelReport& kernels) {
  return {{"measured", kernels.measured},
          {"known", kernels.known},
          {"with_interference", kernels.with_interference},
          {"measured_again", kernels.timed_again},
          {"provisional", kernels.provisional},
          {"seconds", kernels.time.count()},
          {"samples", kernels.samples},
          {"outliers", kernels.outliers},
          {"recorded", kernels.recorded},
          {"modelled", kernels.modelled},
          {"left_out", kernels.left_out},
          {"refused", kernels.refused},
          {"failed", kernels.failed},
          {"failure", kernels.failure},
          {"device_bytes", kernels.device_bytes}};
}

}  // namespace

std::string OptimizeReport::to_json() const {
  nlohmann::ordered_json json;
  json["improved"] = improved;
  json["replayed"] = replayed;
  json["reason"] = reason;
  json["device"] = device;
  json["assumed_sizes"] = sizes.assumed;
  json["refused_sizes"] = sizes.refused;
  json["assumed_inner_sizes"] = sizes.assumed_inner;
  json["contradictions"] = sizes.contradictions;
  json["predicted_nanoseconds"] = {{"before", predicted.before.count()}, {"after", predicted.after.count()}};
  json["search"] = {{"states", search.states}, {"expanded", search.expanded}, {"stop_reason", stop_text(search)}};
  json["search"]["seconds"] = search.time.count();
  json["search"]["best"] = nlohmann::ordered_json::array();
  for (const BestGraph& best : search.best)
    json["search"]["best"].push_back(
        {{"seconds", best.time.count()}, {"states", best.states}, {"predicted_nanoseconds", best.predicted.count()}});
  if (search.gap) json["search"]["gap"] = json_of(*search.gap, improved ? predicted.after : predicted.before);
  json["kernels"] = json_of(kernels);
  json["kernel_changes"] = json_of(kernel_changes);
  json["file_bytes"] = {{"before", file_bytes.before}, {"after", file_bytes.after}};
  json["parameters"] = {{"before", parameters.before}, {"after", parameters.after}};
  json["nodes"] = {{"before", nodes.before}, {"after", nodes.after}, {"kept", nodes.kept}, {"merged", nodes.merged}};
  json["operators"] = json_of(operators);
  json["parts"] = json_of(parts);
  json["constant_bytes"] = {{"before", constant_bytes.before}, {"after", constant_bytes.after}};
  json["opaque"] = opaque;
  json["steps"] = nlohmann::ordered_json::array();
  for (const RewriteStep& step : search.steps)
    json["steps"].push_back({{"rule", step.rule}, {"where", step.where}, {"gain_nanoseconds", step.gain.count()}});
  json["gains"] = json_of(search.gains);
  json["unsure"] = json_of(search.unsure);
  json["rules"] = json_of(search.rules);
  json["regions"] = nlohmann::ordered_json::array();
  for (const CheckedRegion& region : regions.checked)
    json["regions"].push_back({{"value", region.value},
                               {"agrees", region.agrees},
                               {"message", region.message},
                               {"checked_values", region.checked_values},
                               {"values", region.values},
                               {"error", region.error}});
  json["withdrawn"] = nlohmann::ordered_json::array();
  for (const WithdrawnRewrite& rewrite : regions.withdrawn)
    json["withdrawn"].push_back({{"rule", rewrite.rule}, {"where", rewrite.where}, {"value", rewrite.value}, {"message", rewrite.message}});
  json["check_seconds"] = regions.time.count();
  json["checked_sizes"] = regions.sizes;
  json["skipped_sizes"] = regions.skipped_sizes;
  json["end_to_end"] = json_of(gate);
  json["bodies"] = nlohmann::ordered_json::array();
  for (const BodyReport& body : bodies)
    json["bodies"].push_back(
        {{"place", body.place},
         {"runs", body.runs},
         {"predicted_nanoseconds", {{"before", body.predicted.before.count()}, {"after", body.predicted.after.count()}}},
         {"nodes", {{"before", body.nodes_before}, {"after", body.nodes_after}}},
         {"improved", body.improved},
         {"reason", body.reason},
         {"run", body.run}});
  json["smaller"] = {{"nodes", clean_ups.nodes},
                     {"nodes_before", clean_ups.nodes_before},
                     {"bytes", clean_ups.bytes},
                     {"written", clean_ups.written},
                     {"reason", clean_ups.reason}};
  json["trace"] = json_of(trace);
  json["seconds"] = time.count();
  json["command"] = command;
  // Names in a model can be arbitrary bytes. Invalid UTF-8 becomes a replacement character.
  return onnx_io::printable_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace xflow
