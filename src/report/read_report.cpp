// Reports from JSON.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/report/trace_json.h"
#include "src/rules/rule.h"
#include "xflow/report.h"

namespace xflow {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
T field(const Json& json, const char* name) {
  return json.at(name).get<T>();
}

std::uint64_t count(const Json& json, const char* name) { return count_of(json.at(name)); }
std::string text(const Json& json, const char* name) { return field<std::string>(json, name); }
double number(const Json& json, const char* name) { return field<double>(json, name); }
std::vector<std::string> texts(const Json& json, const char* name) { return field<std::vector<std::string>>(json, name); }
Nanoseconds nanoseconds(const Json& json, const char* name) { return Nanoseconds(number(json, name)); }
Seconds seconds(const Json& json, const char* name) { return Seconds(number(json, name)); }

// The value of an enum whose to_string is the text. The last value is `last`.
template <typename Enum>
Enum named(const Json& json, const char* name, Enum last) {
  const std::string wanted = text(json, name);
  for (int k = 0; k <= static_cast<int>(last); ++k)
    if (wanted == to_string(static_cast<Enum>(k))) return static_cast<Enum>(k);
  throw Json::other_error::create(501, "an unknown name", &json);
}

// Calls `add` with each element of a list.
template <typename Add>
void each(const Json& json, const char* name, const Add& add) {
  const Json& list = json.at(name);
  if (!list.is_array()) throw Json::other_error::create(501, "no list", &json);
  for (const Json& element : list) add(element);
}

PredictedTimes predicted(const Json& json) {
  const Json& times = json.at("predicted_nanoseconds");
  return {nanoseconds(times, "before"), nanoseconds(times, "after")};
}

GapReport gap(const Json& json) {
  GapReport gap;
  gap.reason = text(json, "reason");
  if (!gap.reason.empty()) return gap;
  gap.lower_bound = nanoseconds(json, "lower_bound_nanoseconds");
  gap.body_time = nanoseconds(json, "body_nanoseconds");
  gap.parts = count(json, "parts");
  gap.open_parts = count(json, "open_parts");
  gap.open_time = nanoseconds(json, "open_nanoseconds");
  gap.states = count(json, "states");
  return gap;
}

// "rounding: re-associates, ..."
void read_numbers(const std::string& numbers, RuleCount& rule, const Json& json) {
  if (numbers.empty()) return;
  constexpr std::string_view kColon = ": ";
  constexpr std::string_view kComma = ", ";
  const std::size_t colon = std::min(numbers.find(kColon), numbers.size());
  rule.float_class = rules::float_class_from_name(std::string_view(numbers).substr(0, colon));
  if (!rule.float_class) throw Json::other_error::create(501, "an unknown class", &json);
  for (std::size_t at = colon + kColon.size(); at < numbers.size();) {
    const std::size_t comma = std::min(numbers.find(kComma, at), numbers.size());
    rule.float_effects.push_back(numbers.substr(at, comma - at));
    at = comma + kComma.size();
  }
}

SearchReport search(const Json& json) {
  SearchReport search;
  const Json& fields = json.at("search");
  search.states = count(fields, "states");
  search.expanded = count(fields, "expanded");
  if (!text(fields, "stop_reason").empty()) search.stop_reason = named(fields, "stop_reason", StopReason::cancelled);
  search.time = seconds(fields, "seconds");
  each(fields, "best", [&](const Json& best) {
    search.best.push_back({seconds(best, "seconds"), count(best, "states"), nanoseconds(best, "predicted_nanoseconds")});
  });
  if (fields.contains("gap")) search.gap = gap(fields.at("gap"));
  each(json, "steps", [&](const Json& step) {
    search.steps.push_back({text(step, "rule"), text(step, "where"), nanoseconds(step, "gain_nanoseconds")});
  });
  each(json, "gains", [&](const Json& gain) {
    PartGain part;
    each(gain, "steps", [&](const Json& step) {
      part.steps.push_back(count_of(step));
      if (part.steps.back() >= search.steps.size()) throw Json::other_error::create(501, "no such step", &gain);
    });
    part.time = predicted(gain);
    part.low = nanoseconds(gain, "low_nanoseconds");
    part.high = nanoseconds(gain, "high_nanoseconds");
    part.sureness = number(gain, "sureness");
    part.kernels = count(gain, "kernels");
    part.modelled = count(gain, "modelled");
    search.gains.push_back(std::move(part));
  });
  each(json, "unsure", [&](const Json& rewrite) {
    search.unsure.push_back(
        {text(rewrite, "rule"), text(rewrite, "where"), nanoseconds(rewrite, "gain_nanoseconds"), number(rewrite, "sureness")});
  });
  each(json, "rules", [&](const Json& rule) {
    RuleCount one{text(rule, "rule"), count(rule, "matched"), count(rule, "improved"), count(rule, "applied")};
    read_numbers(text(rule, "numbers"), one, rule);
    one.equation = text(rule, "equation");
    search.rules.push_back(std::move(one));
  });
  return search;
}

KernelReport kernels(const Json& json) {
  KernelReport kernels;
  kernels.measured = count(json, "measured");
  kernels.known = count(json, "known");
  kernels.with_interference = count(json, "with_interference");
  kernels.timed_again = count(json, "measured_again");
  kernels.provisional = count(json, "provisional");
  kernels.time = seconds(json, "seconds");
  kernels.samples = count(json, "samples");
  kernels.outliers = count(json, "outliers");
  kernels.recorded = count(json, "recorded");
  kernels.modelled = count(json, "modelled");
  kernels.left_out = count(json, "left_out");
  kernels.refused = count(json, "refused");
  kernels.failed = count(json, "failed");
  kernels.failure = text(json, "failure");
  kernels.device_bytes = count(json, "device_bytes");
  return kernels;
}

RegionsReport regions(const Json& json) {
  RegionsReport regions;
  each(json, "regions", [&](const Json& region) {
    regions.checked.push_back({text(region, "value"), field<bool>(region, "agrees"), text(region, "message"),
                               count(region, "checked_values"), count(region, "values"), number(region, "error")});
  });
  each(json, "withdrawn", [&](const Json& rewrite) {
    regions.withdrawn.push_back({text(rewrite, "rule"), text(rewrite, "where"), text(rewrite, "value"), text(rewrite, "message")});
  });
  regions.time = seconds(json, "check_seconds");
  regions.sizes = texts(json, "checked_sizes");
  regions.skipped_sizes = texts(json, "skipped_sizes");
  return regions;
}

void read_times(const Json& json, PairedTimes& times) {
  times.faster = count(json, "faster");
  times.slower = count(json, "slower");
  times.ratio = number(json, "ratio");
  times.low = number(json, "low");
  times.high = number(json, "high");
  times.p_value = number(json, "sign_test");
  times.confirmations = field<std::vector<double>>(json, "again");
  times.original = nanoseconds(json, "original_nanoseconds");
  times.result = nanoseconds(json, "result_nanoseconds");
}

GateReport gate(const Json& json) {
  GateReport gate;
  gate.run = field<bool>(json, "run");
  gate.reason = text(json, "reason");
  gate.device = text(json, "device");
  if (gate.run) gate.clock = named(json, "clock", Clock::device_time);
  each(json, "comparisons", [&](const Json& comparison) {
    GateComparison one;
    one.sizes = text(comparison, "sizes");
    one.verdict = named(comparison, "verdict", GateVerdict::failed);
    one.pairs = count(comparison, "pairs");
    one.repeats = count(comparison, "repeats");
    read_times(comparison, one);
    if (comparison.contains("processor")) read_times(comparison.at("processor"), one.processor.emplace());
    one.stop_reason = named(comparison, "stop_reason", GateStop::failure);
    one.failure = text(comparison, "failure");
    gate.comparisons.push_back(std::move(one));
  });
  gate.later = texts(json, "later");
  gate.declared = text(json, "declared");
  gate.others = texts(json, "others");
  gate.share_not_run = number(json, "share_not_run");
  gate.time = seconds(json, "seconds");
  return gate;
}

std::vector<BodyReport> bodies(const Json& json) {
  std::vector<BodyReport> bodies;
  each(json, "bodies", [&](const Json& body) {
    const Json& nodes = body.at("nodes");
    bodies.push_back({text(body, "place"), count(body, "runs"), predicted(body), count(nodes, "before"), count(nodes, "after"),
                      field<bool>(body, "improved"), text(body, "reason"), texts(body, "run")});
  });
  return bodies;
}

std::vector<PartNode> part_nodes(const Json& json, const char* name) {
  std::vector<PartNode> nodes;
  each(json, name, [&](const Json& node) {
    nodes.push_back({text(node, "name"), text(node, "op"), texts(node, "inputs"), texts(node, "outputs")});
  });
  return nodes;
}

// `steps`: how many there are.
std::vector<RewrittenPart> parts(const Json& json, std::size_t steps) {
  std::vector<RewrittenPart> parts;
  each(json, "parts", [&](const Json& part) {
    parts.push_back({part_nodes(part, "before"), part_nodes(part, "after"), {}});
    each(part, "steps", [&](const Json& step) {
      if (count_of(step) >= steps) throw Json::other_error::create(501, "no such step", &step);
      parts.back().steps.push_back(count_of(step));
    });
  });
  return parts;
}

OptimizeReport read(const Json& json) {
  OptimizeReport report;
  report.improved = field<bool>(json, "improved");
  report.replayed = field<bool>(json, "replayed");
  report.reason = text(json, "reason");
  report.device = text(json, "device");
  report.sizes = {texts(json, "assumed_sizes"), texts(json, "assumed_inner_sizes"), text(json, "refused_sizes"),
                  texts(json, "contradictions")};
  report.predicted = predicted(json);
  report.search = search(json);
  report.kernels = kernels(json.at("kernels"));
  each(json, "kernel_changes", [&](const Json& change) {
    report.kernel_changes.push_back({text(change, "kernel"), count(change, "before"), count(change, "after"), predicted(change)});
  });
  const Json& nodes = json.at("nodes");
  report.nodes = {count(nodes, "before"), count(nodes, "after"), count(nodes, "kept"), count(nodes, "merged")};
  each(json, "operators", [&](const Json& change) {
    report.operators.push_back({text(change, "op"), count(change, "before"), count(change, "after")});
  });
  report.parts = parts(json, report.search.steps.size());
  const Json& files = json.at("file_bytes");
  report.file_bytes = {count(files, "before"), count(files, "after")};
  const Json& parameters = json.at("parameters");
  report.parameters = {count(parameters, "before"), count(parameters, "after")};
  const Json& bytes = json.at("constant_bytes");
  report.constant_bytes = {count(bytes, "before"), count(bytes, "after")};
  report.opaque = texts(json, "opaque");
  report.regions = regions(json);
  report.gate = gate(json.at("end_to_end"));
  report.bodies = bodies(json);
  const Json& smaller = json.at("smaller");
  report.clean_ups = {count(smaller, "nodes"), count(smaller, "nodes_before"), count(smaller, "bytes"), field<bool>(smaller, "written"),
                      text(smaller, "reason")};
  report.trace = trace_of(json.at("trace"));
  report.time = seconds(json, "seconds");
  report.command = text(json, "command");
  return report;
}

}  // namespace

Result<OptimizeReport> parse_report(std::string_view json) {
  const auto refuse = [](const std::string& why) {
    return fail(ErrorCode::invalid_argument, "this is no report of an optimisation: " + why);
  };
  try {
    return read(Json::parse(json));
  } catch (const Json::parse_error& error) {
    return refuse("it is no JSON, from byte " + std::to_string(error.byte) + " on");
  } catch (const Json::exception&) {
    return refuse("a field is missing, or of another type or version");
  }
}

}  // namespace xflow
