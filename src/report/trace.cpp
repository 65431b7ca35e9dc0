// Traces as JSON.
#include "xflow/trace.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "src/report/trace_json.h"

namespace xflow {
namespace {

using Json = nlohmann::ordered_json;

// The format of traces. Another number is another format.
constexpr std::uint64_t kVersion = 1;

// Conversions of numbers that are not whole may be undefined.
std::vector<std::int64_t> integers_of(const Json& json) {
  std::vector<std::int64_t> integers;
  for (const Json& element : json) {
    if (!element.is_number_integer()) throw Json::other_error::create(501, "no whole number", &json);
    integers.push_back(element.get<std::int64_t>());
  }
  return integers;
}

}  // namespace

std::uint64_t count_of(const Json& json) {
  if (!json.is_number_unsigned()) throw Json::other_error::create(501, "no count", &json);
  return json.get<std::uint64_t>();
}

Trace trace_of(const Json& json) {
  Trace trace;
  trace.model = json.at("model").get<std::string>();
  const std::string numbers = json.at("numbers").get<std::string>();
  constexpr Numerics kAll[] = {Numerics::exact, Numerics::rounding, Numerics::any};
  const auto* const numerics = std::ranges::find(kAll, numbers, [](Numerics one) { return std::string_view(to_string(one)); });
  if (numerics == std::end(kAll) || count_of(json.at("version")) != kVersion)
    throw Json::other_error::create(501, "another version", &json);
  trace.numerics = *numerics;
  trace.cleans_up = json.at("clean_ups").get<bool>();
  trace.max_growth = json.at("max_growth").get<double>();
  trace.max_growth_bytes = count_of(json.at("max_growth_bytes"));
  trace.skip_rules = json.at("skip_rules").get<std::vector<std::string>>();
  for (const Json& shape : json.at("shapes")) trace.shapes.push_back({shape.at(0).get<std::string>(), integers_of(shape.at(1))});
  for (const auto& [name, hash] : json.at("rules").items()) trace.rules.push_back({name, hash.get<std::string>()});
  for (const Json& search : json.at("searches")) {
    TracedSearch traced{count_of(search.at("graph")), count_of(search.at("pass")), search.at("declares_shapes").get<bool>(), {}};
    for (const Json& rewrite : search.at("rewrites"))
      traced.rewrites.push_back({rewrite.at(0).get<std::string>(), count_of(rewrite.at(1)), count_of(rewrite.at(2))});
    trace.searches.push_back(std::move(traced));
  }
  return trace;
}

Json json_of(const Trace& trace) {
  Json json = {{"version", kVersion},           {"model", trace.model},           {"numbers", to_string(trace.numerics)},
               {"clean_ups", trace.cleans_up},  {"max_growth", trace.max_growth}, {"max_growth_bytes", trace.max_growth_bytes},
               {"skip_rules", trace.skip_rules}};
  json["shapes"] = Json::array();
  for (const InputShape& shape : trace.shapes) json["shapes"].push_back({shape.input, shape.dims});
  json["rules"] = Json::object();
  for (const TracedRule& rule : trace.rules) json["rules"][rule.name] = rule.hash;
  json["searches"] = Json::array();
  for (const TracedSearch& search : trace.searches) {
    Json traced = {{"graph", search.graph}, {"pass", search.pass}, {"declares_shapes", search.declares_shapes}};
    traced["rewrites"] = Json::array();
    for (const TracedRewrite& rewrite : search.rewrites) traced["rewrites"].push_back({rewrite.rule, rewrite.operation, rewrite.match});
    json["searches"].push_back(std::move(traced));
  }
  return json;
}

std::string Trace::to_json() const { return json_of(*this).dump(2); }

Result<Trace> parse_trace(std::string_view json) {
  const auto refuse = [](const std::string& why) { return fail(ErrorCode::invalid_argument, "this is no trace: " + why); };
  try {
    const Json parsed = Json::parse(json);
    return trace_of(parsed.contains("trace") ? parsed.at("trace") : parsed);
  } catch (const Json::parse_error& error) {
    return refuse("it is no JSON, from byte " + std::to_string(error.byte) + " on");
  } catch (const Json::exception&) {
    return refuse("a field is missing, or of another type or version");
  }
}

}  // namespace xflow
