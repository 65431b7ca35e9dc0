#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "src/kernels/device.h"
#include "src/support/printable.h"
#include "xflow/optimize.h"

namespace xflow {
namespace {

std::string time_text(double nanoseconds) { return cost::to_string(cost::Nanoseconds{nanoseconds}); }

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// The rows of a report that say how whole models were run.
template <typename Line>
void describe(const OptimizeReport::EndToEnd& run, const Line& line) {
  if (!run.run) {
    if (!run.reason.empty()) line("not run", run.reason);
    return;
  }
  for (const OptimizeReport::EndToEnd::Comparison& c : run.comparisons) {
    if (!c.failure.empty()) {
      line("run", fmt::format("{} at {}", c.failure, c.sizes));
      continue;
    }
    line("run", fmt::format("{} -> {} ({:.3f} of the original [{:.3f}, {:.3f}]) at {}", time_text(c.original_nanoseconds),
                            time_text(c.result_nanoseconds), c.ratio, c.low, c.high, c.sizes));
    const auto counts = [&](const OptimizeReport::EndToEnd::Times& times) {
      return fmt::format("faster in {} of {} pairs, slower in {}, sign test {:.2g}", times.faster, c.pairs, times.slower, times.chance);
    };
    line("", fmt::format("{}: {}, {}", counts(c), c.verdict, c.stop_reason));
    if (c.processor) {
      line("",
           fmt::format("by processor time {} -> {} ({:.3f} of the original [{:.3f}, {:.3f}])", time_text(c.processor->original_nanoseconds),
                       time_text(c.processor->result_nanoseconds), c.processor->ratio, c.processor->low, c.processor->high));
      line("", counts(*c.processor));
    }
    if (!c.again.empty())
      line("", fmt::format("of these with both set up anew: {:.3f} of the original{}", fmt::join(c.again, ", "),
                           c.processor ? fmt::format(", {:.3f} of its processor time", fmt::join(c.processor->again, ", ")) : ""));
  }
  for (const std::string& later : run.later) line("", "searched again: " + later);
  if (!run.declared.empty()) line("", "shapes of values declared: " + run.declared);
  for (const std::string& other : run.others) line("", "another result: " + other);
  if (run.share_not_run > 0)
    line("", fmt::format("{:.2g} % of the operations could not be run here: what is between them was, on values drawn for it",
                         100 * run.share_not_run));
  line("", fmt::format("{}, {}; {:.1f} s", run.device, run.clock, run.seconds));
}

nlohmann::ordered_json json_of(const OptimizeReport::EndToEnd::Times& times) {
  return {{"faster", times.faster},
          {"slower", times.slower},
          {"ratio", times.ratio},
          {"low", times.low},
          {"high", times.high},
          {"sign_test", times.chance},
          {"again", times.again},
          {"original_nanoseconds", times.original_nanoseconds},
          {"result_nanoseconds", times.result_nanoseconds}};
}

nlohmann::ordered_json json_of(const OptimizeReport::EndToEnd& run) {
  nlohmann::ordered_json json = {{"run", run.run}, {"reason", run.reason}, {"device", run.device}, {"clock", run.clock}};
  json["comparisons"] = nlohmann::ordered_json::array();
  for (const OptimizeReport::EndToEnd::Comparison& c : run.comparisons) {
    nlohmann::ordered_json comparison = {{"sizes", c.sizes}, {"verdict", c.verdict}, {"pairs", c.pairs}, {"repeats", c.repeats}};
    comparison.update(json_of(c));
    if (c.processor) comparison["processor"] = json_of(*c.processor);
    comparison["stop_reason"] = c.stop_reason;
    comparison["failure"] = c.failure;
    json["comparisons"].push_back(std::move(comparison));
  }
  json["later"] = run.later;
  json["declared"] = run.declared;
  json["others"] = run.others;
  json["share_not_run"] = run.share_not_run;
  json["seconds"] = run.seconds;
  return json;
}

std::string text_of(const OptimizeReport::Smaller& smaller) {
  const std::string removed =
      fmt::format("{} of {} nodes{}", smaller.nodes, smaller.nodes_before,
                  smaller.bytes > 0 ? fmt::format(" and {} of constants", bytes_text(smaller.bytes)) : std::string());
  if (smaller.written) return "removed " + removed;
  if (smaller.reason.empty()) return "--accept smaller would remove " + removed;
  return fmt::format("did not remove {}: {}", removed, smaller.reason);
}

std::string text_of(const OptimizeReport::Body& body) {
  std::string text =
      fmt::format("{}, {} run{}: {} -> {} for one, {} -> {} nodes", body.place, body.runs, body.runs == 1 ? "" : "s",
                  time_text(body.before_nanoseconds), time_text(body.after_nanoseconds), body.nodes_before, body.nodes_after);
  for (const std::string& run : body.run) text += ", " + run;
  return text;
}

double ratio(double after, double before) { return before > 0 ? after / before : 1; }

}  // namespace

std::string OptimizeProgress::to_text() const {
  return fmt::format("{} {:.0f} s, {:.0f} s left, {} graphs, {} -> {}", phase, seconds, seconds_left, states,
                     time_text(original_nanoseconds), time_text(best_nanoseconds));
}

std::string OptimizeReport::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<12}{}\n", label, onnx_io::printable(value));
  };
  const std::string because = refused_sizes.empty() ? "" : fmt::format(", as the model does not take 128 ({})", refused_sizes);
  for (const std::string& sizes : assumed_sizes)
    line("sizes", fmt::format("{} assumed for costs and runs{}; give others with --shape", sizes, because));
  for (const std::string& sizes : assumed_inner_sizes)
    line("sizes", sizes + " assumed for costs and runs; nothing tells them before a run");
  for (const std::string& contradiction : contradictions) line("warning", contradiction + ": no rewrite relies on it");
  line("device", device);
  line("predicted", fmt::format("{} -> {} ({:.3f} of the original)", time_text(before_nanoseconds), time_text(after_nanoseconds),
                                ratio(after_nanoseconds, before_nanoseconds)));
  line("nodes", fmt::format("{} -> {}, {} of them as they were{}", nodes_before, nodes_after, nodes_kept,
                            nodes_merged > 0 ? fmt::format(", {} merged with an equal one", nodes_merged) : ""));
  line("constants", fmt::format("{} -> {}", bytes_text(constant_bytes_before), bytes_text(constant_bytes_after)));
  for (const std::string& reason : opaque) line("opaque", reason);
  line("search", fmt::format("{} graphs costed, {} expanded, {}", states, expanded, stop_reason));
  if (kernels.recorded + kernels.modelled > 0) {
    line("kernels", fmt::format("{} recorded in the profile, {} modelled", kernels.recorded, kernels.modelled));
  } else {
    line("kernels", fmt::format("{} measured in {:.1f} s, {} known", kernels.measured, kernels.seconds, kernels.known));
  }
  if (kernels.refused > 0) line("", fmt::format("{} of them cannot run there: the search does without", kernels.refused));
  if (kernels.failed > 0) {
    line("warning", fmt::format("{} could not be timed for now, which the next run tries again: {}",
                                kernels.failed == 1 ? "1 kernel" : fmt::format("{} kernels", kernels.failed), kernels.failure));
  }
  if (kernels.device_bytes > 0) line("", fmt::format("{} of the device's memory were in use at most", bytes_text(kernels.device_bytes)));
  if (kernels.outliers > 0) {
    line("", fmt::format("{} of {} samples were outliers (interrupted, or half as long again as the median)", kernels.outliers,
                         kernels.samples));
  }
  if (kernels.disturbed > 0) {
    line("", fmt::format("{} of them timed on a disturbed machine, {} of these measured again", kernels.disturbed, kernels.again));
  }
  if (kernels.provisional > 0) {
    line("warning",
         fmt::format("the machine was disturbed while {} of {} kernels were timed: their times may be too long, and the next run "
                     "measures them again",
                     kernels.provisional, kernels.measured + kernels.known));
  }
  if (!steps.empty()) {
    text += fmt::format("\n{:<44} {:>8} {:>12}\n", "rule", "applied", "gain");
    struct Row {
      std::string rule;
      std::uint64_t applied = 0;
      double gain = 0;
    };
    std::vector<Row> rows;
    for (const Step& step : steps) {
      auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.rule == step.rule; });
      if (row == rows.end()) row = rows.insert(rows.end(), Row{step.rule, 0, 0});
      ++row->applied;
      row->gain += step.gain_nanoseconds;
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.gain > b.gain; });
    for (const Row& row : rows) {
      const auto count = std::find_if(rules.begin(), rules.end(), [&](const RuleCount& c) { return c.rule == row.rule; });
      const std::string numbers = count == rules.end() || count->numbers.empty() ? "" : "  " + count->numbers;
      text += fmt::format("{:<44} {:>8} {:>12}{}\n", row.rule, row.applied, row.gain < 0 ? "-" + time_text(-row.gain) : time_text(row.gain),
                          numbers);
    }
    text += '\n';
  }
  if (!regions.empty()) {
    double worst = 0;
    std::uint64_t checked = 0;
    std::uint64_t values = 0;
    for (const Region& region : regions) {
      worst = std::max(worst, region.error);
      checked += region.checked_values;
      values += region.values;
    }
    const std::string share = checked < values ? fmt::format("{} of {} values", checked, values) : fmt::format("{} values", checked);
    line("checked", fmt::format("{} rewritten region{}, {}, largest relative error {:.1e}", regions.size(), regions.size() == 1 ? "" : "s",
                                share, worst));
    for (const std::string& sizes : checked_sizes) line("", "at " + sizes);
    for (const std::string& sizes : skipped_sizes) line("", "not at " + sizes);
  }
  for (const Withdrawn& rewrite : withdrawn) {
    const std::string at = rewrite.where.empty() ? "" : " at " + rewrite.where;
    const std::string value = rewrite.value.empty() ? "" : fmt::format(", whose value '{}'", rewrite.value);
    line("taken back",
         fmt::format("{}{}{} does not agree with the original: {}", rewrite.rule, at, value.empty() ? ", which" : value, rewrite.message));
  }
  describe(end_to_end, line);
  std::map<std::string, std::size_t> left;
  for (const Body& body : bodies) {
    if (body.improved) {
      line("body", text_of(body));
    } else {
      ++left[body.reason];
    }
  }
  for (const auto& [why, count] : left) line("bodies", fmt::format("{} as {}: {}", count, count == 1 ? "it was" : "they were", why));
  if (smaller.nodes_before > 0) line("clean-ups", text_of(smaller));
  if (smaller.nodes_before == 0 && !smaller.reason.empty()) line("clean-ups", smaller.reason);
  line("result", improved ? smaller.written && steps.empty() ? "a smaller model" : "a cheaper model" : "the original model: " + reason);
  line("time", fmt::format("{:.1f} s", seconds));
  return text;
}

std::string OptimizeReport::to_json() const {
  nlohmann::ordered_json json;
  json["improved"] = improved;
  json["reason"] = reason;
  json["device"] = device;
  json["assumed_sizes"] = assumed_sizes;
  json["refused_sizes"] = refused_sizes;
  json["assumed_inner_sizes"] = assumed_inner_sizes;
  json["contradictions"] = contradictions;
  json["predicted_nanoseconds"] = {{"before", before_nanoseconds}, {"after", after_nanoseconds}};
  json["search"] = {{"states", states}, {"expanded", expanded}, {"stop_reason", stop_reason}};
  json["kernels"] = {{"measured", kernels.measured},       {"known", kernels.known},
                     {"disturbed", kernels.disturbed},     {"measured_again", kernels.again},
                     {"provisional", kernels.provisional}, {"seconds", kernels.seconds},
                     {"samples", kernels.samples},         {"outliers", kernels.outliers},
                     {"recorded", kernels.recorded},       {"modelled", kernels.modelled},
                     {"refused", kernels.refused},         {"failed", kernels.failed},
                     {"failure", kernels.failure},         {"device_bytes", kernels.device_bytes}};
  json["nodes"] = {{"before", nodes_before}, {"after", nodes_after}, {"kept", nodes_kept}, {"merged", nodes_merged}};
  json["constant_bytes"] = {{"before", constant_bytes_before}, {"after", constant_bytes_after}};
  json["opaque"] = opaque;
  json["steps"] = nlohmann::ordered_json::array();
  for (const Step& step : steps)
    json["steps"].push_back({{"rule", step.rule}, {"where", step.where}, {"gain_nanoseconds", step.gain_nanoseconds}});
  json["rules"] = nlohmann::ordered_json::array();
  for (const RuleCount& count : rules)
    json["rules"].push_back({{"rule", count.rule},
                             {"matched", count.matched},
                             {"improved", count.improved},
                             {"applied", count.applied},
                             {"numbers", count.numbers}});
  json["regions"] = nlohmann::ordered_json::array();
  for (const Region& region : regions)
    json["regions"].push_back({{"value", region.value},
                               {"agrees", region.agrees},
                               {"message", region.message},
                               {"checked_values", region.checked_values},
                               {"values", region.values},
                               {"error", region.error}});
  json["withdrawn"] = nlohmann::ordered_json::array();
  for (const Withdrawn& rewrite : withdrawn)
    json["withdrawn"].push_back({{"rule", rewrite.rule}, {"where", rewrite.where}, {"value", rewrite.value}, {"message", rewrite.message}});
  json["checked_sizes"] = checked_sizes;
  json["skipped_sizes"] = skipped_sizes;
  json["end_to_end"] = json_of(end_to_end);
  json["bodies"] = nlohmann::ordered_json::array();
  for (const Body& body : bodies)
    json["bodies"].push_back({{"place", body.place},
                              {"runs", body.runs},
                              {"predicted_nanoseconds", {{"before", body.before_nanoseconds}, {"after", body.after_nanoseconds}}},
                              {"nodes", {{"before", body.nodes_before}, {"after", body.nodes_after}}},
                              {"improved", body.improved},
                              {"reason", body.reason},
                              {"run", body.run}});
  json["smaller"] = {{"nodes", smaller.nodes},
                     {"nodes_before", smaller.nodes_before},
                     {"bytes", smaller.bytes},
                     {"written", smaller.written},
                     {"reason", smaller.reason}};
  json["seconds"] = seconds;
  // Names in a model may be any bytes; what is no UTF-8 is shown as a replacement character.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace xflow
