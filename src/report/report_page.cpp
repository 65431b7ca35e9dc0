// The report of an optimisation as a page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/report/drawing.h"
#include "src/report/page.h"
#include "src/report/report_text.h"
#include "xflow/report.h"
#include "xflow/version.h"

namespace xflow {
namespace {

using report::Page;
using Align = Page::Align;
using Rows = std::vector<std::vector<std::string>>;
using Terms = std::vector<std::pair<std::string, std::string>>;

std::string ratio_text(Nanoseconds after, Nanoseconds before) {
  return before > Nanoseconds(0) ? fmt::format("{:.3f} of the original", after / before) : "";
}

std::string change_text(std::uint64_t before, std::uint64_t after) {
  const auto difference = static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
  return difference == 0 ? "" : fmt::format("{:+}", difference);
}

// The predicted time of the written model.
Nanoseconds time_of_result(const OptimizeReport& r) { return r.improved ? r.predicted.after : r.predicted.before; }

std::string title_of(const OptimizeReport& r) {
  std::string text = result_text(r);
  const bool is_another = r.improved || r.replayed;
  if (is_another && r.predicted.before > Nanoseconds(0))
    text += fmt::format(": {:.3f} of the predicted time", r.predicted.after / r.predicted.before);
  text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

void add_tiles(const OptimizeReport& r, Page& page) {
  std::vector<Page::Tile> tiles;
  if (!r.replayed)
    tiles.push_back({"Predicted time of a run", fmt::format("{} → {}", time_text(r.predicted.before), time_text(r.predicted.after)),
                     ratio_text(r.predicted.after, r.predicted.before)});
  if (!r.gate.comparisons.empty() && r.gate.comparisons.front().verdict != GateVerdict::failed) {
    const GateComparison& c = r.gate.comparisons.front();
    tiles.push_back({fmt::format("Measured: {}", to_string(c.verdict)), fmt::format("{} → {}", time_text(c.original), time_text(c.result)),
                     fmt::format("{:.3f} of the original [{:.3f}, {:.3f}]", c.ratio, c.low, c.high)});
  } else if (!r.replayed) {
    tiles.push_back({"Measured", "no", r.gate.reason});
  }
  tiles.push_back(
      {"Nodes", fmt::format("{} → {}", r.nodes.before, r.nodes.after), fmt::format("{} unchanged, byte for byte", r.nodes.kept)});
  tiles.push_back({"Constants", fmt::format("{} → {}", bytes_text(r.constant_bytes.before), bytes_text(r.constant_bytes.after)),
                   r.parameters.before > 0 ? fmt::format("{} → {} parameters", r.parameters.before, r.parameters.after) : ""});
  if (r.file_bytes.after > 0)
    tiles.push_back({"File", fmt::format("{} → {}", bytes_text(r.file_bytes.before), bytes_text(r.file_bytes.after))});
  if (r.search.gap) {
    const auto above = r.search.gap->above(time_of_result(r));
    tiles.push_back(
        {"Gap", above ? fmt::format("{:.1f} %", std::ceil(1000 * *above) / 10) : "no bound", text_of(*r.search.gap, time_of_result(r))});
  }
  page.tiles(tiles);
}

void add_times(const OptimizeReport& r, Page& page) {
  if (r.predicted.before <= Nanoseconds(0)) return;
  page.heading("Time of a run");
  const Nanoseconds longest = std::max(r.predicted.before, r.predicted.after);
  page.bars(std::vector<Page::Bar>{{"predicted before", time_text(r.predicted.before), r.predicted.before / longest},
                                   {"predicted after", time_text(r.predicted.after), r.predicted.after / longest}});
  for (const GateComparison& c : r.gate.comparisons) {
    if (c.verdict == GateVerdict::failed) continue;
    const Nanoseconds most = std::max({c.original, c.result, Nanoseconds(1)});
    page.paragraph(fmt::format("Measured at {}: {}, {:.3f} of the original [{:.3f}, {:.3f}] in {} pairs.", c.sizes, to_string(c.verdict),
                               c.ratio, c.low, c.high, c.pairs));
    page.bars(
        std::vector<Page::Bar>{{"original", time_text(c.original), c.original / most}, {"result", time_text(c.result), c.result / most}});
  }
}

// The predicted time of the best graph over the time of the search.
void add_search(const OptimizeReport& r, Page& page) {
  const std::vector<BestGraph>& best = r.search.best;
  if (best.size() < 2) return;
  page.heading("Best graph over the time of the search, predicted");
  const double end = std::max(r.search.time.count(), best.back().time.count());
  const Nanoseconds lowest = std::ranges::min(best, {}, &BestGraph::predicted).predicted;
  const Nanoseconds highest = std::ranges::max(best, {}, &BestGraph::predicted).predicted;
  const Nanoseconds range = std::max(highest - lowest, Nanoseconds(1e-9));
  std::vector<Page::Point> points;
  points.reserve(best.size());
  for (const BestGraph& graph : best) points.push_back({end > 0 ? graph.time.count() / end : 0, (graph.predicted - lowest) / range});
  page.curve(points, {"0 s", fmt::format("{:.1f} s", end)}, {time_text(lowest), time_text(highest)});
  page.paragraph(fmt::format("The best graph was found after {:.1f} s and {} of {} graphs.", best.back().time.count(), best.back().states,
                             r.search.states));
}

constexpr std::size_t kMostParts = 40;       // that are shown
constexpr std::size_t kMostOpen = 6;         // that are not folded
constexpr std::size_t kMostNodesDrawn = 60;  // of one side of a part

std::string title_of(const RewrittenPart& part) {
  const auto nodes = [](std::size_t count) { return fmt::format("{} node{}", count, count == 1 ? "" : "s"); };
  if (part.before.empty() && part.after.empty()) return "0 nodes";  // of a report that was changed
  const std::vector<PartNode>& named = part.before.empty() ? part.after : part.before;
  const auto telling = std::ranges::find_if(named, [](const PartNode& node) { return node.op != "Constant"; });
  const PartNode& first = telling == named.end() ? named.front() : *telling;
  const std::string name = first.name.empty() ? first.outputs.empty() ? "" : first.outputs.front() : first.name;
  return fmt::format("{} → {}, at {} ({})", nodes(part.before.size()), nodes(part.after.size()), name, first.op);
}

// What each part was and became, with the rules that were applied there.
void add_parts(const OptimizeReport& r, Page& page) {
  if (r.parts.empty()) return;
  page.heading("Rewritten parts of the main graph");
  const std::size_t shown = std::min(r.parts.size(), kMostParts);
  const auto is_drawn = [](const std::vector<PartNode>& nodes) { return !nodes.empty() && nodes.size() <= kMostNodesDrawn; };
  std::vector<std::string> graphs;
  for (std::size_t k = 0; k < shown; ++k)
    for (const auto* nodes : {&r.parts[k].before, &r.parts[k].after})
      if (is_drawn(*nodes)) graphs.push_back(report::dot_of(*nodes));
  const std::vector<std::string> pictures = report::pictures_of(graphs);
  std::size_t next = 0;
  const auto drawing = [&](const char* title, const std::vector<PartNode>& nodes) {
    Page::Drawing drawing{title, {}, nodes.empty() ? std::vector<std::string>{"nothing"} : report::lines_of(nodes)};
    if (is_drawn(nodes) && !pictures.empty()) drawing.picture = pictures[next++];
    return drawing;
  };
  for (std::size_t k = 0; k < shown; ++k) {
    const RewrittenPart& part = r.parts[k];
    page.begin_fold(title_of(part), k < kMostOpen);
    const Page::Drawing before = drawing("before", part.before);
    page.drawings(before, drawing("after", part.after));
    Terms rules;
    for (const std::size_t step : part.steps) {
      const auto rule = std::ranges::find(r.search.rules, r.search.steps[step].rule, &RuleCount::rule);
      const bool is_rule = rule != r.search.rules.end() && rule->float_class.has_value();
      rules.emplace_back(r.search.steps[step].rule,
                         is_rule ? fmt::format("{} (proved; {})", rule->equation, numbers_of(*rule)) : "built in");
    }
    if (!rules.empty()) page.terms(rules);
    page.end_fold();
  }
  if (shown < r.parts.size()) page.paragraph(fmt::format("{} more parts are in the report for programs.", r.parts.size() - shown));
}

constexpr std::size_t kMostKernels = 30;  // with bars

// The kernels with the longest times before or after, with a bar for each.
void add_kernels(const OptimizeReport& r, Page& page) {
  std::vector<KernelChange> changes = r.kernel_changes;
  if (changes.empty()) return;
  const auto longer = [](const KernelChange& change) { return std::max(change.time.before, change.time.after); };
  std::ranges::stable_sort(changes, std::greater<>(), longer);
  const Nanoseconds longest = std::max(longer(changes.front()), Nanoseconds(1));
  page.heading("Kernels, predicted");
  PredictedTimes rest;
  for (std::size_t k = 0; k < changes.size(); ++k) {
    const KernelChange& c = changes[k];
    if (k >= kMostKernels) {
      rest.before += c.time.before;
      rest.after += c.time.after;
      continue;
    }
    page.paragraph(c.kernel);
    const auto bar = [&](const char* label, std::uint64_t count, Nanoseconds time) {
      return Page::Bar{fmt::format("{}, {}×", label, count), time_text(time), time / longest};
    };
    page.bars(std::vector<Page::Bar>{bar("before", c.before, c.time.before), bar("after", c.after, c.time.after)});
  }
  if (changes.size() > kMostKernels)
    page.paragraph(
        fmt::format("{} more kernels: {} before, {} after.", changes.size() - kMostKernels, time_text(rest.before), time_text(rest.after)));
}

void add_operators(const OptimizeReport& r, Page& page) {
  if (r.operators.empty()) return;
  page.heading("Operators of the main graph");
  Rows rows;
  for (const OperatorChange& change : r.operators)
    rows.push_back(
        {change.op, fmt::format("{}", change.before), fmt::format("{}", change.after), change_text(change.before, change.after)});
  const std::vector<std::string> all = {"all", fmt::format("{}", r.nodes.before), fmt::format("{}", r.nodes.after),
                                        change_text(r.nodes.before, r.nodes.after)};
  page.table(std::vector<Page::Column>{{"operator"}, {"before", Align::right}, {"after", Align::right}, {"difference", Align::right}}, rows,
             all);
}

void add_rewrites(const OptimizeReport& r, Page& page) {
  if (r.search.steps.empty()) return;
  page.heading("Rewrites, in their order");
  page.paragraph(
      "Rules are proved for all shapes that they admit. Steps without a class of floating point are built-in simplifications. A step may "
      "cost time that a later one saves.");
  Rows rows;
  for (const RewriteStep& step : r.search.steps) {
    const auto count = std::ranges::find(r.search.rules, step.rule, &RuleCount::rule);
    const bool known = count != r.search.rules.end();
    rows.push_back(
        {step.rule, known ? count->equation : "", step.where, r.replayed ? "" : signed_time(step.gain), known ? numbers_of(*count) : ""});
  }
  page.table(std::vector<Page::Column>{{"rule"}, {"equation"}, {"where"}, {"time saved", Align::right}, {"floating point"}}, rows);
}

void add_checks(const OptimizeReport& r, Page& page) {
  if (r.regions.checked.empty() && r.regions.withdrawn.empty()) return;
  page.heading("Rewritten parts, run beside the original");
  Rows rows;
  for (const CheckedRegion& region : r.regions.checked)
    rows.push_back({region.value, region.agrees ? fmt::format("{:.1e}", region.error) : region.message,
                    region.checked_values == region.values ? fmt::format("{}", region.values)
                                                           : fmt::format("{} of {}", region.checked_values, region.values)});
  if (!rows.empty())
    page.table(std::vector<Page::Column>{{"value"}, {"largest relative error", Align::right}, {"elements", Align::right}}, rows);
  for (const std::string& sizes : r.regions.sizes) page.paragraph("At " + sizes);
  for (const std::string& sizes : r.regions.skipped_sizes) page.paragraph("Not at " + sizes);
  for (const WithdrawnRewrite& rewrite : r.regions.withdrawn)
    page.paragraph(fmt::format("Taken back: {} {}: {}", rewrite.rule, rewrite.where, rewrite.message));
}

void add_bodies(const OptimizeReport& r, Page& page) {
  if (r.bodies.empty()) return;
  page.heading("Bodies of If, Loop, Scan and functions");
  for (const BodyReport& body : r.bodies) page.paragraph(text_of(body) + (body.improved ? "" : "; unchanged: " + body.reason));
}

// The gains of the rewritten parts, the surest first.
void add_gains(const OptimizeReport& r, Page& page) {
  if (r.search.gains.empty()) return;
  Rows rows;
  for (const PartGain& gain : r.search.gains) {
    std::string rules;
    for (const std::size_t step : gain.steps) rules += (rules.empty() ? "" : ", ") + r.search.steps[step].rule;
    rows.push_back({rules.empty() ? "other kernels" : rules, signed_time(gain.time.before - gain.time.after), signed_time(gain.low),
                    signed_time(gain.high), percent(gain.sureness), fmt::format("{} of {}", gain.modelled, gain.kernels)});
  }
  page.heading("How sure the gains are");
  page.table(std::vector<Page::Column>{{"rewrites of a part"},
                                       {"predicted gain", Align::right},
                                       {"from", Align::right},
                                       {"to (90 %)", Align::right},
                                       {"probability of a gain", Align::right},
                                       {"modelled prices", Align::right}},
             rows);
}

void add_left_alone(const OptimizeReport& r, Page& page) {
  Terms terms;
  const auto add = [&](const char* term, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) terms.emplace_back(term, text);
  };
  add("opaque", r.opaque);
  add("contradiction", r.sizes.contradictions);
  add("rejected result", r.gate.others);
  for (const UnsureRewrite& rewrite : r.search.unsure) terms.emplace_back("unsure", text_of(rewrite));
  for (const GateComparison& c : r.gate.comparisons)
    if (c.verdict == GateVerdict::failed) terms.emplace_back("not run", fmt::format("{} at {}", c.failure, c.sizes));
  if (r.clean_ups.nodes_before > 0) terms.emplace_back("clean-ups", text_of(r.clean_ups));
  if (r.kernels.refused > 0) terms.emplace_back("kernels", fmt::format("{} cannot run on the device", r.kernels.refused));
  if (r.kernels.failed > 0) terms.emplace_back("kernels", fmt::format("{} could not be timed: {}", r.kernels.failed, r.kernels.failure));
  if (terms.empty()) return;
  page.heading("Left alone, and why");
  page.terms(terms);
}

// All rules that matched, also those that are not in the result.
void add_rules(const OptimizeReport& r, Page& page) {
  Rows rows;
  for (const RuleCount& count : r.search.rules)
    rows.push_back({count.rule, fmt::format("{}", count.matched), fmt::format("{}", count.improved), fmt::format("{}", count.applied)});
  if (rows.empty()) return;
  page.heading("Rules that matched");
  page.table(
      std::vector<Page::Column>{
          {"rule"}, {"matched", Align::right}, {"saved time at first", Align::right}, {"in the result", Align::right}},
      rows);
}

void add_method(const OptimizeReport& r, Page& page) {
  page.heading("How it was found and measured");
  Terms terms;
  if (!r.device.empty()) terms.emplace_back("device", r.device);
  if (r.gate.run) terms.emplace_back("runs", fmt::format("{}, {}, {:.1f} s", r.gate.device, to_string(r.gate.clock), r.gate.time.count()));
  if (r.replayed) {
    terms.emplace_back("trace", fmt::format("{} rewrites of a trace; nothing was searched or timed", r.search.steps.size()));
  } else {
    terms.emplace_back("search",
                       fmt::format("{} graphs costed, {} expanded, {:.1f} s", r.search.states, r.search.expanded, r.search.time.count()));
    if (r.search.stop_reason) terms.emplace_back("end of the search", stop_text(r.search));
    if (r.search.gap) terms.emplace_back("gap", text_of(*r.search.gap, time_of_result(r)));
    const bool profile = r.kernels.recorded + r.kernels.modelled > 0;
    terms.emplace_back("kernels", profile ? fmt::format("{} recorded in the profile, {} modelled", r.kernels.recorded, r.kernels.modelled)
                                          : timed_kernels(r.kernels));
    if (r.kernels.with_interference > 0)
      terms.emplace_back("interference", fmt::format("{} kernels were timed under interference, {} of them again, {} may be too long",
                                                     r.kernels.with_interference, r.kernels.timed_again, r.kernels.provisional));
  }
  for (const std::string& size : r.sizes.assumed) terms.emplace_back("assumed size", size);
  for (const std::string& size : r.sizes.assumed_inner) terms.emplace_back("assumed size", size);
  if (!r.gate.declared.empty()) terms.emplace_back("declared shapes", r.gate.declared);
  for (const std::string& later : r.gate.later) terms.emplace_back("searched again", later);
  terms.emplace_back("whole time", fmt::format("{:.1f} s, checks {:.1f} s", r.time.count(), r.regions.time.count()));
  terms.emplace_back("numbers", to_string(r.trace.numerics));
  if (!r.trace.model.empty()) terms.emplace_back("hash of the model", r.trace.model);
  terms.emplace_back("version", "xflow " XFLOW_VERSION);
  if (!r.command.empty()) terms.emplace_back("command", r.command);
  page.terms(terms);
}

}  // namespace

std::string OptimizeReport::to_html() const {
  Page page(title_of(*this), "What xflow did to a model: proved rewrites, predicted and measured times.");
  add_tiles(*this, page);
  add_times(*this, page);
  add_operators(*this, page);
  add_parts(*this, page);
  add_rewrites(*this, page);
  add_checks(*this, page);
  add_bodies(*this, page);
  add_gains(*this, page);
  add_left_alone(*this, page);
  add_search(*this, page);
  add_kernels(*this, page);
  add_rules(*this, page);
  add_method(*this, page);
  return std::move(page).to_string();
}

}  // namespace xflow
