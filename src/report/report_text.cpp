#include "src/report/report_text.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "src/kernels/device.h"
#include "src/rules/rule.h"

namespace xflow {

std::string time_text(Nanoseconds time) { return cost::to_string(time); }

std::string signed_time(Nanoseconds time) { return time < Nanoseconds(0) ? "-" + time_text(-time) : time_text(time); }

const char* stop_text(const SearchReport& search) { return search.stop_reason ? to_string(*search.stop_reason) : ""; }

std::string numbers_of(const RuleCount& count) {
  return count.float_class ? rules::numbers_text(*count.float_class, count.float_effects) : "";
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string counted(std::size_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

std::string text_of(const GapReport& gap, Nanoseconds time) {
  if (!gap.reason.empty()) return "no bound: " + gap.reason;
  const std::string open = gap.open_parts == 0 ? ""
                                               : fmt::format("{} of {} parts, which take {}, were not searched whole", gap.open_parts,
                                                             gap.parts, time_text(gap.open_time));
  const std::optional<double> above = gap.above(time);
  if (!above) return "no bound: " + (open.empty() ? "the parts save nearly all of the time" : open);
  const std::string whole =
      gap.parts == 1 ? "all graphs that the rules reach were visited" : fmt::format("the best by rewrites inside {} parts", gap.parts);
  const std::string_view bodies = gap.body_time > Nanoseconds(0) ? "; bodies count as they are in the result" : "";
  if (gap.parts == 1 && gap.open_parts == 0) return fmt::format("0 %: {}{}", whole, bodies);
  return fmt::format("at most {:.1f} % above {}{}{}", std::ceil(1000 * *above) / 10, whole,
                     open.empty() ? "" : "; " + open + " and count as free", bodies);
}

std::string text_of(const UnsureRewrite& rewrite) {
  return fmt::format("{}{}{}: a gain of {} is positive with a probability of {}", rewrite.rule, rewrite.where.empty() ? "" : " ",
                     rewrite.where, signed_time(rewrite.gain), percent(rewrite.sureness));
}

std::string text_of(const CleanUpReport& smaller) {
  const std::string removed =
      fmt::format("{} of {} nodes{}", smaller.nodes, smaller.nodes_before,
                  smaller.bytes > 0 ? fmt::format(" and {} of constants", bytes_text(smaller.bytes)) : std::string());
  if (smaller.written) return "removed " + removed;
  if (smaller.reason.empty()) return "could remove " + removed + " with option 'accept' = smaller";
  return fmt::format("did not remove {}: {}", removed, smaller.reason);
}

std::string text_of(const BodyReport& body) {
  const PredictedTimes& one = body.predicted;
  const std::string times =
      one.before > Nanoseconds(0) ? fmt::format(" {} -> {} for one,", time_text(one.before), time_text(one.after)) : "";
  std::string text = fmt::format("{}, {} run{}:{} {} -> {} nodes", body.place, body.runs, body.runs == 1 ? "" : "s", times,
                                 body.nodes_before, body.nodes_after);
  for (const std::string& run : body.run) text += ", " + run;
  return text;
}

std::string timed_kernels(const KernelReport& report) {
  const std::string text = fmt::format("{} measured in {:.1f} s, {} known", report.measured, report.time.count(), report.known);
  return report.left_out == 0 ? text : fmt::format("{}, {} not needed", text, report.left_out);
}

std::string result_text(const OptimizeReport& report) {
  if (!report.improved) return "the original model: " + report.reason;
  if (report.replayed) return "the model of the trace";
  return report.clean_ups.written && report.search.steps.empty() ? "a smaller model" : "a cheaper model";
}

}  // namespace xflow
