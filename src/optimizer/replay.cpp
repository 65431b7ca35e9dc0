#include "src/optimizer/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <utility>

namespace xflow::api {
namespace {

Unexpected refuse(std::string message) { return fail(ErrorCode::unsupported, std::move(message)); }

// A device on which every kernel is free.
class NoTimes final : public Device {
 public:
  std::string name() const override { return "none"; }
  Result<Nanoseconds> measure(const Kernel& /*kernel*/) override { return Nanoseconds(0); }
};

Result<void> check_limits(const RunLimits& limits) {
  const auto ended = limits.ends_search();
  if (!ended) return {};
  return fail(ErrorCode::limit, fmt::format("the trace was not applied as a whole: {}", to_string(*ended)));
}

}  // namespace

std::string model_hash(std::string_view bytes) {
  std::uint64_t a = 0x9E3779B97F4A7C15ULL;
  std::uint64_t b = 0xC2B2AE3D27D4EB4FULL ^ bytes.size();
  const auto mix = [](std::uint64_t hash, std::uint64_t word, std::uint64_t factor) {
    hash = (hash ^ word) * factor;
    return hash ^ (hash >> 32U);
  };
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), size);
    a = mix(a, word, 0xFF51AFD7ED558CCDULL);
    b = mix(b, word, 0xC4CEB9FE1A85EC53ULL);
    bytes.remove_prefix(size);
  }
  return fmt::format("{:016x}{:016x}", a, b);
}

TracedSearch traced_search(const search::Finalist& found, std::uint64_t graph, std::uint64_t pass, bool declares_shapes) {
  TracedSearch traced{graph, pass, declares_shapes, {}};
  for (const search::Step& step : found.steps) traced.rewrites.push_back({step.rule, static_cast<std::uint64_t>(step.root), step.match});
  return traced;
}

std::vector<TracedRule> traced_rules(const search::Finalist& found, const rules::VerifiedRules& rules) {
  std::map<std::string, std::string> hashes;
  for (const search::Step& step : found.steps)
    if (const rules::Rule* rule = rules.find(step.rule)) hashes.emplace(step.rule, rule->hash.to_string());
  std::vector<TracedRule> traced;
  traced.reserve(hashes.size());
  for (const auto& [name, hash] : hashes) traced.push_back({name, hash});
  return traced;
}

void add_trace(Trace& trace, Trace more) {
  std::ranges::move(more.searches, std::back_inserter(trace.searches));
  for (TracedRule& rule : more.rules)
    if (std::ranges::find(trace.rules, rule) == trace.rules.end()) trace.rules.push_back(std::move(rule));
}

void describe_call(const OptimizeOptions& options, bool cleaned_up, std::string model, Trace& trace) {
  trace.model = std::move(model);
  trace.numerics = options.search.numerics;
  trace.cleans_up = cleaned_up;
  trace.max_growth = options.search.max_growth;
  trace.max_growth_bytes = options.search.max_growth_bytes;
  trace.skip_rules = options.search.skip_rules;
}

void mark_replayed(OptimizeReport& report) {
  report.replayed = true;
  report.gate.reason = "the rewrites of a trace were applied; nothing was timed";
}

OptimizeOptions replay_options(OptimizeOptions options) {
  const Trace& trace = *options.search.replay;
  options.search.numerics = trace.numerics;
  options.search.max_growth = trace.max_growth;
  options.search.max_growth_bytes = trace.max_growth_bytes;
  options.search.skip_rules = trace.skip_rules;
  if (options.input.shapes.empty() && options.input.files.empty()) options.input.shapes = trace.shapes;
  options.search.max_time.reset();
  options.search.max_states = std::numeric_limits<std::uint64_t>::max();
  options.search.gap = false;
  options.device = {};
  options.device.own = std::make_shared<NoTimes>();
  options.validation.gate = false;
  options.output.accept = trace.cleans_up ? Accept::smaller : Accept::faster;
  return options;
}

const TracedSearch* Replay::next(std::uint64_t graph, std::uint64_t pass) const {
  if (taken_ == trace_.searches.size()) return nullptr;
  const TracedSearch& next = trace_.searches[taken_];
  return next.graph == graph && next.pass == pass ? &next : nullptr;
}

const TracedSearch* Replay::take(std::uint64_t graph, std::uint64_t pass) {
  const TracedSearch* const search = next(graph, pass);
  if (search != nullptr) ++taken_;
  return search;
}

Result<void> Replay::check_model(std::string_view bytes) const {
  const std::string hash = model_hash(bytes);
  if (trace_.model == hash) return {};
  return refuse(fmt::format("the trace is of another model: its hash is {}, that of this model {}", trace_.model, hash));
}

Result<void> Replay::check_rules(const rules::VerifiedRules& rules) const {
  for (const TracedRule& rule : trace_.rules) {
    const rules::Rule* found = rules.find(rule.name);
    if (found == nullptr) return refuse(fmt::format("the trace has a rule {}, which is not among the rules", rule.name));
    if (found->hash.to_string() != rule.hash)
      return refuse(fmt::format("the rule {} is not that of the trace: it has another text", rule.name));
  }
  return {};
}

Result<void> Replay::check_applied(const TracedSearch& search, const search::Outcome& outcome, const RunLimits& limits) const {
  if (outcome.replayed == search.rewrites.size()) return {};
  XFLOW_CHECK(check_limits(limits));
  const TracedRewrite& rewrite = search.rewrites[outcome.replayed];
  return refuse(fmt::format("rewrite {} of search {} of the trace is not possible: rule {} at operation {}", outcome.replayed + 1, taken_,
                            rewrite.rule, rewrite.operation));
}

Result<void> Replay::check_end(const RunLimits& limits) const {
  if (taken_ == trace_.searches.size()) return {};
  XFLOW_CHECK(check_limits(limits));
  return refuse(
      fmt::format("search {} of the trace, of graph {}, is not possible in this model", taken_ + 1, trace_.searches[taken_].graph));
}

}  // namespace xflow::api
