#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "src/api/context_state.h"
#include "src/api/rule_set.h"
#include "src/support/exceptions.h"
#include "src/verifier/checker/replay.h"
#include "src/verifier/counterexample/explain_rule.h"
#include "src/verifier/guards/infer.h"
#include "src/verifier/proof/assumptions.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow {
namespace {

Counterexample public_counterexample(const verifier::Counterexample& found) {
  Counterexample result;
  result.summary = found.summary();
  result.text = found.to_string();
  result.choice = found.choice;
  result.integers = found.integers;
  for (std::size_t k = 0; k < found.tensors.size(); ++k) {
    Counterexample::Tensor& tensor = result.tensors.emplace_back();
    tensor.name = found.tensors[k].first;
    if (k < found.shapes.size()) tensor.shape = found.shapes[k];
    tensor.value = found.tensors[k].second;
  }
  result.output = found.output_name;
  result.index = found.index;
  result.source_value = found.source_value;
  result.target_value = found.target_value;
  return result;
}

Result<void> check_options(const VerifyOptions& options) {
  if (options.max_time && !(*options.max_time > Seconds(0))) return fail(ErrorCode::invalid_argument, "max_time must be positive");
  if (options.jobs < 1) return fail(ErrorCode::invalid_argument, "jobs must be at least 1");
  return {};
}

// The options of one decision, whose time begins now.
verifier::Options begun(const VerifyOptions& options) {
  using Moment = verifier::Deadline::Moment;
  Moment end = Moment::max();
  if (options.max_time)
    end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(*options.max_time);
  verifier::Options result;
  result.refute_first = true;
  result.deadline = verifier::Deadline(
      end, [cancel = options.cancel] { return cancel.is_finishing(); }, false);
  return result;
}

Result<void> unless_stopped(const VerifyOptions& options) {
  if (options.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
  return {};
}

std::vector<std::string> texts(const std::vector<rules::Guard>& guards) {
  std::vector<std::string> list;
  list.reserve(guards.size());
  for (const rules::Guard& guard : guards) list.push_back(rules::print(guard));
  return list;
}

// Replays the record of a proof if there is one and the checker accepts it; otherwise decides the rule.
verifier::RuleDecision decide_one(const rules::Rule& rule, const verifier::RuleRecord* record, const verifier::Options& options) {
  if (record != nullptr) {
    const auto start = std::chrono::steady_clock::now();
    if (verifier::replay(rule, *record, options)) {
      verifier::RuleDecision replayed;
      replayed.rule = rule.name;
      replayed.verdict = replayed.decision.verdict = Verdict::proved;
      replayed.instances = record->instances.size();
      replayed.microseconds = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count());
      return replayed;
    }
  }
  return verifier::decide(rule, options);
}

RuleDecision decision_of(const rules::Rule& rule, const verifier::RuleRecord* record, const verifier::Options& options) {
  const verifier::RuleDecision found = decide_one(rule, record, options);
  RuleDecision result;
  result.rule = found.rule;
  result.verdict = found.verdict;
  result.time = std::chrono::microseconds(found.microseconds);
  result.instances = found.instances;
  result.choice = found.choice;
  result.open = found.decision.open;
  if (found.verdict == Verdict::proved) result.needed_guards = texts(verifier::needed_guards(rule, options));
  if (found.verdict == Verdict::unknown) result.missing_guards = texts(verifier::missing_value_guards(rule, options));
  if (found.decision.counterexample) result.counterexample = public_counterexample(*found.decision.counterexample);
  return result;
}

// A decision, and whether the time limit or a cancellation may have changed it.
struct Decided {
  RuleDecision decision;
  bool is_cut_short = false;
};

Decided decide_before_end(const rules::Rule& rule, const verifier::RuleRecord* record, const VerifyOptions& options) {
  Decided result;
  if (options.cancel.is_finishing()) {
    result.decision.verdict = Verdict::timeout;
  } else {
    const verifier::Options deciding = begun(options);
    result.decision = decision_of(rule, record, deciding);
    result.is_cut_short = verifier::is_over(deciding.deadline);
  }
  if (!options.cancel.is_finishing()) return result;
  result.is_cut_short = true;
  result.decision.rule = rule.name;
  if (result.decision.verdict == Verdict::timeout) result.decision.open = "cancelled";
  return result;
}

// Decides the rules that the state does not know with `jobs` threads. The results do not depend on the
// number of threads.
Result<std::vector<RuleDecision>> decide_all(const RuleSet& set, const VerifyOptions& options, Context::State& state) {
  XFLOW_CHECK(check_options(options));
  const std::vector<rules::Rule>& rules = set.state().rules;
  std::vector<RuleDecision> decisions(rules.size());
  std::vector<std::size_t> open;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const auto known = state.decisions.find(rules[k].hash);
    if (known == state.decisions.end()) {
      open.push_back(k);
    } else {
      decisions[k] = known->second;
    }
  }
  std::vector<Result<Decided>> decided(open.size(), Decided());
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> ended{0};
  const auto work = [&](const std::function<void(std::size_t, std::size_t)>& progress) {
    for (std::size_t n = next++; n < open.size(); n = next++) {
      const rules::Rule& rule = rules[open[n]];
      decided[n] =
          api::guarded<Decided>([&]() -> Result<Decided> { return decide_before_end(rule, set.state().records.find(rule.hash), options); });
      ++ended;
      if (progress) progress(ended, open.size());
    }
  };
  std::vector<std::jthread> threads;  // which are joined if `progress` throws
  for (int k = 1; k < options.jobs; ++k) threads.emplace_back(work, nullptr);
  work(options.progress);
  threads.clear();
  XFLOW_CHECK(unless_stopped(options));
  for (std::size_t n = 0; n < open.size(); ++n) {
    if (!decided[n]) return fail(decided[n].error());
    decisions[open[n]] = decided[n]->decision;
    if (decided[n]->is_cut_short) continue;
    const rules::RuleHash& hash = rules[open[n]].hash;
    RuleDecision& kept = state.decisions[hash] = decided[n]->decision;
    kept.time = Seconds(0);
    if (kept.verdict == Verdict::proved) state.session.add_proved(hash);
  }
  return decisions;
}

}  // namespace

Result<std::vector<RuleDecision>> verify(const RuleSet& rules, const VerifyOptions& options) {
  Context context;
  return verify(context, rules, options);
}

Result<std::vector<RuleDecision>> verify(Context& context, const RuleSet& rules, const VerifyOptions& options) {
  const std::lock_guard lock(context.state().in_use);
  return api::guarded<std::vector<RuleDecision>>([&] { return decide_all(rules, options, context.state()); });
}

Result<Explanation> explain(const RuleSet& rule, const VerifyOptions& options) {
  return api::guarded<Explanation>([&]() -> Result<Explanation> {
    XFLOW_CHECK(check_options(options));
    XFLOW_TRY(const rules::Rule one, api::only_rule(rule));
    std::string text = verifier::explain_rule(one, begun(options));
    XFLOW_CHECK(unless_stopped(options));
    const bool proved = text.starts_with(one.name + ": proved");
    return Explanation{proved, std::move(text)};
  });
}

Result<InferredGuards> infer_guards(const RuleSet& rule, const VerifyOptions& options) {
  return api::guarded<InferredGuards>([&]() -> Result<InferredGuards> {
    XFLOW_CHECK(check_options(options));
    XFLOW_TRY(const rules::Rule one, api::only_rule(rule));
    auto inferred = verifier::infer_guards(one, begun(options));
    XFLOW_CHECK(unless_stopped(options));
    XFLOW_TRY(verifier::Inference inference, std::move(inferred));
    InferredGuards result;
    result.proved = inference.proved;
    result.text = fmt::format("{}: {}", one.name, verifier::to_string(inference));
    if (inference.proved) result.rule = api::make_rule_set({std::move(inference.rule)});
    return result;
  });
}

Result<ReplayedCounterexample> replay_counterexample(const RuleSet& rule, const std::string& text) {
  return api::guarded<ReplayedCounterexample>([&]() -> Result<ReplayedCounterexample> {
    XFLOW_TRY(const rules::Rule one, api::only_rule(rule));
    XFLOW_TRY(verifier::Replayed replayed, verifier::replay_counterexample(one, text));
    return ReplayedCounterexample{replayed.different, std::move(replayed.text)};
  });
}

}  // namespace xflow
